"""The time of reading a table."""

from pathlib import Path

import numpy as np
import pytest

from bench_results import sane
from targcn.bench.generated_data import Shape, generate
from targcn.bench.ingest import measure_ingest, write_csv
from targcn.facts.open import open_dataset

pytestmark = pytest.mark.slow


def test_ingest() -> None:
    result = measure_ingest([50, 500], Shape(entities=20, relations=2, days=9, skew=0.0))
    small, large = sane(result)
    assert (small["rows"], large["rows"]) == (50, 500)
    assert 0 < small["facts"] <= 50
    assert large["file_bytes"] > small["file_bytes"]
    assert result.summary["rate_of_largest_to_smallest"] > 0


def test_ingest_of_intervals(tmp_path: Path) -> None:
    shape = Shape(facts=500, entities=20, relations=2, days=9, longest=4, skew=0.0)
    write_csv(tmp_path / "facts.csv", shape)
    dataset = open_dataset(tmp_path / "facts.csv", split="none")
    wanted = np.unique(generate(shape, split=False).train.columns[3:], axis=1)
    assert np.array_equal(np.unique(dataset.train.columns[3:], axis=1), wanted)
    (row,) = sane(measure_ingest([500], shape))
    assert row["facts"] == len(dataset.train)
