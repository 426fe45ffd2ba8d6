"""Facts that hold over intervals: at which ticks they are asked about, and how well one is found.

When did it hold: an interval grows from the best time to the better of its neighbours: to all that
are as good as the best, and to others as long as it is no longer than facts of its relation usually
are, which is the median of those of the context whose ends are known.
"""

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


@dataclass(frozen=True)
class Overlap:
    """How predicted intervals fit the true ones, which have both ends; means over facts."""

    num_facts: int
    aeiou: float
    gaeiou: float
    giou: float
    tac: float

    def __str__(self) -> str:
        return (
            f"the interval around the best time: aeIOU {self.aeiou:.3f}, gaeIOU {self.gaeiou:.3f}, "
            f"gIOU {self.giou:.3f}, TAC {self.tac:.3f} ({self.num_facts:,} facts with both ends)"
        )


def usual_lengths(facts: Facts, num_relations: int) -> Tensor:
    """The median number of ticks of each relation's facts with both ends; of all if it has none.

    >>> facts = Facts.of([0] * 4, [0, 0, 0, 2], [1] * 4, [1, 5, 2, 4], [1, 9, 4, OPEN])
    >>> usual_lengths(facts, 3).tolist()
    [3, 3, 3]
    """
    is_bounded = (facts.columns[3:] != OPEN).all(0)
    bounded = facts.where(is_bounded)
    lengths = torch.from_numpy((bounded.ends - bounded.times).astype("int64") + 1)
    if len(lengths) == 0:
        return torch.ones(num_relations, dtype=torch.int64)
    relations = torch.from_numpy(bounded.relations.astype("int64"))
    usual = lengths.median().repeat(num_relations)
    for relation in set(relations.tolist()):
        usual[relation] = lengths[relations == relation].median()
    return usual


def grow_intervals(scores: Tensor, ticks: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The first and last tick of an interval in each row, whose columns are these sorted ticks.

    >>> scores, ticks = torch.tensor([[0.0, 2.0, 3.0, 2.5]]), torch.tensor([0, 1, 2, 9])
    >>> firsts, lasts = grow_intervals(scores, ticks, torch.tensor([3]))
    >>> firsts.tolist(), lasts.tolist()
    ([0], [2])
    """
    last = len(ticks) - 1
    best, left = scores.max(1)
    right = left
    for _ in range(last):
        before, after = (left - 1).clamp(min=0), (right + 1).clamp(max=last)
        earlier, later = (scores.gather(1, at[:, None])[:, 0] for at in (before, after))
        can_go_left = (earlier == best) | (ticks[right] - ticks[before] < lengths)
        can_go_right = (later == best) | (ticks[after] - ticks[left] < lengths)
        can_go_left, can_go_right = can_go_left & (left > 0), can_go_right & (right < last)
        if not (can_go_left | can_go_right).any():
            break
        goes_left = can_go_left & ((earlier > later) | ~can_go_right)
        left = torch.where(goes_left, before, left)
        right = torch.where(can_go_right & ~goes_left, after, right)
    return ticks[left], ticks[right]


def overlaps(firsts: Tensor, lasts: Tensor, true_firsts: Tensor, true_lasts: Tensor) -> Tensor:
    """aeIOU, gaeIOU, gIOU and TAC of predicted intervals, one row each; all ticks are inside.

    >>> years = [torch.tensor([year]) for year in (1990, 1995, 1993, 1995)]
    >>> overlaps(*years).flatten().tolist()
    [0.5, 0.5, 0.75, 0.625]
    """
    apart = torch.maximum(firsts, true_firsts) - torch.minimum(lasts, true_lasts)
    hull = (torch.maximum(lasts, true_lasts) - torch.minimum(firsts, true_firsts) + 1).double()
    inside, empty = (1 - apart).clamp(min=0), (apart - 1).clamp(min=0)
    nearness = 1 / (1 + apart.clamp(min=0).double())
    misses = (firsts - true_firsts).abs().double(), (lasts - true_lasts).abs().double()
    return torch.stack(
        [
            inside.clamp(min=1) / hull,
            torch.where(apart > 0, nearness, inside.double()) / hull,
            (1 + inside / hull - empty / hull) / 2,
            (1 / (1 + misses[0]) + 1 / (1 + misses[1])) / 2,
        ]
    )
