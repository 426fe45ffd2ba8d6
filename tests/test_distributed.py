"""Several processes train as one: the same figures, and nobody waits for one that is gone."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World
from process_groups import FAILING, Start, torchrun
from small_training import DATA, FACTS, TWO_AT_A_TIME, flags, same_weights, saved_state, trace_of
from targcn.distributed import ProcessGroup
from targcn.runs.store import load_run

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")


# --- shares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("num_rows", [0, 1, 2, 7, 12])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_everyone_has_a_share_and_nobody_anothers(size: int, num_rows: int) -> None:
    shares = [ProcessGroup(rank, size).shard(torch.arange(num_rows)) for rank in range(size)]
    assert sorted(torch.cat(shares).tolist()) == list(range(num_rows))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("num_rows", [0, 2, 7])
def test_shares_are_joined_exactly(num_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[torch.Tensor] = []
    monkeypatch.setattr(torch.distributed, "all_reduce", sent.append)
    rows = torch.arange(num_rows, dtype=torch.float64) + 0.1
    for processes in (ProcessGroup(rank, 3) for rank in range(3)):
        processes.gather_shards(processes.shard(rows), num_rows)
    assert torch.equal(torch.stack(sent).sum(0), rows)
    assert torch.equal(ProcessGroup().gather_shards(rows, num_rows), rows)


# --- processes ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "world"
    DATA.save(folder)
    return folder


@pytest.fixture(scope="module")
def two(start: Start, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training by two processes, never stopped."""
    folder = tmp_path_factory.mktemp("two") / "run"
    codes, printed, complaints = start(2, "train", data, *flags(out=folder))
    assert (codes, complaints) == ([0, 0], ["", ""])
    assert "90 queries, valid split" in printed[0]
    assert printed[1] == ""
    return folder


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def same_state(one: Path, other: Path) -> bool:
    (ours, here), (theirs, there) = saved_state(one), saved_state(other)
    same = all(torch.equal(ours[name], theirs[name]) for name in ours | theirs)
    return same and here | {"seconds": 0} == there | {"seconds": 0}


def assert_close(one: Path, other: Path) -> None:
    """Equal but for the order in which floating point numbers were added up."""
    ours, theirs = (load_run(folder).model.state_dict() for folder in (one, other))
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=0, atol=1e-5)
    for here, there in zip(trace_of(one), trace_of(other), strict=True):
        assert here.keys() == there.keys()
        if "valid" in here:
            ours, theirs = (line["valid"]["time-aware"]["both"] for line in (here, there))
            assert ours == pytest.approx(theirs, abs=1e-3)
        else:
            assert here["loss"] == pytest.approx(there["loss"], rel=1e-5)


def test_two_processes_train_like_one(start: Start, data: Path, two: Path, tmp_path: Path) -> None:
    assert start(1, "train", data, *flags(out=tmp_path / "one"))[0] == [0]
    assert_close(tmp_path / "one", two)
    assert names_in(tmp_path / "one") == names_in(two)
    trained = json.loads((two / "metrics.json").read_text())["trained"]
    assert trained["device"] == "2 × cpu with 1 threads"


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 2, "neighbors": 3, "optimizer": "adagrad"},
        {"time_encoding": "absolute", "strategy": "whole"},
        {"filtered_loss": True},
        {"model": "evidence", "neighbors": None, "dropout": None, "filtered_loss": True},
        {"model": "evidence", "neighbors": None, "dropout": None, "candidates": 8},
        {"model": "temp-gru", "neighbors": None, "window": 3, "times_per_batch": 4},
        {"model": "temp-sa", "neighbors": None, "negatives": 0, "filtered_loss": True},
    ],
)
def test_whatever_is_trained_is_trained_alike(
    options: dict[str, Any], start: Start, tmp_path: Path
) -> None:
    TWO_AT_A_TIME.dataset.save(tmp_path / "data")
    for size in (1, 2):
        given = flags(out=tmp_path / str(size), epochs=2, **options)
        codes, _, complaints = start(size, "train", tmp_path / "data", *given)
        assert codes == [0] * size, complaints
    assert_close(tmp_path / "1", tmp_path / "2")


def test_what_each_process_hides_from_a_shared_graph_is_its_own_part(
    start: Start, data: Path, tmp_path: Path
) -> None:
    """So T-GAP is not trained like by one process, but its weights are the same in all."""
    sizes = {"dim": 10, "heads": 2, "core_nodes": 5, "node_edges": 8, "subgraph_edges": 10}
    how = {"epochs": 2, "batch_size": 40, "learning_rate": 0.02, "device": "cpu"}
    options = sizes | how | {"model": "t-gap", "out": tmp_path / "run"}
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    codes, _, complaints = start(2, "train", data, *given, "--gaps=none")
    assert (codes, complaints) == ([0, 0], ["", ""])
    printed = [start(size, "evaluate", tmp_path / "run", "--json")[1][0] for size in (1, 2)]
    one, two = (json.loads(text)["metrics"] for text in printed)
    assert one == two
    assert json.loads(printed[0])["metrics"]["time-aware"]["both"]["mrr"] > 0.5


def test_there_may_be_more_processes_than_queries(start: Start, tmp_path: Path) -> None:
    """Three of them for a last batch of two queries, and for two that are evaluated."""
    World(30, 3, FACTS, cuts=(250, 251)).dataset.save(tmp_path / "data")
    for size in (1, 3):
        given = flags(out=tmp_path / str(size), batch_size=498, epochs=3)
        codes, _, complaints = start(size, "train", tmp_path / "data", *given)
        assert codes == [0] * size, complaints
    assert_close(tmp_path / "1", tmp_path / "3")


def test_every_query_is_evaluated_once(start: Start, two: Path) -> None:
    """90 queries: 45 each, or 23, 23, 22 and 22."""
    [expected] = start(1, "evaluate", two, "--json", "--by-relation")[1]
    for size in (2, 4):
        codes, printed, _ = start(size, "evaluate", two, "--json", "--by-relation")
        assert codes == [0] * size
        assert printed == [expected, *[""] * (size - 1)]


def test_a_model_that_does_not_learn_is_evaluated_by_the_first(
    start: Start, data: Path, tmp_path: Path
) -> None:
    given = ("--model=decayed-copy", "--scale=3", f"--out={tmp_path / 'run'}")
    for command in (("train", data, *given), ("train", "--resume", tmp_path / "run")):
        codes, printed, complaints = start(2, *command, "--gaps=none")
        assert (codes, complaints) == ([0, 0], ["", ""])
        assert "decayed-copy on world: 90 queries, valid split" in printed[0]
        assert printed[1] == ""
    assert len(json.loads((tmp_path / "run" / "metrics.json").read_text())["reports"]) == 1


# --- stopping and going on ------------------------------------------------------------------

# At a step one process is killed, or signalled twice: by whoever stops it and by the launcher.
AT_A_STEP = """
rate_of = training.learning_rate

def signalled(settings, step, num_steps):
    if (rank, *divmod(step, 9)) == {moment}:
        os.kill(os.getpid(), {signal})
        os.kill(os.getpid(), {signal})
    return rate_of(settings, step, num_steps)

training.learning_rate = signalled
"""


@pytest.mark.parametrize(
    ("moment", "number", "stopped_at"),
    [((1, 1, 3), signal.SIGTERM, (1, 7)), ((0, 2, 7), signal.SIGINT, (2, 9))],
)
def test_all_stop_together_and_go_on_as_if_they_had_not(
    moment: tuple[int, int, int],
    number: signal.Signals,
    stopped_at: tuple[int, int],
    start: Start,
    data: Path,
    two: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    before = AT_A_STEP.format(moment=moment, signal=int(number))
    codes, printed, complaints = start(2, "train", data, *flags(out=run), before=before)
    told = f"stopped in epoch {stopped_at[0] + 1}; go on with: targcn train --resume {run}"
    assert (codes, printed) == ([130, 130], ["", ""])
    assert complaints == [f"targcn: {told}\n", ""]
    _, position = saved_state(run)
    assert (position["epoch"], position["step"]) == stopped_at
    assert start(2, "train", "--resume", run, "--device=cpu", "--gaps=none")[0] == [0, 0]
    assert same_weights(load_run(run), load_run(two))
    assert same_state(run, two)
    assert trace_of(run) == trace_of(two)


def test_it_is_saved_together_in_the_middle_of_an_epoch(
    start: Start, data: Path, two: Path, tmp_path: Path
) -> None:
    """Only one clock says that it is time, and only one process is killed."""
    run = tmp_path / "run"
    before = "training.STEPS_BETWEEN_AGREEMENTS = 2\n"
    before += "training.SECONDS_BETWEEN_SAVES = 60.0 - 60.0 * rank\n"
    killed = AT_A_STEP.format(moment=(1, 1, 7), signal=int(signal.SIGKILL))
    codes, _, _ = start(2, "train", data, *flags(out=run), before=before + killed)
    assert codes[0] != 0
    assert codes[1] == -signal.SIGKILL
    _, position = saved_state(run)
    # Steps 10, 12, 14 and 16 in all were agreed upon; the ninth ended the first epoch.
    assert (position["epoch"], position["step"]) == (1, 7)
    assert start(2, "train", "--resume", run, "--device=cpu", "--gaps=none")[0] == [0, 0]
    assert same_weights(load_run(run), load_run(two))
    assert trace_of(run) == trace_of(two)


def test_restarted_processes_go_on_with_their_own_training_alone(
    start: Start, data: Path, two: Path, tmp_path: Path
) -> None:
    before = "os.environ['TORCHELASTIC_RESTART_COUNT'] = '1'"
    kept = trace_of(two)
    codes, printed, _ = start(2, "train", data, *flags(out=two), before=before)
    assert codes == [0, 0]
    assert "90 queries, valid split" in printed[0]
    for given in (flags(out=two, seed=1), flags(out=two, dropout=0.2)):
        codes, _, complaints = start(2, "train", data, *given, before=before)
        assert codes == [2, 2]
        assert complaints == [f"targcn: {two} already exists; {OTHER_OUT}\n", ""]
    assert trace_of(two) == kept
    codes, _, _ = start(2, "train", data, *flags(out=tmp_path / "new", epochs=1), before=before)
    assert codes == [0, 0]


# --- what goes wrong ------------------------------------------------------------------------

OTHER_OUT = "choose another name or remove it first"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_size": 63}, "batch_size is 63, which 2 processes cannot share equally"),
        ({"out": None}, "several processes were started without --out"),
        ({"epochs": 0}, "epochs is 0; at least 1 was expected"),
        ({"dimm": 3}, "--dimm is no option of targcn; did you mean --dim?"),
        ({"device": "nonsense"}, "device 'nonsense' is not to be had here"),
        ({"out": "."}, f". already exists; {OTHER_OUT}"),
    ],
)
def test_bad_input_is_one_sentence_of_the_first(
    options: dict[str, Any], sentence: str, start: Start, data: Path, tmp_path: Path
) -> None:
    given = flags(**({"out": tmp_path / "run"} | options))
    codes, printed, complaints = start(2, "train", data, *given)
    assert (codes, printed, complaints[1]) == ([2, 2], ["", ""], "")
    assert complaints[0].startswith(f"targcn: {sentence}")
    assert complaints[0].count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rank", "what"),
    [
        (0, "fitting.save_run"),
        (0, "training.save_position"),
        (0, "training.write_result"),
        (1, "evaluation.rank_targets"),
        (1, "fitting.load_run"),
    ],
)
def test_what_one_cannot_do_ends_all(
    rank: int, what: str, start: Start, data: Path, two: Path, tmp_path: Path
) -> None:
    command = ["train", data, *flags(out=tmp_path / "run")]
    if what == "fitting.load_run":
        command = ["train", "--resume", two, "--device=cpu"]
    codes, _, complaints = start(2, *command, before=FAILING.format(rank, what))
    assert codes == [2, 2], complaints
    assert complaints == ["targcn: no space left\n", ""]


# --- torchrun -------------------------------------------------------------------------------

KILLED_ONCE = """
import os
from targcn import cli
from targcn.training import loop as training
rank = int(os.environ["RANK"])
"""
KILLED_ONCE += AT_A_STEP.format(moment=(0, 2, 4), signal=int(signal.SIGKILL))
KILLED_ONCE += """
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "1":
    training.learning_rate = rate_of
cli.program()
"""


def test_torchrun_restarts_a_killed_training(data: Path, two: Path, tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED_ONCE)
    run = tmp_path / "run"
    with torchrun("--max-restarts=1", tmp_path / "killed.py", "train", data, *flags(out=run)) as it:
        printed, complaints = it.communicate()
    assert it.returncode == 0, complaints
    assert printed.count("90 queries, valid split") == 1
    assert same_weights(load_run(run), load_run(two))
    assert trace_of(run) == trace_of(two)


def test_ctrl_c_on_torchrun_says_once_how_to_go_on(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with torchrun("-m", "targcn", "train", data, *flags(out=run, epochs=10_000)) as it:
        while not (run / "state.safetensors").exists():
            assert it.poll() is None, it.communicate()
            time.sleep(0.01)
        it.send_signal(signal.SIGINT)
        printed, complaints = it.communicate()
    assert it.returncode != 0
    assert printed == ""
    assert complaints.count(f"go on with: targcn train --resume {run}") == 1
    assert "destroy_process_group" not in complaints
    _, position = saved_state(run)
    assert position["step"] > 0
    assert load_run(run).recipe.training.epochs == 10_000
