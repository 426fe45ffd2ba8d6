"""Buckets against whole-number arithmetic."""

import pytest
import torch

from oracle import count_bucket, time_bucket
from targcn.facts.dataset import OPEN, Facts
from targcn.models.layers.buckets import ENDLESS, CountBuckets, TimeBuckets, typical_gap


@pytest.mark.parametrize("unit", [1, 24])
def test_time_buckets_are_exact_and_then_three_per_doubling(unit: int) -> None:
    deltas = [*range(-1700 * unit, 1700 * unit, 1 if unit == 1 else 7), -(10**9), 10**9]
    found = TimeBuckets(float(unit))(torch.tensor(deltas)).tolist()
    assert found == [time_bucket(delta, unit) for delta in deltas]
    # Bucket 32 is the past less than a unit away.
    assert set(found) == set(range(TimeBuckets.COUNT)) - ({32} if unit == 1 else set())


@pytest.mark.parametrize(
    ("buckets", "numbers"),
    [
        (TimeBuckets(unit=1.0), torch.arange(-4000, 4000)),
        (TimeBuckets(unit=3.0), torch.arange(-9000, 9000)),
        (CountBuckets(), torch.arange(1, 400)),
    ],
)
def test_ranges_are_what_falls_into_a_bucket(
    buckets: TimeBuckets | CountBuckets, numbers: torch.Tensor
) -> None:
    first, last = buckets.ranges()
    found = buckets(numbers)
    assert bool((first[found] <= numbers).all())
    assert bool((numbers <= last[found]).all())
    # No two of them meet, and the outermost have no end.
    order = torch.argsort(first)
    order = order[first[order] <= last[order]]
    assert bool((last[order][:-1] < first[order][1:]).all())
    assert int(last.max()) == ENDLESS


def test_there_are_two_count_buckets_per_doubling() -> None:
    counts = [*range(1, 300), 10**6]
    found = CountBuckets()(torch.tensor(counts)).tolist()
    assert found == [count_bucket(count) for count in counts]
    assert max(found) == CountBuckets.COUNT - 1


def test_the_typical_gap_of_intervals_is_between_known_beginnings() -> None:
    """From 100 to 110 and to 130; what is open at its beginning does not count."""
    firsts, lasts = [100, OPEN, 110, 130], [120, 7, OPEN, 131]
    assert typical_gap(Facts.of([0] * 4, [0] * 4, [1] * 4, firsts, lasts)) == 15
