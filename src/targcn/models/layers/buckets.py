"""Buckets: whole numbers put into few classes, fine where they are small."""

from typing import Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.facts.dataset import OPEN, Facts

# The end of a range that has none.
ENDLESS: Final = 1 << 62
# Facts that a typical gap is found among.
MOST_FACTS: Final = 10_000_000


def typical_gap(facts: Facts) -> float:
    """The median number of ticks from one time of an entity's facts to the next.

    Intervals count by their first ticks, if these are known. Of very many facts, those of some
    entities are looked at.

    >>> typical_gap(Facts.of([0, 0, 0], [0, 0, 0], [1, 2, 3], [0, 10, 30]))
    15.0
    """
    if facts.has_intervals:
        facts = facts.where(facts.columns[3] != OPEN)
    span = int(facts.times.max(initial=0)) + 1
    every = -(-len(facts) // MOST_FACTS)
    sides = []
    for side in (facts.subjects, facts.objects):
        chosen = slice(None) if every <= 1 else side % every == 0
        sides.append(side[chosen].astype(np.int64) * span + facts.times[chosen])
    entities, times = np.divmod(np.unique(np.concatenate(sides)), span)
    gaps = np.diff(times)[np.diff(entities) == 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


class TimeBuckets(nn.Module):
    """Classes of time differences: exact up to 8 units, then three per doubling, for each side.

    >>> buckets = TimeBuckets(unit=1.0)
    >>> buckets(torch.tensor([0, 1, 7, 8, 9, 11, 16, 5000])).tolist()
    [0, 1, 7, 8, 8, 9, 11, 31]
    >>> buckets(torch.tensor([-1, -8])).tolist()
    [33, 40]
    """

    PER_SIDE = 32
    COUNT = 2 * PER_SIDE

    def __init__(self, unit: float) -> None:
        super().__init__()
        edges = [*range(1, 9), *(8 * 2 ** (step / 3) for step in range(1, self.PER_SIDE - 8))]
        self.register_buffer("edges", torch.tensor(edges) * unit, persistent=False)
        self.edges: Tensor

    def forward(self, deltas: Tensor) -> Tensor:
        """The bucket of each difference, which is negative for the past."""
        sides = torch.bucketize(deltas.abs().float(), self.edges, right=True)
        return sides + (deltas < 0) * self.PER_SIDE

    def ranges(self) -> tuple[Tensor, Tensor]:
        """The first and the last whole difference of every bucket; the farthest have no end."""
        inner = self.edges.ceil().long()
        least = functional.pad(inner, (1, 0), value=0)
        most = functional.pad(inner - 1, (0, 1), value=ENDLESS)
        return torch.cat([least, -most]), torch.cat([most, -least.clamp(min=1)])
