"""The memory of processes that hold tables together."""

from pathlib import Path
from typing import Any

import pytest

from bench_results import TINY, sane
from targcn.bench.generated_data import generate
from targcn.bench.shards import measure_shards, train_together
from targcn.runs.store import load_run


def test_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that takes most counts, and what it takes without tables is left out."""

    def run_group(function: Any, size: int, prior_dim: int, **_: Any) -> list[dict[str, Any]]:
        assert function is train_together
        return [{"peak_bytes": 100 + 16 * prior_dim // size - index} for index in range(size)]

    monkeypatch.setattr("targcn.bench.measure.run_group", run_group)
    rows = sane(measure_shards([2, 4], TINY, prior_dim=8, folder=tmp_path))
    assert [row["processes"] for row in rows] == [2, 4]
    assert [row["tables_bytes"] for row in rows] == [64, 32]
    assert [row["share_of_first"] for row in rows] == [1, 0.5]
    assert list(tmp_path.iterdir()) == []


def test_what_is_measured_is_a_training(tmp_path: Path) -> None:
    generate(TINY).save(tmp_path / "data")
    assert train_together(tmp_path / "data", tmp_path / "run", 3)["peak_bytes"] > 0
    run = load_run(tmp_path / "run")
    assert run.recipe.training.shard_tables
    assert run.trained is not None
    assert run.trained.finished
