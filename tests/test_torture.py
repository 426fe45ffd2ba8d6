"""A short torture; `make torture` is the long one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torture.pool import KINDS, Pool, run_one, table_of

HERE = Path(__file__).parent


@pytest.mark.slow
def test_some_cases_of_every_kind() -> None:
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "torture", "--cases=5", "--minutes=3", "--jobs=1"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:-1]] == list(KINDS)
    assert done.stdout.endswith(" kills, 0 faults\n")


def test_a_fault_is_counted_and_told(tmp_path: Path) -> None:
    def fails(*_: object) -> str:
        raise ValueError("oh")

    (tmp_path / "base").mkdir()
    outcome = run_one(fails, tmp_path / "base", 0, "table", 3)
    pool = Pool("table", tmp_path, 0, 1)
    pool.note(3, outcome)
    pool.note(4, "explained")
    pool.note(5, "hang: it was killed")
    assert table_of([pool], {"table": 2.0}).splitlines()[1].split() == (
        ["table", "3", "0", "1", "1", "1", "0", "0", "2"]
    )
    assert pool.stories[0].startswith("table 3: traceback: ")
    assert "ValueError: oh" in pool.stories[0]
