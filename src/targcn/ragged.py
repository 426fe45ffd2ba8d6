"""Rows of different length without a loop: the ranges of a sorted index, laid end to end."""

import torch
from torch import Tensor


def expand_ranges(starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """For ranges [start, end), one a row: which row each position belongs to, and the position.

    >>> rows, positions = expand_ranges(torch.tensor([5, 0, 9]), torch.tensor([7, 0, 10]))
    >>> rows.tolist(), positions.tolist()
    ([0, 0, 2], [5, 6, 9])
    """
    counts = ends - starts
    rows = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    shifts = starts - (counts.cumsum(0) - counts)
    positions = torch.arange(len(rows), device=counts.device) + shifts[rows]
    return rows, positions
