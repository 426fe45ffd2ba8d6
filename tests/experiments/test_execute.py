"""Cells are run once, go on after a stop, and leave a result that says what was done."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from small_results import SMALL, WORLD, cell
from small_training import create
from targcn.errors import InputError
from targcn.experiments import execute
from targcn.experiments.cells import Cell, fused_cell
from targcn.experiments.claims import UNFINISHED, is_held
from targcn.experiments.execute import CellError, run_cell, run_cells
from targcn.experiments.results import Result, read_results
from targcn.experiments.spec import SETTINGS, find_experiment
from targcn.files import DRAFT
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
    run_cells([fused, members[0]], tmp_path, "cpu", log=print)
    found = read_results(tmp_path)
    result = found[fused.key]
    assert [one.key for one in result.cell.members] == [one.key for one in members]
    runs = {
        one.name: fit(
            replace(WORLD, name="small"),
            one.recipe.model,
            recipe=one.recipe,
            seed=one.seed,
            device="cpu",
        )
        for one in members
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
    one = cell(model)
    lines: list[str] = []
    run_cells([one], tmp_path, "cpu", log=lines.append)
    [(key, result)] = read_results(tmp_path).items()
    assert key == result.cell.key == one.key
    settings = SMALL[model] | {"patience": one.recipe.training.patience}
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
    assert list((tmp_path / UNFINISHED).iterdir()) == []


def test_a_rule_has_figures_and_no_training(tmp_path: Path) -> None:
    run_cells([cell("seen")], tmp_path, "cpu")
    [result] = read_results(tmp_path).values()
    assert result.trained is None
    assert result.parameters == 0


def test_a_finished_cell_is_never_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [cell("seen"), cell("decayed-copy")]
    run_cells(cells[:1], tmp_path, "cpu")
    written = cells[0].path(tmp_path).read_bytes()
    asked: list[str] = []

    def run_it(one: Cell, *others: Any) -> Result:
        asked.append(one.recipe.model)
        return run_cell(one, *others)

    monkeypatch.setattr(execute, "run_cell", run_it)
    run_cells([*cells, *cells], tmp_path, "cpu")
    assert asked == ["decayed-copy"]
    assert cells[0].path(tmp_path).read_bytes() == written


def test_a_stopped_cell_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    one = cell("targcn", validate_every=1)

    def stop(training: TrainingProgress) -> None:
        if training.epoch == 2:
            raise TrainingStopped("stopped")

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path / "stopped", "cpu", progress=stop)
    assert (tmp_path / "stopped" / UNFINISHED / one.key / "run.json").exists()
    assert read_results(tmp_path / "stopped") == {}
    epochs: list[int] = []
    run_cells(
        [one], tmp_path / "stopped", "cpu", progress=lambda training: epochs.append(training.epoch)
    )
    assert min(epochs) >= 2
    run_cells([one], tmp_path / "whole", "cpu")
    assert figures_of(tmp_path / "stopped") == figures_of(tmp_path / "whole")


@pytest.mark.parametrize("name", ["weights.safetensors", "state.safetensors", "metrics.json"])
@pytest.mark.parametrize("damage", ["empty", "cut"])
def test_a_cell_whose_run_folder_is_damaged_begins_again(
    tmp_path: Path, name: str, damage: str
) -> None:
    one = cell("targcn", validate_every=1)

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", progress=stop)
    path = tmp_path / UNFINISHED / one.key / name
    path.write_bytes(path.read_bytes()[:-7] if damage == "cut" and path.exists() else b"")
    said: list[str] = []
    run_cells([one], tmp_path, "cpu", log=said.append)
    assert f"{name} is" in said[0]
    assert "begins again" in said[0]
    assert list(read_results(tmp_path)) == [one.key]


def test_a_cell_begun_with_other_settings_begins_again(tmp_path: Path) -> None:
    """A default may have changed since it was stopped."""
    one = cell("targcn", validate_every=1)

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", progress=stop)
    manifest = tmp_path / UNFINISHED / one.key / "run.json"
    content = json.loads(manifest.read_text())
    content["settings"]["decay"] = 3.0
    manifest.write_text(json.dumps(content))
    (tmp_path / UNFINISHED / f"{one.key}.jobs").write_text("9")
    run_cells([one], tmp_path, "cpu")
    assert read_results(tmp_path)[one.key].trained["epochs"] == 4
    assert read_results(tmp_path)[one.key].jobs == 1


def test_a_result_counts_the_processes_that_ran_before_it_was_stopped(tmp_path: Path) -> None:
    one = cell("targcn", validate_every=1)
    (tmp_path / UNFINISHED).mkdir()
    other = tmp_path / UNFINISHED / "other.claim"
    other.write_text(str(os.getpid()))

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", progress=stop)
    other.unlink()
    run_cells([one], tmp_path, "cpu")
    assert read_results(tmp_path)[one.key].jobs == 2
    assert list((tmp_path / UNFINISHED).iterdir()) == []


def test_what_a_killed_process_left_of_a_finished_cell_is_cleared_away(tmp_path: Path) -> None:
    one = cell("seen")
    run_cells([one], tmp_path, "cpu")
    (tmp_path / UNFINISHED / one.key / "data").mkdir(parents=True)
    (tmp_path / UNFINISHED / f"{one.key}.claim").write_text("123456789\n")
    result = one.path(tmp_path)
    (result.parent / f".{result.name}.x{DRAFT}").mkdir()
    run_cells([one], tmp_path, "cpu")
    assert list((tmp_path / UNFINISHED).iterdir()) == []
    assert list(result.parent.iterdir()) == [result]


def test_where_nothing_can_be_claimed_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems of many machines cannot lock; that is not another process's doing."""

    def refuse(*arguments: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(InputError, match=r"claim: Function not implemented"):
        run_cells([cell("seen")], tmp_path, "cpu")


def test_a_cell_that_another_process_holds_is_left_to_it(tmp_path: Path) -> None:
    held, free = cell("seen"), cell("decayed-copy")
    (tmp_path / UNFINISHED).mkdir()
    with open(tmp_path / UNFINISHED / f"{held.key}.claim", "w") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        run_cells([held, free], tmp_path, "cpu")
        assert read_results(tmp_path).keys() == {free.key}
    run_cells([held, free], tmp_path, "cpu")
    assert read_results(tmp_path).keys() == {held.key, free.key}


def test_a_cell_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    """A rate as large as this makes scores that are not numbers."""
    bad, good = cell(learning_rate=1e30, optimizer="adam"), cell("seen")
    lines: list[str] = []
    with pytest.raises(InputError, match=rf"^{bad.path(tmp_path).stem} failed; the same command"):
        run_cells([bad, good], tmp_path, "cpu", log=lines.append)
    assert read_results(tmp_path).keys() == {good.key}
    assert "failed: training diverged by epoch 1: its loss is not a number any more" in lines[0]
    assert "2 of 2: seen" in lines[1]
    # What failed is tried again, not taken for done.
    with pytest.raises(CellError):
        run_cells([bad], tmp_path, "cpu", log=lines.append)
    assert len(lines) == 3


def test_a_cell_that_does_not_fit_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = cell("seen"), cell("decayed-copy")

    def run_it(one: Cell, *others: Any) -> Result:
        if one.key == large.key:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run_cell(one, *others)

    monkeypatch.setattr(execute, "run_cell", run_it)
    lines: list[str] = []
    with pytest.raises(CellError):
        run_cells([large, small], tmp_path, "cpu", log=lines.append)
    assert lines[0].endswith("failed: out of memory")
    (result,) = read_results(tmp_path).values()
    assert (result.cell.recipe.model, result.jobs) == ("decayed-copy", 1)


def test_several_processes_begin_with_what_leaves_room_on_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among themselves they keep their order, as do the others."""
    taken: list[str] = []
    monkeypatch.setattr(
        execute,
        "_run_in_processes",
        lambda cells, *others: taken.extend(f"{one.recipe.model} {one.seed}" for one in cells),
    )
    cells = [cell("targcn", 1), cell("tntcomplex", 1), cell("tntcomplex", 0), cell("targcn", 0)]
    run_cells(cells, tmp_path, "cpu", jobs=2)
    assert taken == ["targcn 1", "targcn 0", "tntcomplex 1", "tntcomplex 0"]


def test_a_result_says_how_many_processes_shared_the_machine(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).mkdir()
    # This process is there; one of no number, or of a number that nobody has, is not.
    for name, content in (("here", str(os.getpid())), ("killed", str(2**22 + 1)), ("odd", "")):
        (tmp_path / UNFINISHED / f"{name}.claim").write_text(content)
    run_cells([cell("seen")], tmp_path, "cpu")
    assert read_results(tmp_path)[cell("seen").key].jobs == 2


STOPPED_AT_THE_START = """
import os, signal
from contextlib import contextmanager
from targcn.experiments import execute
from targcn.cli import main

ignored = execute._interrupts_ignored

@contextmanager
def interrupted_thereafter():
    with ignored():
        yield
    os.killpg(0, signal.SIGINT)

execute._interrupts_ignored = interrupted_thereafter
if __name__ == "__main__":
    main()
"""


def test_several_processes_are_stopped_quietly_while_they_start(tmp_path: Path) -> None:
    """By a Ctrl-C, which reaches all of them at once."""
    (tmp_path / "program.py").write_text(STOPPED_AT_THE_START)
    stopped = subprocess.run(
        [sys.executable, tmp_path / "program.py", "reproduce", "main", "--quick", "--jobs", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        timeout=100,
    )
    assert stopped.returncode == 130
    assert stopped.stdout == "stopped; the same command goes on from here\n"
    assert stopped.stderr == "targcn: stopped\n"
    assert not (tmp_path / "results-quick" / UNFINISHED).exists()


def test_stopping_the_first_of_several_processes_stops_them_all(tmp_path: Path) -> None:
    """Asked alone, as by a kill; each saves where it stands, and nothing is left claimed."""
    program = [sys.executable, "-m", "targcn", "reproduce", "main", "--quick", "--jobs", "2"]
    process = subprocess.Popen(
        [*program, "--device", "cpu", "--results", tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background may have been lines to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    try:
        first_line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    assert " of " in first_line
    assert "stopped; the same command goes on from here" in said
    assert 1 <= len(read_results(tmp_path)) < len(find_experiment("main").rows) - 4
    # (A signal may come between the opening of a claim and its locking, and leave an empty file.)
    assert not any(map(is_held, (tmp_path / UNFINISHED).glob("*.claim")))
    assert not list((tmp_path / UNFINISHED).glob("*.failed"))


def test_other_settings_give_other_figures(tmp_path: Path) -> None:
    run_cells([cell(), cell(seed=1), cell(learning_rate=0.05)], tmp_path, "cpu")
    assert len({str(figures) for figures in figures_of(tmp_path).values()}) == 3
