"""Cells are run once, go on after a stop, and leave a result that says what was done."""

import json
from dataclasses import asdict, replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch

from small_results import SMALL, WORLD, cell
from small_training import create
from targcn.errors import InputError
from targcn.experiments import execute
from targcn.experiments.cells import cells_of, fused_cell, read_results
from targcn.experiments.execute import UNFINISHED, run_cells
from targcn.experiments.spec import SETTINGS, Row
from targcn.files import DRAFT, sole_writer
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.registry import MODELS
from targcn.runs.evaluate import evaluate
from targcn.runs.fuse import fuse
from targcn.training.fit import fit
from targcn.training.progress import TrainingProgress
from targcn.training.signals import TrainingStopped

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set is a small one, under the name it is asked for."""
    monkeypatch.setattr(execute, "open_data", lambda name: replace(WORLD, name=name))


def figures_of(results: Path) -> dict[str, Any]:
    return {key: result.figures for key, result in read_results(results).items()}


def stop(training: TrainingProgress) -> None:
    if training.epoch == 2:
        raise TrainingStopped("stopped")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_says_so_scores_alike_in_any_context(name: str) -> None:
    torch.manual_seed(0)
    model = create(name, WORLD).eval()
    queries, _ = queries_of(WORLD.test, len(WORLD.relations))
    with torch.no_grad():
        one, other = (
            model(queries, TemporalGraph.of_context(WORLD, context))
            for context in ("train", "train+valid")
        )
    assert torch.equal(one, other) == (not model.reads_context)


def test_a_fused_cell_trains_its_members_and_fuses_them(tmp_path: Path) -> None:
    members = [cell("tntcomplex"), cell("targcn", seed=1)]
    fused = fused_cell("small", members)
    run_cells([fused, members[0]], tmp_path, "cpu")
    result = read_results(tmp_path)[fused.key]
    assert [member.key for member in result.cell.members] == [member.key for member in members]
    small = replace(WORLD, name="small")
    runs = {
        member.name: fit(small, recipe=member.recipe, seed=member.seed, device="cpu")
        for member in members
    }
    expected = fuse(runs, device="cpu")
    assert result.weights == expected.recipe.settings.weights
    for setting in SETTINGS:
        report = evaluate(expected, split=setting.split, context=setting.context, device="cpu")
        mrr = report.metrics["time-aware"]["both"]["mrr"]
        assert result.figures[setting]["time-aware"]["mrr"] == round(mrr, 5)
    assert result.parameters == sum(run.num_parameters for run in runs.values())


@pytest.mark.parametrize("model", ["tntcomplex", "targcn"])
def test_a_result_says_what_was_run_and_what_came_out(tmp_path: Path, model: str) -> None:
    trained = cell(model)
    lines: list[str] = []
    run_cells([trained], tmp_path, "cpu", log=lines.append)
    [(key, result)] = read_results(tmp_path).items()
    assert key == result.cell.key == trained.key
    settings = SMALL[model] | {"patience": trained.recipe.training.patience}
    run = fit(replace(WORLD, name="small"), model, device="cpu", **settings)
    for setting in SETTINGS:
        split, context = setting.split, setting.context
        report = evaluate(run, split=split, context=context, device="cpu")
        for which, figures in result.figures[setting].items():
            expected = report.metrics[which]["both"]
            assert figures == {name: round(value, 5) for name, value in expected.items()}
    assert result.parameters == run.num_parameters
    assert result.trained["epochs"] == 4
    assert result.trained["queries_per_epoch"] == 200
    assert result.peak_megabytes is None
    assert result.device.startswith("cpu")
    assert f"1 of 1: {model} (default) on small, seed 0" in lines[0]
    assert result.settings == asdict(run.recipe.settings)
    assert result.training == asdict(run.recipe.training)


def test_a_finished_cell_is_never_run_again(tmp_path: Path) -> None:
    """A kill may have left what led to it, which is cleared away."""
    cells = [cell("seen"), cell("decayed-copy")]
    run_cells(cells[:1], tmp_path, "cpu")
    [result] = read_results(tmp_path).values()
    assert (result.trained, result.parameters, result.jobs) == (None, 0, 1)
    written = cells[0].path(tmp_path).read_bytes()
    (tmp_path / UNFINISHED / cells[0].key / "data").mkdir(parents=True)
    lines: list[str] = []
    run_cells([*cells, *cells], tmp_path, "cpu", log=lines.append)
    assert [line.split(" (")[0] for line in lines] == ["1 of 1: decayed-copy"]
    assert cells[0].path(tmp_path).read_bytes() == written
    assert list((tmp_path / UNFINISHED).iterdir()) == []
    # So it may have left the draft of its result, which no later one is written beside.
    draft = cells[0].path(tmp_path).with_name(f".result{DRAFT}")
    draft.mkdir()
    run_cells(cells, tmp_path, "cpu", log=lines.append)
    assert not draft.exists()
    assert len(lines) == 1


def test_a_stopped_cell_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    one = cell("targcn", validate_every=1)
    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path / "stopped", "cpu", progress=stop)
    assert read_results(tmp_path / "stopped") == {}
    epochs: list[int] = []
    run_cells(
        [one], tmp_path / "stopped", "cpu", progress=lambda training: epochs.append(training.epoch)
    )
    assert min(epochs) >= 2
    run_cells([one], tmp_path / "whole", "cpu")
    assert figures_of(tmp_path / "stopped") == figures_of(tmp_path / "whole")


@pytest.mark.parametrize("name", ["state.safetensors", "run.json", "its settings"])
def test_a_cell_that_cannot_go_on_begins_again(tmp_path: Path, name: str) -> None:
    one = cell("targcn", validate_every=1)
    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", progress=stop)
    folder = tmp_path / UNFINISHED / one.key
    if name == "its settings":
        # A default may have changed since it was stopped.
        content = json.loads((folder / "run.json").read_text())
        content["settings"]["decay"] = 3.0
        (folder / "run.json").write_text(json.dumps(content))
    else:
        (folder / name).write_bytes((folder / name).read_bytes()[:-7])
    epochs: list[int] = []
    run_cells([one], tmp_path, "cpu", progress=lambda training: epochs.append(training.epoch))
    assert min(epochs) < 2
    assert list(read_results(tmp_path)) == [one.key]


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with sole_writer(tmp_path), pytest.raises(InputError, match="another process is writing"):
        run_cells([cell("seen")], tmp_path, "cpu")
    assert read_results(tmp_path) == {}


def test_a_cell_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    """A rate as large as this makes scores that are not numbers."""
    bad, good = cell(learning_rate=1e30, optimizer="adam"), cell("seen")
    lines: list[str] = []
    for expected in (2, 1):
        # What failed is tried again, not taken for done.
        with pytest.raises(InputError, match=rf"^{bad.name} failed; the same command"):
            run_cells([bad, good], tmp_path, "cpu", log=lines.append)
        assert f"1 of {expected}: {bad.name} failed: training diverged" in lines[0]
        assert len(lines) == expected
        lines.clear()
    assert read_results(tmp_path).keys() == {good.key}


def test_a_cell_that_does_not_fit_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = cell("seen"), cell("decayed-copy")
    run_cell = execute.run_cell

    def run_it(one: Any, *others: Any) -> Any:
        if one.key == large.key:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run_cell(one, *others)

    monkeypatch.setattr(execute, "run_cell", run_it)
    lines: list[str] = []
    with pytest.raises(InputError, match="the same command tries again"):
        run_cells([large, small], tmp_path, "cpu", log=lines.append)
    assert lines[0].endswith("failed: out of memory with 1 of --jobs")
    assert read_results(tmp_path).keys() == {small.key}


def test_ctrl_c_keeps_what_is_finished_and_ends_all_processes(tmp_path: Path) -> None:
    small = {"dim": 4, "epochs": 1, "batch_size": 1024}
    cells = cells_of(Row("a row", "tntcomplex", changes=small), "congress", 12)
    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path, "cpu", jobs=2, log=interrupt)
    assert lines[0].startswith(f"1 of {len(cells)}: ")
    assert lines[1] == "stopped; the same command goes on from here"
    assert active_children() == []
    assert read_results(tmp_path)
