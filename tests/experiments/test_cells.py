"""Cells: what an experiment runs, how its parts are named, on which data, and what came of it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from small_results import WORLD, cell, result_of
from targcn.errors import InputError
from targcn.experiments import cells as cells_module
from targcn.experiments.cells import (
    Cell,
    Result,
    cells_of,
    choose_data,
    open_data,
    read_results,
)
from targcn.experiments.spec import EXPERIMENTS, Row, find_experiment
from targcn.models.floors import DecayedCopySettings
from targcn.models.targcn import TARGCN
from targcn.training.fit import fit

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_row_of_every_experiment_can_be_run(name: str) -> None:
    experiment = find_experiment(name)
    for data in experiment.data:
        for row in experiment.rows:
            cells = cells_of(row, data, 2)
            if not row.model:
                assert cells == []
                continue
            if row.model == "fused":
                assert len(cells) == (data in row.members)
                continue
            assert len(cells) == (1 if row.model in ("seen", "decayed-copy") else 2)
            assert {one.data for one in cells} == {data}


def test_a_fused_cell_takes_the_next_seed_of_a_model_that_is_named_again() -> None:
    row = Row("a row", "fused", members={"icews14": ("seen", "teast", "evidence", "teast")})
    [fused] = cells_of(row, "icews14", 3)
    named = [(one.recipe.model, one.seed) for one in fused.members]
    assert named == [("seen", 0), ("teast", 0), ("evidence", 0), ("teast", 1)]
    assert Cell.from_json(json.loads(json.dumps(fused.to_json()))).key == fused.key
    assert fused.key != Cell(fused.data, fused.recipe, 0, fused.members[1:]).key
    assert cells_of(row, "icews05-15", 3) == []


def all_cells(name: str, data: str, num_seeds: int = 1) -> list[Cell]:
    rows = find_experiment(name).rows
    return [one for row in rows for one in cells_of(row, data, num_seeds)]


def test_experiments_share_their_cells() -> None:
    shared = [
        all_cells(name, "icews14")[row].key
        for name, row in (("main", 0), ("decoders", 0), ("ablation", 0), ("search-range", 5),
                          ("efficiency", 3), ("budget", 0), ("own-fact", 0), ("context", 0))
    ]  # fmt: skip
    assert len(set(shared)) == 1


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("atise", ({"margin": 40}, {"margin": 40.0}, {"margin": "40"})),
        ("targcn", ({"decay": 3}, {"decay": 3.0})),
        ("targcn", ({"batch_size": 7}, {"batch_size": 7.0}, {"batch-size": "7"})),
    ],
)
def test_equal_settings_give_one_key_however_they_are_written(
    model: str, changes: tuple[dict[str, object], ...]
) -> None:
    rows = [Row(str(number), model, changes=one) for number, one in enumerate(changes)]
    found = [cell for row in rows for cell in cells_of(row, "icews14", 1)]
    assert len({cell.key for cell in found}) == 1
    # A result file may have been written by hand.
    content = json.dumps(found[0].to_json())
    for before, after in (("40.0", "40"), ("3.0", "3")):
        assert Cell.from_json(json.loads(content.replace(before, after))).key == found[0].key


def test_a_cell_is_the_same_after_it_was_written_and_read() -> None:
    for name in EXPERIMENTS:
        for one in all_cells(name, "icews14", 2):
            again = Cell.from_json(json.loads(json.dumps(one.to_json())))
            assert (again.key, again.name) == (one.key, one.name)
            assert (again.recipe.settings, again.recipe.training) == (
                one.recipe.settings,
                one.recipe.training,
            )


def test_seeds_and_settings_are_different_cells() -> None:
    cells = [cell(seed=0), cell(seed=1), cell(seed=0, learning_rate=0.05), cell("targcn")]
    assert len({one.key for one in cells}) == 4


def test_a_setting_added_later_changes_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cell("targcn").key

    @dataclass(frozen=True)
    class MoreSettings(TARGCN.Settings):  # type: ignore[misc]
        added: int = 7

    monkeypatch.setattr(TARGCN, "Settings", MoreSettings)
    assert cell("targcn").key == before
    assert cell("targcn", added=8).key != before


def test_published_code_is_validated_as_often_as_it_was_measured() -> None:
    """Whatever its recipe says: the kept results were validated every 5 epochs, to save time."""
    for name in EXPERIMENTS:
        for one in all_cells(name, "icews14"):
            if one.recipe.name in ("published-code", "bique"):
                assert one.recipe.training.validate_every == 5


def test_a_derived_set_takes_the_recipes_of_its_origin() -> None:
    names = ("icews14", "icews14-unseen", "icews14-unseen-seed0")
    origin, *derived = (all_cells("unseen", name)[0] for name in names)
    assert all(one.recipe == origin.recipe for one in derived)
    assert len({one.key for one in (origin, *derived)}) == 3


def test_an_experiment_without_the_data_asked_for_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert choose_data(find_experiment("unseen"), ["icews05-15"]) == []
    assert capsys.readouterr().out == "unseen: left out, it has no data set icews05-15\n"


def test_large_sets_are_downloaded_only_if_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = find_experiment("main")
    monkeypatch.setattr(cells_module, "find_local", lambda name: None)
    assert choose_data(experiment) == ["icews14", "icews05-15"]
    assert "gdelt is large and not here yet" in capsys.readouterr().out
    assert choose_data(experiment, ["gdelt"]) == ["gdelt"]
    monkeypatch.setattr(cells_module, "find_local", lambda name: Path(name))
    assert choose_data(experiment) == ["icews14", "icews05-15", "gdelt"]


def test_derived_sets_are_made_of_their_origin() -> None:
    assert open_data("congress-irregular-seed0").name == "congress-irregular-seed0"
    assert len(open_data("congress-unseen-seed0").test) < len(open_data("congress").train)
    one, other = (open_data(f"congress-unseen-seed{seed}") for seed in (0, 1))
    assert one.test.columns.tolist() != other.test.columns.tolist()


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
