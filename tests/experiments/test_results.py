"""Result files: whole, readable, and of what they say."""

import json
from pathlib import Path

import pytest

from small_results import WORLD, cell, result_of
from targcn.errors import InputError
from targcn.experiments.results import Result, read_results
from targcn.models.floors import DecayedCopySettings
from targcn.training.fit import fit

ROOT = Path(__file__).parents[2]


def test_a_result_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    written = result_of(cell("targcn", 1), 0.4)
    written.write(tmp_path)
    (read,) = read_results(tmp_path).values()
    assert read.to_json() == written.to_json()
    assert read.figures == written.figures


def test_a_result_from_before_a_default_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = result_of(cell("decayed-copy"), 0.4).to_json() | {"settings": {"scale": 30.0}}
    Result.from_json(content).write(tmp_path)
    monkeypatch.setattr(DecayedCopySettings.__init__, "__defaults__", (7.0, 1e-3, 10.0))
    with pytest.raises(InputError, match=r"it was run with scale 30.0, which is 7.0 now\); take"):
        read_results(tmp_path)


@pytest.mark.skipif(not (ROOT / "results").exists(), reason="no results are kept here")
def test_kept_results_are_whole_and_of_what_they_say() -> None:
    results = read_results(ROOT / "results")
    assert len(results) == len(list((ROOT / "results").glob("*/*.json"))) >= 125
    for result in results.values():
        assert result.cell.path(ROOT / "results").exists()


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    result_of(cell("seen"), 0.4).write(tmp_path)
    path = cell("seen").path(tmp_path)
    whole = json.loads(path.read_text())
    lacking = {name: value for name, value in whole.items() if name != "device"}
    for damage in (
        "{",
        "{}",
        json.dumps(whole | {"figures": []}),
        json.dumps(whole | {"figures": whole["figures"][1:]}),
        json.dumps(lacking),
        json.dumps(whole).replace('"mrr"', '"rrm"'),
        json.dumps(whole).replace('"seen"', '"unseen"'),
    ):
        path.write_text(damage)
        with pytest.raises(InputError, match=rf"{path.name} is not the result .*; take"):
            read_results(tmp_path)


def test_a_folder_of_runs_is_not_taken_for_results(tmp_path: Path) -> None:
    fit(WORLD, "seen", out=tmp_path / "runs" / "seen", device="cpu")
    with pytest.raises(
        InputError, match=r"is not the result of a cell .*; take a folder of 'targcn"
    ):
        read_results(tmp_path / "runs")
