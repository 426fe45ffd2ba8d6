"""The time of reading a table."""

import pytest

from bench_results import sane
from targcn.bench.generated_data import Shape
from targcn.bench.ingest import measure_ingest

pytestmark = pytest.mark.slow


def test_ingest() -> None:
    result = measure_ingest([50, 500], Shape(entities=20, relations=2, days=9, skew=0.0))
    small, large = sane(result)
    assert (small["rows"], large["rows"]) == (50, 500)
    assert 0 < small["facts"] <= 50
    assert large["file_bytes"] > small["file_bytes"]
    assert result.summary["rate_of_largest_to_smallest"] > 0
