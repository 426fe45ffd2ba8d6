"""`targcn reproduce`: every experiment from the command line."""

from pathlib import Path

import pytest

from command_line import call, complaint_of, output_of
from small_results import find_small_experiment

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "which experiment?"),
        (["mian"], "there is no experiment 'mian'; did you mean 'main'?"),
        (
            ["unseen", "--data", "gdelt"],
            "gdelt is no data set of these; choose from icews14, icews14-u",
        ),
        (["main", "--seeds", "0"], "seeds is 0; at least 1 was expected"),
        (["main", "--jobs", "0"], "jobs is 0; at least 1 was expected"),
        (["context", "--data", "icews14", "--results", __file__], "cannot write"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in complaint_of(call("reproduce", *arguments))


def test_a_small_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By two processes; then nothing is left to run."""
    find_small_experiment(monkeypatch)
    results = tmp_path / "results"
    command = ["reproduce", "all", "--device", "cpu", "--results", results]
    said = output_of(*command, "--jobs", 2)
    assert "Small, congress: test split" in said
    assert "Small, congress: what it cost" in said
    assert "not run" not in said
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
    assert f"{len(before)} of {len(before)}: " in said
    assert f" of {len(before)}: " not in output_of(*command)
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before
