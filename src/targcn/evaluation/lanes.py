"""What holds when: values that belong to groups, each over intervals, found by group and tick."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from targcn.graph.columns import Columns
from targcn.graph.ragged import expand_ranges, sort_rows


class Intervals(NamedTuple):
    """Values over intervals, sorted by group, value and first tick; those of a value are apart."""

    groups: Tensor
    values: Tensor
    firsts: Tensor
    # The last ticks; `span` if open.
    lasts: Tensor


def merge_intervals(
    groups: Tensor, values: Tensor, firsts: Tensor, lasts: Tensor, span: int
) -> Intervals:
    """Join the intervals of each group and value that overlap; no tick known is `span` or later.

    >>> zero = torch.zeros(3, dtype=torch.int64)
    >>> first, last = torch.tensor([4, 0, 2]), torch.tensor([9, 2, 3])
    >>> merged = merge_intervals(zero, zero, first, last, 10)
    >>> merged.firsts.tolist(), merged.lasts.tolist()
    ([0, 4], [3, 9])
    """
    columns = [groups, values, firsts.long(), lasts.long().clamp(max=span)]
    sizes = [int(column.max()) + 1 if len(column) else 1 for column in columns]
    groups, values, firsts, lasts = sort_rows(columns, sizes)
    width = span + 1
    pairs = torch.ones_like(groups)
    pairs[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    starts = pairs.cumsum(0) * width
    # How far the intervals of a pair reach up to here; the reach of another pair is below.
    reach = torch.cummax(starts + lasts, 0).values if len(starts) else starts
    is_new = torch.ones_like(groups, dtype=torch.bool)
    is_new[1:] = starts[1:] + firsts[1:] > reach[:-1]
    is_end = torch.ones_like(is_new)
    is_end[:-1] = is_new[1:]
    return Intervals(groups[is_new], values[is_new], firsts[is_new], (reach - starts)[is_end])


@dataclass(frozen=True, eq=False)
class Lanes(Columns):
    """Which values hold in a group at a tick.

    The intervals of a group lie in lanes. Those of a lane follow each other, so that one search
    finds the only one that may hold at a tick. There are as many lanes as values ever hold at once:
    they bound what a look-up takes.
    """

    # Sorted; the lanes of the group groups[i] are offsets[i] up to offsets[i + 1].
    groups: Tensor
    offsets: Tensor
    # Sorted: lane · width + first tick.
    keys: Tensor
    lasts: Tensor
    values: Tensor
    width: int

    @classmethod
    def of(cls, merged: Intervals, span: int) -> "Lanes":
        """Lay intervals into lanes, without a loop over them.

        Of n lanes, the interval with the i-th first tick follows the one with the (i - n)-th last
        tick: more than i - n intervals have ended when it begins, since n hold at most.
        """
        width = span + 1
        groups, counts = torch.unique_consecutive(merged.groups, return_counts=True)
        group = torch.repeat_interleave(counts)
        order = torch.argsort(group * width + merged.firsts, stable=True)
        values, firsts, lasts = (column[order] for column in merged[1:])
        starts = (counts.cumsum(0) - counts)[group]
        places = torch.arange(len(group)) - starts
        by_last = torch.argsort(group * width + lasts, stable=True)
        ended = torch.searchsorted((group * width + lasts)[by_last], group * width + firsts)
        at_once = places + 1 - (ended - starts)
        num_lanes = torch.zeros_like(counts).scatter_reduce_(0, group, at_once, "amax")
        before = places - num_lanes[group]
        heads = torch.where(before < 0, starts + places, by_last[starts + before.clamp(min=0)])
        # Each step doubles how far an interval looks back, up to the first one of its lane.
        while not torch.equal(heads, further := heads[heads]):
            heads = further
        offsets = functional.pad(num_lanes.cumsum(0), (1, 0))
        keys, order = torch.sort((offsets[group] + places[heads]) * width + firsts)
        return cls(groups, offsets, keys, lasts[order], values[order], width)

    @cached_property
    def most_at_once(self) -> int:
        """How many values ever hold in a group at once."""
        return int(self.offsets.diff().max()) if len(self.groups) else 0

    def look_up(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The values that hold in each group at its time, each with the row of the group."""
        starts, ends = self._lanes(groups)
        rows, lanes = expand_ranges(starts, ends)
        places, holds = self._search(lanes, times[rows])
        return rows[holds], self.values[places[holds]]

    def columns(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The same as `most_at_once` columns for any groups: values, and whether they hold."""
        starts, ends = (lanes[:, None] for lanes in self._lanes(groups))
        lanes = starts + torch.arange(self.most_at_once, device=groups.device)
        places, holds = self._search(lanes.clamp(max=len(self.keys)), times[:, None])
        return self.values[places], holds & (lanes < ends)

    def _lanes(self, groups: Tensor) -> tuple[Tensor, Tensor]:
        """The lanes of each group; none if there is no such group."""
        found = torch.searchsorted(self.groups, groups.contiguous())
        exists = torch.searchsorted(self.groups, groups.contiguous(), right=True) > found
        return self.offsets[found], self.offsets[found + exists]

    def _search(self, lanes: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The last interval of each lane that begins by a time, and whether it holds then."""
        now = times.clamp(min=0, max=self.width - 1)
        keys = lanes * self.width + now
        places = (torch.searchsorted(self.keys, keys, right=True) - 1).clamp(min=0)
        begun = self.keys[places]
        holds = (begun >= lanes * self.width) & (begun <= keys) & (self.lasts[places] >= now)
        return places, holds & (times >= 0)
