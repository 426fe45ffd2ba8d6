"""Ranges of different lengths and sorted indexes, without loops in Python."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional


def expand_ranges(starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """All positions in the ranges [start, end), one range per row, each with its row.

    >>> rows, positions = expand_ranges(torch.tensor([5, 0, 9]), torch.tensor([7, 0, 10]))
    >>> rows.tolist(), positions.tolist()
    ([0, 0, 2], [5, 6, 9])
    """
    counts = ends - starts
    rows = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    shifts = starts - (counts.cumsum(0) - counts)
    positions = torch.arange(len(rows), device=counts.device) + shifts[rows]
    return rows, positions


def starts_of(counts: Tensor) -> Tensor:
    """Where each of some rows begins that are so long, laid side by side; then the end of all.

    >>> starts_of(torch.tensor([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return functional.pad(counts.cumsum(0), (1, 0))


def look_up(sorted_keys: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """All positions at which sorted keys equal one of the given keys, each with that key's row.

    >>> rows, positions = look_up(torch.tensor([1, 1, 4]), torch.tensor([4, 2, 1]))
    >>> rows.tolist(), positions.tolist()
    ([0, 2, 2], [2, 0, 1])
    """
    keys = keys.contiguous()
    starts = torch.searchsorted(sorted_keys, keys)
    ends = torch.searchsorted(sorted_keys, keys, right=True)
    return expand_ranges(starts, ends)


def take(values: Tensor, places: Tensor) -> Tensor:
    """The values, laid out flat, at these places.

    >>> take(torch.tensor([5, 6, 7]), torch.tensor([[0, 2]])).tolist()
    [[5, 7]]
    """
    # An index would take four times as long on a CPU, and its gradient would be sorted first.
    return values.flatten().gather(0, places.flatten()).view_as(places)


def distinct(values: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct integers, sorted, and the place of each value among them.

    >>> [column.tolist() for column in distinct(torch.tensor([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    in_order, order = torch.sort(values, stable=True)
    is_new = torch.ones_like(in_order, dtype=torch.bool)
    is_new[1:] = in_order[1:] != in_order[:-1]
    places = torch.empty_like(order).scatter_(0, order, is_new.cumsum(0) - 1)
    return in_order[is_new], places


def sort_rows(columns: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
    """Sort rows by the first column, then the second, and so on; column i is below sizes[i].

    If all columns of a row fit into one 64-bit number, these numbers are sorted instead of rows,
    which is several times as fast.
    """
    if math.prod(sizes) >= 2**63:
        order = torch.arange(len(columns[0]))
        for column in reversed(columns):
            order = order[torch.argsort(column[order], stable=True)]
        return [column[order] for column in columns]
    packed = columns[0].long()
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        packed = packed * size + column
    left = np.sort(packed.numpy())
    unpacked = []
    for column, size in zip(reversed(columns[1:]), reversed(sizes[1:]), strict=True):
        left, values = np.divmod(left, size)
        unpacked.append(torch.from_numpy(values).to(column.dtype))
    return [torch.from_numpy(left).to(columns[0].dtype), *reversed(unpacked)]
