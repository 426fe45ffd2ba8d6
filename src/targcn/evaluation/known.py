"""What is known to hold when: values that belong to groups, each over an interval of ticks.

The filters are made of it: which answers to a query are true then, which relations hold between two
entities, which times a fact holds at. A point is an interval of one tick.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.graph.columns import Columns
from targcn.graph.ragged import expand_ranges, look_up, sort_rows


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
class KnownValues(Columns):
    """Which values hold in a group at a tick.

    Sorted by group and first tick. What holds at a tick began no earlier than `longest` ticks
    before it: the search looks through these alone, for points through none in vain.
    """

    # Group · width + first tick.
    keys: Tensor
    lasts: Tensor
    values: Tensor
    # One more than the ticks known: open intervals alone hold then. 1 if time does not matter.
    width: int
    longest: int

    @classmethod
    def at_any_time(cls, groups: Tensor, values: Tensor) -> "KnownValues":
        """Values that hold in a group at every tick."""
        zeros = torch.zeros(len(groups), dtype=torch.int64)
        return cls.over_time(merge_intervals(groups, values, zeros, zeros, 0), 0)

    @classmethod
    def over_time(cls, intervals: Intervals, span: int) -> "KnownValues":
        """Values over intervals; no tick known is `span` or later."""
        groups, values, firsts, lasts = intervals
        keys, order = torch.sort(groups * (span + 1) + firsts, stable=True)
        longest = int((lasts - firsts).max()) if len(keys) else 0
        return cls(keys, lasts[order], values[order], span + 1, longest)

    def look_up(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The values that hold in each group at its time, each with the row of the group."""
        rows, places = expand_ranges(*self._ranges(groups, times))
        holds = self.lasts[places] >= self._ticks(times)[rows]
        return rows[holds], self.values[places[holds]].long()

    def look_up_interval(
        self, groups: Tensor, firsts: Tensor, lasts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The values that hold in each group over this very interval, each with its row."""
        rows, places = look_up(self.keys, groups * self.width + self._ticks(firsts))
        same = self.lasts[places] == self._ticks(lasts)[rows]
        return rows[same], self.values[places[same]].long()

    def columns(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The same in as many columns for any groups: values, and whether they hold."""
        starts, ends = self._ranges(groups, times)
        places = starts[:, None] + torch.arange(self.num_columns, device=starts.device)
        in_range = places < ends[:, None]
        places = places.clamp(max=max(len(self.keys) - 1, 0))
        holds = self.lasts[places] >= self._ticks(times)[:, None]
        return self.values[places].long(), in_range & holds

    @cached_property
    def num_columns(self) -> int:
        """How many values are looked through at most."""
        groups = torch.div(self.keys, self.width, rounding_mode="floor")
        starts, ends = self._ranges(groups, self.keys % self.width)
        return int((ends - starts).max()) if len(starts) else 0

    def _ranges(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The places of those that may hold at a time."""
        keys, ticks = groups * self.width, self._ticks(times)
        starts = torch.searchsorted(self.keys, keys + (ticks - self.longest).clamp(min=0))
        ends = torch.searchsorted(self.keys, keys + ticks, right=True)
        # Before the first tick nothing holds, unless time does not matter.
        return starts, torch.where((times < 0) & (self.width > 1), starts, ends)

    def _ticks(self, times: Tensor) -> Tensor:
        return times.long().clamp(min=0, max=self.width - 1)


def require_keys(num_groups: int, span: int) -> None:
    """Refuse times so far apart that keys, group · span + time, would not fit into 64 bits."""
    if num_groups * span >= 2**63:
        raise InputError(
            f"the last time is {span - 1:,} ticks after the first, too far for so many entities "
            "and relations; leave such times out"
        )
