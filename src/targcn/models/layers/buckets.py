"""Buckets: whole numbers put into few classes, fine where they are small."""

import torch
from torch import Tensor, nn


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

    def describe(self, bucket: int) -> tuple[float, float]:
        """The least and the largest distance in a bucket, in ticks, the second excluded."""
        side = bucket % self.PER_SIDE
        edges = [0.0, *self.edges.tolist(), float("inf")]
        return edges[side], edges[side + 1]


class CountBuckets(nn.Module):
    """Classes of counts: two per doubling.

    >>> CountBuckets()(torch.tensor([1, 2, 3, 4, 6, 10_000])).tolist()
    [0, 2, 3, 4, 5, 15]
    """

    COUNT = 16

    def __init__(self) -> None:
        super().__init__()
        edges = torch.tensor([2 ** (step / 2) for step in range(1, self.COUNT)])
        self.register_buffer("edges", edges, persistent=False)
        self.edges: Tensor

    def forward(self, counts: Tensor) -> Tensor:
        return torch.bucketize(counts.float(), self.edges, right=True)
