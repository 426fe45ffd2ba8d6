"""Queries: facts whose object is missing, or under the reciprocal relation whose subject is."""

from dataclasses import dataclass

import numpy as np
import torch
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

    >>> facts = Facts.of([0] * 4, [0] * 4, [1] * 4, [3, 3, OPEN, 8], [3, 4, 3, OPEN])
    >>> ticks = torch.tensor([0, 3, 4, 8, 99])
    >>> [draw_ticks(facts, ticks, seed=0, epoch=epoch).tolist() for epoch in range(3)]
    [[3, 3, 0, 8], [3, 4, 3, 8], [3, 4, 3, 8]]
    """
    firsts = torch.searchsorted(ticks, torch.from_numpy(facts.times.astype("int64")))
    ends = torch.searchsorted(ticks, torch.from_numpy(facts.ends.astype("int64")), right=True)
    numbers = torch.arange(len(facts))
    rows = combine(seed, numbers, torch.full_like(numbers, epoch))
    return ticks[firsts + whole_numbers(rows, torch.zeros_like(numbers), ends - firsts)]


def queries_of(facts: Facts, num_relations: int) -> tuple[Queries, Tensor]:
    """Both queries of every fact, those for objects first, and the entity that each asks for."""
    columns = FactColumns.of(facts)
    sides = columns.ask_objects().tensors(), columns.ask_subjects(num_relations).tensors()
    queries = Queries(*(torch.cat(pair) for pair in zip(*sides, strict=True)))
    return queries, torch.cat([columns.objects, columns.subjects])
