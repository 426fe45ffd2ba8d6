import subprocess
import sys
from pathlib import Path

import pytest

from targcn.errors import InputError
from targcn.memory import address_space_left, require_libraries_fit, require_room

LIMITED = """
import resource, sys
import targcn, targcn.facts.sources.parquet
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    targcn.open_dataset(sys.argv[1])
except targcn.InputError as error:
    print(error)
"""


def test_without_a_limit_there_is_room(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    assert address_space_left() == float("inf")
    require_room(tmp_path / "x", 100)


def test_less_than_is_needed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_text("x")
    monkeypatch.setattr("targcn.memory.address_space_left", lambda: 5 << 20)
    with pytest.raises(InputError, match=r"reading x may take .* but .* only 5 MB more"):
        require_room(tmp_path / "x", 100)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_little_memory_is_said_and_not_called_damage(tmp_path: Path, ending: str) -> None:
    import polars as pl

    names = {"subject": ["a"], "relation": ["r"], "object": ["b"], "time": [2014]}
    frame, path = pl.DataFrame(names), tmp_path / f"x.{ending}"
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0
    assert done.stdout.startswith(f"reading x.{ending} may take ")


def test_libraries_that_would_not_fit_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    require_libraries_fit()
    monkeypatch.setattr("targcn.memory.address_space_left", lambda: 5 << 20)
    with pytest.raises(InputError, match="may take only 5 MB of memory"):
        require_libraries_fit()
