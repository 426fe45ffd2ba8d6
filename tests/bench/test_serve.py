"""The load on a server."""

import pytest

from bench_results import TINY, sane
from targcn.bench.serve import measure_serve

pytestmark = pytest.mark.slow


def test_serve() -> None:
    result = measure_serve(TINY, model="decayed-copy", questions=40, connections=8, crowd=20)
    single, batches, crowd = sane(result)
    assert single["errors"] == batches["errors"] == crowd["errors"] == 0
    assert crowd["answered"] + crowd["refused"] == 20
    assert single["p50_milliseconds"] <= single["p99_milliseconds"]
