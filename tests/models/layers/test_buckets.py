"""Buckets against whole-number arithmetic."""

import pytest
import torch

from oracle import count_bucket, time_bucket
from targcn.models.layers.buckets import CountBuckets, TimeBuckets


@pytest.mark.parametrize("unit", [1, 24])
def test_time_buckets_are_exact_and_then_three_per_doubling(unit: int) -> None:
    deltas = [*range(-1700 * unit, 1700 * unit, 1 if unit == 1 else 7), -(10**9), 10**9]
    found = TimeBuckets(float(unit))(torch.tensor(deltas)).tolist()
    assert found == [time_bucket(delta, unit) for delta in deltas]
    # Bucket 32 is the past less than a unit away.
    assert set(found) == set(range(TimeBuckets.COUNT)) - ({32} if unit == 1 else set())


def test_a_time_bucket_can_be_described() -> None:
    buckets = TimeBuckets(unit=2.0)
    for delta in range(-4000, 4000):
        least, end = buckets.describe(int(buckets(torch.tensor(delta))))
        assert least <= abs(delta) < end


def test_there_are_two_count_buckets_per_doubling() -> None:
    counts = [*range(1, 300), 10**6]
    found = CountBuckets()(torch.tensor(counts)).tolist()
    assert found == [count_bucket(count) for count in counts]
    assert max(found) == CountBuckets.COUNT - 1
