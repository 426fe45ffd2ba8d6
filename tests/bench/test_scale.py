"""What grows with the number of facts."""

from pathlib import Path

import pytest

from bench_results import run_here, sane
from targcn.bench.generated_data import Shape
from targcn.bench.scale import measure_scale


def test_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targcn.bench.measure.run_apart", run_here)
    shape = Shape(entities=50, relations=2, days=9)
    result = measure_scale([2000, 100], shape, queries=10, steps=1, device="cpu", folder=tmp_path)
    large, small = sane(result)
    assert large["bytes_per_fact"] == pytest.approx(40, abs=1)
    ratio = large["microseconds_per_query"] / small["microseconds_per_query"]
    assert result.summary["growth_of_microseconds_per_query"] == pytest.approx(ratio)
    assert list(tmp_path.iterdir()) == []
