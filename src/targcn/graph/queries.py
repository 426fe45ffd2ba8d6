"""Queries: facts whose object is missing, or under the reciprocal relation whose subject is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.facts.dataset import OPEN, Facts
from targcn.graph.columns import Columns
from targcn.graph.random import combine, whole_numbers


@dataclass(frozen=True, eq=False)
class Queries(Columns):
    """Queries for a missing object, one per row."""

    subjects: Tensor
    relations: Tensor
    times: Tensor

    def __len__(self) -> int:
        return len(self.subjects)


@dataclass(frozen=True, eq=False)
class FactColumns(Columns):
    """Facts to be asked about, one per row."""

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor

    @classmethod
    def of(cls, facts: Facts) -> "FactColumns":
        """Facts at their times; an interval at its first tick, or its last if that alone is known.

        >>> FactColumns.of(Facts.of([0, 0], [0, 0], [1, 1], [3, OPEN], [5, 5])).times.tolist()
        [3, 5]
        """
        columns = facts.columns[:4].astype("int64", order="C")
        if facts.has_intervals:
            columns[3] = np.where(columns[3] == OPEN, facts.columns[4], columns[3]).clip(min=0)
        return cls(*torch.from_numpy(columns))

    def __len__(self) -> int:
        return len(self.subjects)

    def ask_objects(self) -> Queries:
        return Queries(self.subjects, self.relations, self.times)

    def ask_subjects(self, num_relations: int) -> Queries:
        return Queries(self.objects, self.relations + num_relations, self.times)


def draw_ticks(facts: Facts, ticks: Tensor, seed: int, epoch: int) -> Tensor:
    """One of the timeline's ticks in each fact's interval; another draw for every fact and epoch.

    An open interval reaches to the end of the timeline.
    """
    firsts = torch.searchsorted(ticks, torch.from_numpy(facts.times.astype("int64")))
    ends = torch.searchsorted(ticks, torch.from_numpy(facts.ends.astype("int64")), right=True)
    numbers = torch.arange(len(facts))
    rows = combine(seed, numbers, torch.full_like(numbers, epoch))
    return ticks[firsts + whole_numbers(rows, torch.zeros_like(numbers), ends - firsts)]


@dataclass(frozen=True, eq=False)
class AllQueries:
    """Both queries of every fact, those for objects first; each is made when it is asked for.

    So the facts stay where they are, mapped from a file if they were.
    """

    facts: FactColumns
    num_relations: int

    @classmethod
    def of(cls, facts: Facts, num_relations: int, device: torch.device) -> "AllQueries":
        if facts.has_intervals:
            return cls(FactColumns.of(facts).to(device), num_relations)
        columns = (mapped_tensor(column) for column in facts.columns)
        return cls(FactColumns(*columns).to(device), num_relations)

    def __len__(self) -> int:
        return 2 * len(self.facts)

    @property
    def times(self) -> Tensor:
        return torch.cat([self.facts.times, self.facts.times]).long()

    def take(self, rows: Tensor) -> tuple[Queries, Tensor]:
        """Some queries, and the entity that each asks for."""
        is_back = rows >= len(self.facts)
        facts = self.facts[torch.where(is_back, rows - len(self.facts), rows)]
        facts = facts.map(lambda column: column.long())
        subjects = torch.where(is_back, facts.objects, facts.subjects)
        answers = torch.where(is_back, facts.subjects, facts.objects)
        relations = facts.relations + is_back * self.num_relations
        return Queries(subjects, relations, facts.times), answers


def time_order(times: Tensor) -> Tensor:
    """The order to ask queries of these times in: one time after the other.

    Some models share work among the queries of a batch that have the same time.

    >>> time_order(torch.tensor([5, 3, 5, 3])).tolist()
    [1, 3, 0, 2]
    """
    return torch.argsort(times, stable=True)


def mapped_tensor(array: NDArray[Any]) -> Tensor:
    """A tensor over an array that may be read-only, of which torch.from_numpy would warn."""
    return torch.utils.dlpack.from_dlpack(np.ascontiguousarray(array))


def queries_of(facts: Facts, num_relations: int) -> tuple[Queries, Tensor]:
    """Both queries of every fact, those for objects first, and the entity that each asks for."""
    both = AllQueries(FactColumns.of(facts), num_relations)
    return both.take(torch.arange(len(both)))
