"""Sort facts into the columns of a graph, in time that grows with their number and bounded memory.

Rows are first brought to the piece that their entity belongs to, in one pass over all of them; then
each piece is sorted. The columns may be files that are mapped.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from targcn.facts.dataset import Facts
from targcn.graph.ragged import sort_rows, starts_of

Numbers = npt.NDArray[Any]
# Makes room for a column: its name, its type and how many numbers it has.
Allocate = Callable[[str, torch.dtype, int], Tensor]
# Rows sorted at once; bounds the memory needed besides the graph, not the result.
ROWS_SORTED_AT_ONCE = 1 << 24


def in_memory(name: str, dtype: torch.dtype, count: int) -> Tensor:
    """Room in memory, whatever the name."""
    return torch.empty(count, dtype=dtype)


def count_owners(columns: list[Numbers], num_owners: int) -> Tensor:
    """Where the rows of each owner begin, and where the last ones end."""
    counts = np.zeros(num_owners, dtype=np.int64)
    for column in columns:
        for first in range(0, len(column), ROWS_SORTED_AT_ONCE):
            part = column[first : first + ROWS_SORTED_AT_ONCE]
            counts += np.bincount(part, minlength=num_owners)
    return starts_of(torch.from_numpy(counts))


def pieces_of(offsets: Tensor) -> Iterator[tuple[int, int]]:
    """First and last owners of pieces whose rows can be sorted at once."""
    at_once = ROWS_SORTED_AT_ONCE
    last = max(int(offsets[-1]), at_once)
    marks = torch.arange(at_once, last, at_once, device=offsets.device)
    cuts = set((torch.searchsorted(offsets, marks, right=True) - 1).tolist())
    return pairwise([0, *sorted(cuts - {0}), len(offsets) - 1])


def bring_to_pieces(parts: Iterator[list[Numbers]], offsets: Tensor, columns: list[Tensor]) -> None:
    """Write rows, given in parts, to the places of the piece of their owner, the first column.

    Within a piece they keep their order.
    """
    pieces = list(pieces_of(offsets))
    if not pieces[0][1]:
        return
    number = np.uint16 if len(pieces) < 1 << 16 else np.int64  # narrow numbers are sorted faster
    sizes = [last - first for first, last in pieces]
    piece_of = np.repeat(np.arange(len(pieces), dtype=number), sizes)
    places = [int(offsets[first]) for first, _ in pieces]
    targets = [column.numpy() for column in columns]
    for rows in parts:
        numbers = piece_of[rows[0]]
        order = np.argsort(numbers, kind="stable") if len(pieces) > 1 else slice(None)
        rows = [row[order] for row in rows]
        first = 0
        for piece, count in enumerate(np.bincount(numbers, minlength=len(pieces)).tolist()):
            for target, row in zip(targets, rows, strict=True):
                target[places[piece] : places[piece] + count] = row[first : first + count]
            places[piece] += count
            first += count


def both_directions(facts: Facts, num_relations: int, span: int) -> Iterator[list[Numbers]]:
    """Some facts after others, each with its reciprocal: owners, times, relations, others, ends.

    Open ends are the tick after the last one.
    """
    times, ends = facts.times, np.minimum(facts.ends, span) if facts.has_intervals else None
    at_once = max(ROWS_SORTED_AT_ONCE // 2, 1)
    for first in range(0, len(facts), at_once):
        part = slice(first, first + at_once)
        subjects, relations, objects = (row[part] for row in facts.columns[:3])
        rows = [
            np.concatenate([objects, subjects]),
            np.tile(times[part], 2),
            np.concatenate([relations, relations + num_relations]),
            np.concatenate([subjects, objects]),
        ]
        yield rows if ends is None else [*rows, np.tile(ends[part], 2)]


def sort_pieces(
    offsets: Tensor, owners: Tensor, columns: list[Tensor], sizes: list[int]
) -> Iterator[tuple[slice, Tensor]]:
    """Sort each piece by owner, then by the columns, which are below `sizes`, in place.

    Yields where each piece lies and the owners of its rows, sorted.
    """
    for first, last in pieces_of(offsets):
        place = slice(int(offsets[first]), int(offsets[last]))
        rows = [owners[place] - first, *(column[place] for column in columns)]
        sorted_owners, *sorted_rows = sort_rows(rows, [last - first, *sizes])
        for column, row in zip(columns, sorted_rows, strict=True):
            column[place] = row
        yield place, sorted_owners + first
