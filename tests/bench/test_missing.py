"""The speed of the search for missing facts."""

from pathlib import Path

import pytest

from bench_results import sane
from small_training import DATA
from targcn.bench.missing import measure_missing
from targcn.runs.store import save_run
from targcn.training.fit import fit

pytestmark = pytest.mark.slow


def test_missing(tmp_path: Path) -> None:
    save_run(fit(DATA, "evidence", epochs=1), tmp_path / "run")
    result = measure_missing(tmp_path / "run", times=3, top=2, device="cpu")
    _, searching, whole = sane(result)
    pairs, rest = divmod(searching["queries"], 3)
    assert pairs > 0
    assert rest == 0
    both = "with_those_from_the_other_end_per_second"
    assert searching[both] >= searching["queries_per_second"]
    assert whole["seconds"] > 0
