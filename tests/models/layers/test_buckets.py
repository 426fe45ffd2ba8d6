"""Buckets against whole-number arithmetic."""

import pytest
import torch

from oracle import time_bucket
from targcn.facts.dataset import OPEN, Facts
from targcn.models.layers.buckets import ENDLESS, TimeBuckets, typical_gap


@pytest.mark.parametrize("unit", [1, 24])
def test_time_buckets_are_exact_and_then_three_per_doubling(unit: int) -> None:
    deltas = [*range(-1700 * unit, 1700 * unit, 1 if unit == 1 else 7), -(10**9), 10**9]
    found = TimeBuckets(float(unit))(torch.tensor(deltas)).tolist()
    assert found == [time_bucket(delta, unit) for delta in deltas]
    # Bucket 32 is the past less than a unit away.
    assert set(found) == set(range(TimeBuckets.COUNT)) - ({32} if unit == 1 else set())


@pytest.mark.parametrize("unit", [1, 3])
def test_ranges_are_what_falls_into_a_bucket(unit: int) -> None:
    buckets, numbers = TimeBuckets(float(unit)), torch.arange(-3000 * unit, 3000 * unit)
    first, last = buckets.ranges()
    found = buckets(numbers)
    assert bool((first[found] <= numbers).all())
    assert bool((numbers <= last[found]).all())
    # No two of them meet, and the outermost have no end.
    order = torch.argsort(first)
    order = order[first[order] <= last[order]]
    assert bool((last[order][:-1] < first[order][1:]).all())
    assert int(last.max()) == ENDLESS


def test_the_typical_gap_of_intervals_is_between_known_beginnings() -> None:
    """From 100 to 110 and to 130; what is open at its beginning does not count."""
    firsts, lasts = [100, OPEN, 110, 130], [120, 7, OPEN, 131]
    assert typical_gap(Facts.of([0] * 4, [0] * 4, [1] * 4, firsts, lasts)) == 15
