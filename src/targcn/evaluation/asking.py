"""At which ticks facts that hold over intervals are asked about."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from targcn.evaluation.filters import IntervalQueries
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns, queries_of

# Ticks of one fact, at most, that it is asked at: in an evaluation, and while training validates.
MOST_TICKS: Final = 100
FEW_TICKS: Final = 4


@dataclass(frozen=True, eq=False)
class IntervalFacts(FactColumns):
    """Facts at their first known tick, with their intervals; a point is one of a single tick."""

    firsts: Tensor
    # Later than all that are known if open.
    lasts: Tensor
    # Whether both ends are known.
    is_bounded: Tensor

    @classmethod
    def of(cls, facts: Facts) -> "IntervalFacts":
        at = FactColumns.of(facts)
        firsts, lasts = _ends(facts)
        is_bounded = torch.from_numpy((facts.columns[3:] != OPEN).all(0))
        return cls(at.subjects, at.relations, at.objects, at.times, firsts, lasts, is_bounded)


def interval_queries(facts: Facts, num_relations: int) -> tuple[IntervalQueries, Tensor]:
    """Both queries of every fact with its interval, and the entity that each asks for."""
    queries, targets = queries_of(facts, num_relations)
    firsts, lasts = (column.repeat(2) for column in _ends(facts))
    at = queries.subjects, queries.relations, queries.times
    return IntervalQueries(*at, firsts, lasts), targets


def _ends(facts: Facts) -> tuple[Tensor, Tensor]:
    """The first and the last ticks."""
    firsts, lasts = facts.times.astype("int64"), facts.ends.astype("int64")
    return torch.from_numpy(firsts), torch.from_numpy(lasts)


@dataclass(frozen=True, eq=False)
class Ticks(Columns):
    """The ticks that each query is asked at: those of the data in its interval, or some of them.

    Some are evenly spread, the first and the last among them.
    """

    # The positions of the first and the last one among the ticks of the data.
    firsts: Tensor
    lasts: Tensor
    counts: Tensor
    of_data: Tensor

    @classmethod
    def of(cls, queries: IntervalQueries, dataset: Dataset, most: int) -> "Ticks":
        of_data = torch.tensor(dataset.timeline.ticks, device=queries.firsts.device)
        firsts = torch.searchsorted(of_data, queries.firsts).clamp(max=len(of_data) - 1)
        lasts = torch.searchsorted(of_data, queries.lasts, right=True) - 1
        lasts = torch.maximum(firsts, lasts)
        return cls(firsts, lasts, (lasts - firsts + 1).clamp(max=most), of_data)

    def __getitem__(self, rows: slice | Tensor) -> "Ticks":
        return Ticks(self.firsts[rows], self.lasts[rows], self.counts[rows], self.of_data)

    @property
    def num_thinned(self) -> int:
        """How many queries are asked at some of their ticks only."""
        return int((self.lasts - self.firsts >= self.counts).sum())

    def pick(self, rows: Tensor, numbers: Tensor) -> Tensor:
        """The tick with each number, from 0, of the query in each row."""
        firsts, steps = self.firsts[rows], (self.counts[rows] - 1).clamp(min=1)
        reach = self.lasts[rows] - firsts
        positions = firsts + torch.div(numbers * reach, steps, rounding_mode="floor")
        return self.of_data[positions]
