"""Experiments are files; their cells are run once, go on after a stop, and say what they did."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World
from targcn import cells as cells_module
from targcn import reproduction
from targcn.attempts import UNFINISHED
from targcn.cells import QUICK, Cell, cells_of, data_at_hand, open_data, read_results
from targcn.cli import main
from targcn.errors import InputError
from targcn.evaluation import evaluate
from targcn.experiments import JUDGEMENTS, Experiment, Row, find_experiment, list_experiments
from targcn.facts.catalog import CATALOG
from targcn.facts.graph import TemporalGraph
from targcn.fitting import fit
from targcn.models import MODELS, create
from targcn.models.contract import queries_of
from targcn.models.floors import DecayedCopySettings
from targcn.models.targcn import TARGCN
from targcn.reproduction import CellError, run_cell, run_cells
from targcn.training import Sign, TrainingStopped

RESULTS = Path(__file__).parents[1] / "results"
FACTS = [(n % 9, n % 2, n * n % 7, n * 5 % 31) for n in range(160)]
WORLD = World(9, 2, FACTS, cuts=(100, 120)).dataset


@pytest.fixture(autouse=True)
def one_small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set is a small one, under the name it is asked for."""
    monkeypatch.setattr(reproduction, "open_data", lambda name: replace(WORLD, name=name))


SMALL = {
    "tntcomplex": {"rank": 4, "epochs": 4, "batch_size": 80},
    "targcn": {"size": 8, "neighbors": 5, "window": 16, "epochs": 4, "batch_size": 80},
}


def cell(model: str = "tntcomplex", seed: int = 0, **settings: Any) -> Cell:
    row = Row("a row", model, settings=SMALL.get(model, {}) | settings)
    experiment = Experiment("one", "", "", ("congress",), rows=(row,))
    [(_, cells)] = cells_of(experiment, "congress", seed + 1)
    return cells[seed]


def figures_of(results: Path) -> dict[str, Any]:
    return {key: content["figures"] for key, content in read_results(results).items()}


# --- the files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_experiments())
def test_every_row_of_every_experiment_can_be_run(name: str) -> None:
    experiment = find_experiment(name)
    for data in experiment.data:
        for row, cells in cells_of(experiment, data, 2):
            assert len(cells) == (1 if row.model in ("seen", "decayed-copy") else 2)
            assert {one.data for one in cells} == {data}


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


@pytest.mark.parametrize("name", list_experiments())
def test_the_papers_figures_name_their_filter_and_stand_on_known_data(name: str) -> None:
    experiment = find_experiment(name)
    assert all(data.split("-un")[0].split("-irr")[0] in CATALOG for data in experiment.data)
    for row in experiment.rows:
        assert row.model or row.note, "what is not built says so"
        assert row.paper.keys() <= set(experiment.data)
        for printed in row.paper.values():
            assert printed.keys() <= {
                "filter", "test", "valid", "parameters", "seconds", "megabytes"
            }  # fmt: skip
            figures = [*printed.get("test", []), *printed.get("valid", [])]
            assert all(0 < figure < 1 for figure in figures)
            assert not figures or printed["filter"] in ("raw", "static", "time-aware")


def test_main_has_every_model_that_is_built() -> None:
    """The paper's rivals, two more and both rules; a model of one's own need not be in it."""
    compared = {row.model for row in find_experiment("main").rows if row.model}
    assert compared <= MODELS.keys()
    assert compared >= {
        "targcn", "complex", "simple", "distmult", "de-simple", "atise", "tcomplex", "tntcomplex",
        "chronor", "telm", "boxte", "teast", "tcompounde", "seen", "decayed-copy",
    }  # fmt: skip


def test_experiments_share_their_cells() -> None:
    shared = [
        cells_of(find_experiment(name), "icews14", 1)[row][1][0].key
        for name, row in (("main", 0), ("decoders", 0), ("ablation", 0), ("search-range", 5),
                          ("efficiency", 3), ("budget", 0), ("own-fact", 0), ("context", 0))
    ]  # fmt: skip
    assert len(set(shared)) == 1


def test_a_setting_added_later_changes_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cell("targcn").key

    @dataclass(frozen=True)
    class MoreSettings(TARGCN.Settings):  # type: ignore[misc]
        added: int = 7

    monkeypatch.setattr(TARGCN, "Settings", MoreSettings)
    assert cell("targcn").key == before
    assert cell("targcn", added=8).key != before


def test_a_result_of_before_a_default_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cells([cell("decayed-copy")], tmp_path, "cpu")
    monkeypatch.setattr(DecayedCopySettings.__init__, "__defaults__", (7.0, 1e-3, 10.0))
    with pytest.raises(InputError, match=r"it was run with scale 30.0, which is 7.0 now\); remove"):
        run_cells([cell("decayed-copy")], tmp_path, "cpu")


@pytest.mark.skipif(not RESULTS.exists(), reason="no results are kept here")
def test_kept_results_are_whole_and_of_what_they_say() -> None:
    assert read_results(RESULTS)


def test_a_derived_set_takes_the_runs_of_its_origin() -> None:
    derived, origin = (
        cells_of(find_experiment("unseen"), data, 1)[0][1][0]
        for data in ("icews14-unseen", "icews14")
    )
    assert derived.settings == origin.settings
    assert derived.key != origin.key


def test_a_quick_look_is_small_and_keeps_what_an_experiment_varies() -> None:
    ranges = cells_of(find_experiment("search-range"), "congress", 1, quick=True)
    assert [cells[0].settings.get("search_range") for _, cells in ranges] == [
        15, 50, 100, 200, 300, None
    ]  # fmt: skip
    sizes = cells_of(find_experiment("efficiency"), "congress", 1, quick=True)
    assert [cells[0].settings["size"] for _, cells in sizes] == [16, 24, 32, 48]
    for name in list_experiments():
        for _, cells in cells_of(find_experiment(name), "congress", 1, quick=True):
            for one in cells:
                assert not one.training or one.training["epochs"] == 1
                assert one.settings.get("rank", 8) <= 8
    assert QUICK["window"](0) == 0, "all candidates stay all"


def test_an_experiment_without_the_data_asked_for_says_so() -> None:
    told: list[str] = []
    assert data_at_hand(find_experiment("unseen"), ["icews05-15"], tell=told.append) == []
    assert told == ["unseen: left out, it is not about icews05-15"]


def test_large_sets_are_fetched_only_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    experiment = find_experiment("main")
    monkeypatch.setattr(cells_module, "find_local", lambda name: None)
    assert data_at_hand(experiment, tell=told.append) == ["icews14", "icews05-15"]
    assert "gdelt is not at hand" in told[0]
    assert data_at_hand(experiment, ["gdelt"]) == ["gdelt"]
    monkeypatch.setattr(cells_module, "find_local", lambda name: Path(name))
    assert data_at_hand(experiment) == ["icews14", "icews05-15", "gdelt"]


def test_derived_sets_are_made_of_their_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert open_data("congress-irregular").name == "congress-irregular"
    assert len(open_data("congress-unseen").test) < len(open_data("congress").train)


# --- running --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["tntcomplex", "targcn"])
def test_a_result_says_what_was_run_and_what_came_out(tmp_path: Path, model: str) -> None:
    one = cell(model)
    told: list[str] = []
    run_cells([one], tmp_path, "cpu", tell=told.append)
    [(key, content)] = read_results(tmp_path).items()
    assert key == one.key
    assert Cell(**content["cell"]).key == one.key
    settings = SMALL[model] | {"patience": one.training.get("patience", 0)}
    run = fit(replace(WORLD, name="congress"), model, device="cpu", **settings)
    for judgement in JUDGEMENTS:
        split, context = judgement.split(", context ")
        report = evaluate(run, split=split, context=context, device="cpu")
        for which, figures in content["figures"][judgement].items():
            expected = report.metrics[which]["both"]
            assert figures == {name: round(value, 5) for name, value in expected.items()}
    assert content["parameters"] == run.num_parameters
    assert content["trained"]["epochs"] == 4
    assert content["trained"]["queries_per_epoch"] == 200
    assert content["peak_megabytes"] is None
    assert content["device"].startswith("cpu")
    assert f"1 of 1: {model} (default) on congress, seed 0" in told[0]
    assert content["settings"] == asdict(run.settings)
    assert content["training"] == run.training
    assert list((tmp_path / UNFINISHED).iterdir()) == []


def test_a_rule_has_figures_and_no_training(tmp_path: Path) -> None:
    run_cells([cell("seen")], tmp_path, "cpu")
    [content] = read_results(tmp_path).values()
    assert content["trained"] is None
    assert content["parameters"] == 0


def test_a_finished_cell_is_never_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [cell("seen"), cell("decayed-copy")]
    run_cells(cells[:1], tmp_path, "cpu")
    written = cells[0].path(tmp_path).read_bytes()
    asked: list[str] = []

    def run_it(one: Cell, *others: Any) -> dict[str, Any]:
        asked.append(one.model)
        return run_cell(one, *others)

    monkeypatch.setattr(reproduction, "run_cell", run_it)
    run_cells([*cells, *cells], tmp_path, "cpu")
    assert asked == ["decayed-copy"]
    assert cells[0].path(tmp_path).read_bytes() == written


def test_a_stopped_cell_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    one = cell("targcn", validate_every=1)

    def stop(sign: Sign) -> None:
        if sign.epoch == 2:
            raise TrainingStopped("stopped")

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path / "stopped", "cpu", watch=stop)
    assert (tmp_path / "stopped" / UNFINISHED / one.key / "run.json").exists()
    assert read_results(tmp_path / "stopped") == {}
    epochs: list[int] = []
    run_cells([one], tmp_path / "stopped", "cpu", watch=lambda sign: epochs.append(sign.epoch))
    assert min(epochs) >= 2
    run_cells([one], tmp_path / "whole", "cpu")
    assert figures_of(tmp_path / "stopped") == figures_of(tmp_path / "whole")


def test_a_cell_begun_with_other_settings_begins_again(tmp_path: Path) -> None:
    """A default may have changed since it was stopped."""
    one = cell("targcn", validate_every=1)

    def stop(sign: Sign) -> None:
        raise TrainingStopped("stopped")

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", watch=stop)
    manifest = tmp_path / UNFINISHED / one.key / "run.json"
    content = json.loads(manifest.read_text())
    content["settings"]["decay"] = 3.0
    manifest.write_text(json.dumps(content))
    (tmp_path / UNFINISHED / f"{one.key}.jobs").write_text("9")
    run_cells([one], tmp_path, "cpu")
    assert read_results(tmp_path)[one.key]["trained"]["epochs"] == 4
    assert read_results(tmp_path)[one.key]["jobs"] == 1


def test_a_result_knows_those_that_ran_beside_it_before_it_was_stopped(tmp_path: Path) -> None:
    one = cell("targcn", validate_every=1)
    (tmp_path / UNFINISHED).mkdir()
    beside = tmp_path / UNFINISHED / "beside.claim"
    beside.write_text(str(os.getpid()))

    def stop(sign: Sign) -> None:
        raise TrainingStopped("stopped")

    with pytest.raises(TrainingStopped):
        run_cells([one], tmp_path, "cpu", watch=stop)
    beside.unlink()
    run_cells([one], tmp_path, "cpu")
    assert read_results(tmp_path)[one.key]["jobs"] == 2
    assert list((tmp_path / UNFINISHED).iterdir()) == []


def test_what_a_killed_process_left_of_a_finished_cell_is_cleared_away(tmp_path: Path) -> None:
    one = cell("seen")
    run_cells([one], tmp_path, "cpu")
    (tmp_path / UNFINISHED / one.key / "data").mkdir(parents=True)
    run_cells([one], tmp_path, "cpu")
    assert list((tmp_path / UNFINISHED).iterdir()) == []


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
    told: list[str] = []
    with pytest.raises(InputError, match=rf"^{bad.path(tmp_path).stem} failed; the same command"):
        run_cells([bad, good], tmp_path, "cpu", tell=told.append)
    assert read_results(tmp_path).keys() == {good.key}
    assert "failed: the model gave scores that are not numbers" in told[0]
    assert "2 of 2: seen" in told[1]
    # What failed is tried again, not taken for done.
    with pytest.raises(CellError):
        run_cells([bad], tmp_path, "cpu", tell=told.append)
    assert len(told) == 3


def test_a_cell_that_does_not_fit_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = cell("seen"), cell("decayed-copy")

    def run_it(one: Cell, *others: Any) -> dict[str, Any]:
        if one.key == large.key:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run_cell(one, *others)

    monkeypatch.setattr(reproduction, "run_cell", run_it)
    told: list[str] = []
    with pytest.raises(CellError):
        run_cells([large, small], tmp_path, "cpu", tell=told.append)
    assert told[0].endswith("failed: the memory was not enough")
    (result,) = read_results(tmp_path).values()
    assert (result["cell"]["model"], result["jobs"]) == ("decayed-copy", 1)


def test_several_processes_begin_with_what_leaves_room_on_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among themselves they keep their order, as do the others."""
    taken: list[str] = []
    monkeypatch.setattr(
        reproduction,
        "_run_together",
        lambda cells, *others: taken.extend(f"{one.model} {one.seed}" for one in cells),
    )
    cells = [cell("targcn", 1), cell("tntcomplex", 1), cell("tntcomplex", 0), cell("targcn", 0)]
    run_cells(cells, tmp_path, "cpu", jobs=2)
    assert taken == ["targcn 1", "targcn 0", "tntcomplex 1", "tntcomplex 0"]


def test_a_result_says_how_many_ran_beside_it(tmp_path: Path) -> None:
    (tmp_path / UNFINISHED).mkdir()
    # This process is there; one of no number, or of a number that nobody has, is not.
    for name, content in (("here", str(os.getpid())), ("killed", str(2**22 + 1)), ("odd", "")):
        (tmp_path / UNFINISHED / f"{name}.claim").write_text(content)
    run_cells([cell("seen")], tmp_path, "cpu")
    assert read_results(tmp_path)[cell("seen").key]["jobs"] == 2


STOPPED_AT_THE_START = """
import os, signal
from contextlib import contextmanager
from targcn import reproduction
from targcn.cli import main

deaf = reproduction._deaf

@contextmanager
def stopped_thereafter():
    with deaf():
        yield
    os.killpg(0, signal.SIGINT)

reproduction._deaf = stopped_thereafter
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
    assert stopped.stdout == "stopped; the same command goes on where it stood\n"
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
        # Tests that run in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    assert " of " in first
    assert "stopped; the same command goes on where it stood" in said
    assert 1 <= len(read_results(tmp_path)) < len(find_experiment("main").rows) - 4
    assert not list((tmp_path / UNFINISHED).glob("*.claim"))
    assert not list((tmp_path / UNFINISHED).glob("*.failed"))


def test_seeds_and_settings_are_different_cells(tmp_path: Path) -> None:
    cells = [cell(seed=0), cell(seed=1), cell(seed=0, learning_rate=0.05)]
    assert len({one.key for one in cells}) == 3
    run_cells(cells, tmp_path, "cpu")
    figures = [json.dumps(content) for content in figures_of(tmp_path).values()]
    assert len(set(figures)) == 3


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    run_cells([cell("seen")], tmp_path, "cpu")
    path = cell("seen").path(tmp_path)
    whole = json.loads(path.read_text())
    lacking = {name: value for name, value in whole.items() if name != "device"}
    without_mrr = json.dumps(whole).replace('"mrr"', '"rrm"')
    for damage in (
        "{",
        "{}",
        json.dumps(whole | {"figures": {}}),
        json.dumps(lacking),
        without_mrr,
    ):
        path.write_text(damage)
        with pytest.raises(InputError, match=rf"{path.name} is not the result .*; remove"):
            read_results(tmp_path)


def test_a_folder_of_runs_is_not_taken_for_results(tmp_path: Path) -> None:
    fit(WORLD, "seen", out=tmp_path / "runs" / "seen", device="cpu")
    with pytest.raises(InputError, match=r"runs holds runs, not results .*; 'targcn compare'"):
        read_results(tmp_path / "runs")


# --- the command ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "which experiment?"),
        (["mian"], "there is no experiment 'mian'; did you mean 'main'?"),
        (
            ["unseen", "--data", "gdelt"],
            "gdelt is no data set of these; choose of icews14, icews14-u",
        ),
        (["main", "--seeds", "0"], "seeds is 0; at least 1 was expected"),
        (["main", "--jobs", "0"], "jobs is 0; at least 1 was expected"),
        (["main", "--quick", "--data", "icews14"], "a quick look is on congress alone"),
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


def test_all_experiments_at_a_quick_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole shape on the embedded data, by two processes; then nothing is left to run."""
    monkeypatch.undo()
    results = tmp_path / "results"
    command = ["reproduce", "all", "--quick", "--device", "cpu", "--results", str(results)]
    call(*command, "--jobs", "2")
    said = capsys.readouterr().out
    for name in list_experiments():
        assert find_experiment(name).title in said
    assert "not run" not in said
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
    assert f"finished {len(before)} more in " in said
    call(*command)
    assert "finished 0 more in " in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before
    call("report", str(results), "--out", str(tmp_path / "report"))
    page = (tmp_path / "report" / "index.html").read_text()
    for name in list_experiments():
        assert f"targcn reproduce {name}" in page
