"""Which values hold when, against looking at every interval."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from oracle import checked
from targcn.evaluation.known import KnownValues, merge_intervals

SPAN = 9
Held = tuple[int, int, int, int]  # group, value, first and last tick; 99 if open

intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 8), st.integers(0, 9)),
    max_size=20,
).map(lambda rows: [(g, v, first, 99 if n == 9 else min(first + n, 8)) for g, v, first, n in rows])


def columns(rows: list[Held]) -> list[Tensor]:
    return list(torch.tensor(rows, dtype=torch.int64).reshape(-1, 4).T)


def known_of(rows: list[Held]) -> KnownValues:
    return KnownValues.over_time(merge_intervals(*columns(rows), SPAN), SPAN)


@checked
@given(intervals)
def test_merged_intervals_cover_the_same_ticks_and_are_apart(rows: list[Held]) -> None:
    merged = list(
        zip(*(one.tolist() for one in merge_intervals(*columns(rows), SPAN)), strict=True)
    )
    assert merged == sorted(merged)
    for group, value in {row[:2] for row in rows}:
        covered: list[int] = []
        for g, v, first, last in merged:
            if (g, v) == (group, value):
                covered += range(first, last + 1)
        expected = {
            tick
            for g, v, first, last in rows
            for tick in range(first, min(last, SPAN) + 1)
            if (g, v) == (group, value)
        }
        assert covered == sorted(expected)


@checked
@given(intervals)
def test_a_look_up_finds_what_holds_each_value_once(rows: list[Held]) -> None:
    known = known_of(rows)
    asked = [(group, tick) for group in range(-1, 4) for tick in (-1, *range(10), 50, 2**40)]
    groups, times = torch.tensor(asked).T
    found = list(zip(*(one.tolist() for one in known.look_up(groups, times)), strict=True))
    values, valid = known.columns(groups, times)
    for number, (group, tick) in enumerate(asked):
        held = {
            v
            for g, v, first, last in rows
            if g == group and first <= tick and (last == 99 or tick <= last)
        }
        assert sorted(value for row, value in found if row == number) == sorted(held)
        assert sorted(values[number][valid[number]].tolist()) == sorted(held)
