"""When did it hold: an interval from the scores of times, and how well it fits the true one.

An interval grows from the best time to the better of its neighbours: to all that are as good as
the best, and to others as long as it is no longer than facts of its relation usually are, which is
the median of those of the context whose ends are known.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.facts.dataset import OPEN, Facts


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
    by_length = torch.argsort(lengths, stable=True)
    order = by_length[torch.argsort(relations[by_length], stable=True)]
    counts = torch.bincount(relations, minlength=num_relations)
    middles = counts.cumsum(0) - counts + (counts - 1).clamp(min=0) // 2
    of_each = lengths[order][middles.clamp(max=len(lengths) - 1)]
    return torch.where(counts > 0, of_each, lengths.median())


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
