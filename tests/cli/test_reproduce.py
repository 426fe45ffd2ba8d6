"""`targcn reproduce`: every experiment from the command line."""

from pathlib import Path

import pytest

from targcn.cli import main
from targcn.experiments.spec import EXPERIMENTS, find_experiment

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
        (["main", "--quick", "--data", "icews14"], "a quick run is on congress alone"),
        (["context", "--quick", "--results", __file__], "cannot write"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["reproduce", *arguments])
    assert leaving.value.code == 2
    assert sentence in capsys.readouterr().err


def call(*arguments: str) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 0


def test_all_experiments_in_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole shape on the embedded data, by two processes; then nothing is left to run."""
    results = tmp_path / "results"
    command = ["reproduce", "all", "--quick", "--device", "cpu", "--results", str(results)]
    call(*command, "--jobs", "2")
    said = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert find_experiment(name).title in said
    assert "not run" not in said
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
    assert f"finished {len(before)} more in " in said
    call(*command)
    assert "finished 0 more in " in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before
