"""The published figures of the two floors, on the real data; skipped where it is not to be had."""

import os
from pathlib import Path

import pytest

import targcn

BESIDE = Path(__file__).parents[2] / "shared" / "data"
FIGURES = {  # MRR on test, context train+valid, mean ties, both directions: static, time-aware
    ("icews14", "seen"): (0.673, 0.433),
    ("icews14", "decayed-copy"): (0.619, 0.488),
    ("icews05-15", "seen"): (0.795, 0.446),
    ("icews05-15", "decayed-copy"): (0.720, 0.548),
}
NUM_QUERIES = {"icews14": 2 * 8_963, "icews05-15": 2 * 46_092}


@pytest.fixture(scope="module", params=NUM_QUERIES)
def dataset(request: pytest.FixtureRequest) -> targcn.Dataset:
    folder = Path(os.environ.get("TARGCN_DATA") or BESIDE) / request.param
    if not folder.is_dir():
        pytest.skip(f"{request.param} is not here; set TARGCN_DATA to the folder that holds it")
    return targcn.open_dataset(folder)


@pytest.mark.parametrize("model", ["seen", "decayed-copy"])
def test_floor(dataset: targcn.Dataset, model: str) -> None:
    report = targcn.evaluate(targcn.fit(dataset, model))
    assert report.num_queries == NUM_QUERIES[dataset.name]
    found = [report.metrics[which]["both"]["mrr"] for which in ("static", "time-aware")]
    assert found == pytest.approx(FIGURES[dataset.name, model], abs=0.002)
