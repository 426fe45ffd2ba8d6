"""The loop: it learns, the same for the same seed, and nothing is lost when it is stopped."""

import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World
from targcn import training
from targcn.checkpoint import Run, load_run, read_state
from targcn.cli import main
from targcn.errors import InputError
from targcn.evaluation import Judge, evaluate
from targcn.files import sole_writer
from targcn.fitting import fit, resume
from targcn.models.targcn import TARGCN
from targcn.training import Sign, Trainer, Training, TrainingStopped

# Who somebody meets under a relation never changes, and each day shows a third of it.
FACTS = [
    (s, (s + t) % 3, (s + 7 * ((s + t) % 3 + 1)) % 30, t) for t in range(12) for s in range(30)
]
DATA = World(30, 3, FACTS, cuts=(270, 315)).dataset
# 540 queries in 9 steps an epoch, the last of them smaller.
SMALL: dict[str, Any] = {
    "size": 16,
    "neighbors": 8,
    "dropout": 0.1,
    "epochs": 4,
    "batch_size": 64,
    "learning_rate": 0.01,
    "validate_every": 2,
    "device": "cpu",
}


def train(out: Path | None = None, **options: Any) -> Run:
    return fit(DATA, out=out, **(SMALL | options))


def same_weights(one: Run, other: Run) -> bool:
    ours, theirs = one.model.state_dict(), other.model.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


def trace_of(folder: Path) -> list[dict[str, Any]]:
    """What was traced, without the times."""
    lines = (folder / "trace.jsonl").read_text().splitlines()
    timed = ("seconds", "queries_per_second")
    return [
        {name: value for name, value in json.loads(line).items() if name not in timed}
        for line in lines
    ]


def trainer_of(run: Run, **options: Any) -> Trainer:
    trainer = Trainer(run, Training(**options), None, torch.device("cpu"), None)
    trainer.model.train()
    return trainer


def needs_a_compiler(test: Any) -> Any:
    test = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler here")(test)
    # What torch and its compiler warn of among themselves is not ours.
    return pytest.mark.filterwarnings("default", "error:going on uncompiled")(test)


def take_the_compiler_away(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on nothing can be compiled; the list grows with every try."""
    import torch._dynamo

    tried: list[int] = []

    def compile(function: Any, **options: Any) -> Any:
        def call(*arguments: Any) -> Any:
            tried.append(1)
            raise torch._dynamo.exc.TorchDynamoException("no C compiler\nwas found")

        return call

    monkeypatch.setattr(torch, "compile", compile)
    return tried


# --- learning -------------------------------------------------------------------------------


@needs_a_compiler
def test_compiled_steps_are_the_same_steps() -> None:
    options = {"rank": 4, "epochs": 1, "batch_size": 270, "device": "cpu"}
    plain = fit(DATA, "boxte", **options)
    compiled = fit(DATA, "boxte", compile=True, **options)
    for name, weights in plain.model.state_dict().items():
        torch.testing.assert_close(compiled.model.state_dict()[name], weights)
    assert compiled.report.metrics == plain.report.metrics


def test_steps_that_cannot_be_compiled_say_so_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = take_the_compiler_away(monkeypatch)
    with pytest.warns(RuntimeWarning, match="going on uncompiled: no C compiler$"):
        run = train(compile=True)
    assert len(tried) == 1
    assert same_weights(run, train())


def test_the_smaller_last_batch_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = set()

    def compile(function: Any, **options: Any) -> Any:
        def call(queries: Any, answers: Any, drawn: Any) -> Any:
            sizes.add(len(answers))
            return function(queries, answers, drawn)

        return call

    monkeypatch.setattr(torch, "compile", compile)
    assert 2 * len(DATA.train) % 64
    train(compile=True, batch_size=64)
    assert sizes == {64}


def test_the_loss_falls_and_the_answers_are_found(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=20, validate_every=5, learning_rate=0.03)
    losses = [line["loss"] for line in trace_of(tmp_path / "run") if "loss" in line]
    assert len(losses) == 20
    assert losses[-1] < 0.5 * losses[0]
    # Chance is about .13 among 30 entities.
    assert evaluate(run, device="cpu").metrics["time-aware"]["both"]["mrr"] > 0.9


def test_a_seed_gives_the_same_run_and_another_a_different_one() -> None:
    one, again, other = train(seed=3), train(seed=3), train(seed=4)
    assert same_weights(one, again)
    assert not same_weights(one, other)


def test_nobody_elses_random_numbers_are_disturbed(tmp_path: Path) -> None:
    before = torch.get_rng_state()
    train(tmp_path / "run", epochs=1)
    load_run(tmp_path / "run")
    resume(tmp_path / "run", device="cpu")
    assert torch.equal(torch.get_rng_state(), before)


def test_every_query_is_asked_once_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    loss = TARGCN.loss

    def noting(self: TARGCN, queries: Any, answers: Any, *rest: Any) -> Any:
        columns = (queries.subjects, queries.relations, answers, queries.times)
        asked.extend(zip(*(column.tolist() for column in columns), strict=True))
        return loss(self, queries, answers, *rest)

    monkeypatch.setattr(TARGCN, "loss", noting)
    train(epochs=2)
    train_facts = FACTS[:270]
    both = [*train_facts, *((o, r + 3, s, t) for s, r, o, t in train_facts)]
    assert sorted(asked[:540]) == sorted(asked[540:]) == sorted(both)
    assert asked[:540] != asked[540:]


def test_the_rate_goes_down_along_half_a_cosine_or_stays() -> None:
    run = train(epochs=1)
    trainer = trainer_of(run, epochs=10, batch_size=54, learning_rate=0.2)
    rates = [trainer._learning_rate(step) for step in (0, 25, 50, 75, 100)]
    assert rates == pytest.approx([0.2, 0.1707, 0.1, 0.0293, 0], abs=1e-4)
    trainer = trainer_of(run, learning_rate=0.2, schedule="constant")
    assert {trainer._learning_rate(step) for step in (0, 7, 99)} == {0.2}


def test_the_weights_of_the_best_look_are_kept(tmp_path: Path) -> None:
    rough = {"learning_rate": 0.5, "schedule": "constant", "epochs": 4, "validate_every": 1}
    run = train(tmp_path / "run", patience=0, **rough)
    looks = [line for line in trace_of(tmp_path / "run") if "valid" in line]
    figures = [look["valid"]["time-aware"]["both"]["mrr"] for look in looks]
    assert len(figures) == 4
    assert max(figures) > figures[-1], "the last look was to be worse than the best"
    found = evaluate(run, split="valid", context="train", device="cpu")
    assert found.metrics["time-aware"]["both"]["mrr"] == max(figures)
    assert same_weights(load_run(tmp_path / "run"), run)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["trained"]["best_epoch"] == looks[figures.index(max(figures))]["epoch"]
    assert metrics["reports"][0]["metrics"] == json.loads(json.dumps(found.metrics))


def test_training_stops_when_patience_ends(tmp_path: Path) -> None:
    still = {"learning_rate": 1e-12, "epochs": 20, "validate_every": 2, "patience": 2}
    train(tmp_path / "run", **still)
    trained = json.loads((tmp_path / "run" / "metrics.json").read_text())["trained"]
    assert (trained["best_epoch"], trained["epochs"]) == (2, 6)
    assert same_weights(resume(tmp_path / "run", device="cpu"), load_run(tmp_path / "run"))
    assert trace_of(tmp_path / "run")[-1]["epoch"] == 6


def test_the_trace_has_a_line_per_epoch_and_per_look(tmp_path: Path) -> None:
    train(tmp_path / "run")
    text = (tmp_path / "run" / "trace.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert text.endswith("\n")
    assert [(line["epoch"], "valid" in line) for line in lines] == [
        (1, False), (2, False), (2, True), (3, False), (4, False), (4, True),
    ]  # fmt: skip
    for line in lines:
        if "valid" in line:
            assert line["context"] == "train"
            assert list(line["valid"]) == ["raw", "static", "time-aware"]
        else:
            assert line.keys() == {"epoch", "loss", "seconds", "queries_per_second"}


def test_the_watch_is_told_how_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow the machine, nothing is said but at the end of an epoch or a look.
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SIGNS", float("inf"))
    signs: list[Sign] = []
    train(watch=signs.append)
    assert [sign.epoch for sign in signs] == [1, 2, 2, 3, 4, 4]
    assert {(sign.num_epochs, sign.num_steps) for sign in signs} == {(4, 9)}
    assert [sign.report is None for sign in signs] == [True, True, False, False, False, False]
    assert all(sign.queries_per_second > 0 for sign in signs)
    assert signs[0].seconds_left > signs[-1].seconds_left == 0


def test_without_a_valid_split_the_last_weights_are_kept(tmp_path: Path) -> None:
    data = World(30, 3, FACTS, cuts=(315, 315)).dataset
    run = fit(data, out=tmp_path / "run", **SMALL)
    state, _ = read_state(tmp_path / "run")
    assert torch.equal(run.model.entities, state["model/entities"])


# --- stopping and going on ------------------------------------------------------------------


def stop_at(moment: tuple[int, int], with_signal: signal.Signals | None) -> training.Watch:
    """A watch that sends the signal, or breaks down, after this step of this epoch."""
    done = threading.Event()

    def watch(sign: Sign) -> None:
        if (sign.epoch, sign.step) >= moment and not done.is_set():
            done.set()
            if with_signal is None:
                raise RuntimeError("power cut")
            signal.raise_signal(with_signal)

    return watch


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    return train(folder), folder


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM, None])
@pytest.mark.parametrize("moment", [(0, 1), (1, 4), (2, 0), (2, 8), (3, 7)])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(
    moment: tuple[int, int],
    with_signal: signal.Signals | None,
    whole: tuple[Run, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SIGNS", -1.0)
    folder = tmp_path / "run"
    expected = RuntimeError if with_signal is None else TrainingStopped
    with pytest.raises(expected):
        train(folder, watch=stop_at(moment, with_signal))
    if with_signal is not None:
        _, position = read_state(folder)
        assert (position["epoch"], position["step"]) == (moment[0], moment[1] + 1)
    resumed = resume(folder, device="cpu")
    assert same_weights(resumed, whole[0])
    assert same_weights(load_run(folder), whole[0])
    assert trace_of(folder) == trace_of(whole[1])
    state, whole_state = read_state(folder)[0], read_state(whole[1])[0]
    assert all(torch.equal(state[name], whole_state[name]) for name in whole_state)


def test_a_run_that_is_being_trained_cannot_be_gone_on_with(
    whole: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes would write over each other's state and clear each other's drafts away."""
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SIGNS", -1.0)
    folder = tmp_path / "run"
    asked = []

    def ask_too(sign: Sign) -> None:
        if sign.step == 5:
            asked.append(sign.epoch)
            with pytest.raises(
                InputError, match=re.escape(f"another process is writing into {folder};")
            ):
                resume(folder, device="cpu")
            if asked == [0, 1]:
                raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        train(folder, watch=ask_too)
    # Begun anew, since nothing was saved yet.
    assert same_weights(resume(folder, device="cpu", watch=ask_too), whole[0])
    assert asked == [0, 1, 0, 1, 2, 3]


def test_where_nothing_can_be_locked_training_goes_its_way(
    whole: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert same_weights(train(tmp_path / "run"), whole[0])
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole[0])


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_run_stopped_again_and_again_ends_the_same(
    optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SIGNS", -1.0)
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SAVES", -1.0)
    plain = train(optimizer=optimizer)
    folder = tmp_path / "run"
    with pytest.raises(RuntimeError):
        train(folder, optimizer=optimizer, watch=stop_at((0, 3), None))
    for moment in ((0, 6), (1, 1), (2, 2), (3, 8)):
        with pytest.raises(TrainingStopped):
            resume(folder, device="cpu", watch=stop_at(moment, signal.SIGINT))
    assert same_weights(resume(folder, device="cpu"), plain)


def test_a_finished_run_resumed_stays_as_it_is(whole: tuple[Run, Path], tmp_path: Path) -> None:
    """Its times are those of its training, on the device of its training."""
    folder = shutil.copytree(whole[1], tmp_path / "run")
    # A state is large; one who needs the place may remove it.
    for state in (True, False):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        # There is nothing to write, so nobody is in the way.
        with sole_writer(folder):
            resumed = resume(folder, device="cpu")
        assert same_weights(resumed, whole[0])
        assert resumed.report.metrics == whole[0].report.metrics
        assert {path: path.read_bytes() for path in before} == before
        (folder / "state.safetensors").unlink(missing_ok=not state)


def test_a_run_killed_before_it_was_first_saved_begins_again(
    whole: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best weights so far are there by then, and are not to begin with."""

    def die(*arguments: Any) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(training, "write_state", die)
    with pytest.raises(RuntimeError, match="killed"):
        train(tmp_path / "run")
    monkeypatch.undo()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["trained"]["epochs"] == 2
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole[0])
    assert trace_of(tmp_path / "run") == trace_of(whole[1])


def test_an_epoch_in_two_sittings_is_timed_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_SIGNS", -1.0)
    with pytest.raises(TrainingStopped):
        train(tmp_path / "run", epochs=1, watch=stop_at((0, 7), signal.SIGINT))
    _, position = read_state(tmp_path / "run")
    resume(tmp_path / "run", device="cpu")
    [epoch, _] = map(json.loads, (tmp_path / "run" / "trace.jsonl").read_text().splitlines())
    assert epoch["seconds"] > position["epoch_seconds"] > 0
    assert epoch["queries_per_second"] == pytest.approx(540 / epoch["seconds"])


def test_what_is_no_line_of_the_trace_is_forgotten(whole: tuple[Run, Path], tmp_path: Path) -> None:
    with pytest.raises(TrainingStopped):
        train(tmp_path / "run", watch=stop_at((1, 0), signal.SIGINT))
    with (tmp_path / "run" / "trace.jsonl").open("a") as stream:
        stream.write('garbage\n[]\n{"epoch": 1, "los')
    resume(tmp_path / "run", device="cpu")
    assert trace_of(tmp_path / "run") == trace_of(whole[1])


def test_signals_are_given_back_after_training() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    train(epochs=1)
    with pytest.raises(RuntimeError):
        train(epochs=1, watch=stop_at((0, 0), None))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_thread_can_train_too(whole: tuple[Run, Path]) -> None:
    made: list[Run] = []
    thread = threading.Thread(target=lambda: made.append(train()))
    thread.start()
    thread.join()
    assert same_weights(made[0], whole[0])


def test_a_second_signal_stops_at_once() -> None:
    def watch(sign: Sign) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        train(watch=watch)
    assert stopped.type is KeyboardInterrupt


# --- out of memory --------------------------------------------------------------------------


def limit_rows(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    loss = TARGCN.loss

    def limited(self: TARGCN, queries: Any, *rest: Any) -> Any:
        if len(queries) > most:
            raise torch.OutOfMemoryError("no more")
        return loss(self, queries, *rest)

    monkeypatch.setattr(TARGCN, "loss", limited)


def test_out_of_memory_a_step_is_taken_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_rows(monkeypatch, most=20)
    train(tmp_path / "run")
    said = [line for line in trace_of(tmp_path / "run") if "out_of_memory" in line]
    assert said == [
        {"epoch": 0, "out_of_memory": True, "parts_per_step": 2},
        {"epoch": 0, "out_of_memory": True, "parts_per_step": 4},
    ]


@pytest.mark.parametrize("rows", [64, 61, 3])
def test_parts_have_the_gradient_of_the_whole(rows: int) -> None:
    found = []
    for parts in (1, 2, 4):
        trainer = trainer_of(train(epochs=1, dropout=0.5), batch_size=64)
        trainer.parts = parts
        loss = trainer._descend(next(trainer.batches.of_epoch(3))[:rows])
        found.append([loss, *(weight.grad for weight in trainer.model.parameters())])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_query_that_does_not_fit_alone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_rows(monkeypatch, most=0)
    with pytest.raises(torch.OutOfMemoryError):
        train()


def test_another_error_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(TARGCN, "loss", broken)
    with pytest.raises(RuntimeError, match="something else"):
        train()


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs is 0; at least 1"),
        ({"batch_size": 0}, "batch_size is 0; at least 1"),
        ({"validate_every": 0}, "validate_every is 0; at least 1"),
        ({"learning_rate": 0}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": "fast"}, "training.learning_rate is 'fast'; a number"),
        ({"optimizer": "sgd"}, "training.optimizer is 'sgd'; choose one of adam, adagrad"),
        ({"select_by": "best"}, "training.select_by is 'best'; choose one of"),
        ({"neigbors": 3}, "targcn.neigbors is unknown; did you mean 'neighbors'"),
        ({"decoder": "bique", "size": 20}, "16 or 24 would do"),
        ({"run": "papre"}, "has no run 'papre' for world"),
    ],
)
def test_bad_settings_leave_nothing_behind(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        train(tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []


def test_tables_too_large_for_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*arguments: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("targcn.fitting.create", too_large)
    with pytest.raises(InputError, match="targcn with these settings needs more memory"):
        train(tmp_path / "run")


def test_there_must_be_facts_to_learn_from(tmp_path: Path) -> None:
    for facts in (FACTS, []):
        data = World(30, 3, facts, cuts=(0, 0)).dataset
        with pytest.raises(InputError, match="no facts in its train split; nothing to learn"):
            fit(data, out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


def test_judging_a_stopped_run_says_that_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(TrainingStopped):
        train(folder, watch=stop_at((3, 0), signal.SIGINT))
    said = []
    for _ in range(2):
        with pytest.raises(SystemExit) as leaving:
            main(["evaluate", str(folder), "--device", "cpu"])
        assert leaving.value.code == 0
        said.append(capsys.readouterr().err)
        resume(folder, device="cpu")
    sentence = f"{folder} was stopped before its end; go on with: targcn train --resume {folder}"
    assert said == [f"targcn: {sentence}\n", ""]


def test_a_signal_during_the_last_look_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(epochs=2)
    report, looks = Judge.report, []

    def look(judge: Judge, run: Run) -> Any:
        looks.append(judge.split)
        if len(looks) == 1:
            signal.raise_signal(signal.SIGINT)
        return report(judge, run)

    monkeypatch.setattr(Judge, "report", look)
    with pytest.raises(TrainingStopped, match="after its last epoch"):
        train(tmp_path / "run", epochs=2, validate_every=2)
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole)


# --- processes ------------------------------------------------------------------------------


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    table = tmp_path / "facts.csv"
    rows = [f"e{s},r{r},e{o},2020-01-{t + 1:02d}" for s, r, o, t in FACTS]
    table.write_text("\n".join(["subject,relation,object,date", *rows]) + "\n")
    folder = tmp_path / "run"
    small = ["--size=16", "--neighbors=8", "--epochs=60", "--batch-size=64", "--validate-every=20"]
    command = [sys.executable, "-m", "targcn", "train"]
    process = subprocess.Popen(
        [*command, str(table), "--out", str(folder), "--device", "cpu", *small],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (folder / "trace.jsonl").exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    said = re.sub(r"\s+", " ", said)
    assert f"go on with: targcn train --resume {folder}" in said
    _, position = read_state(folder)
    assert 0 < position["epoch"] < 60
    done = subprocess.run(
        [*command, "--resume", str(folder), "--device", "cpu"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert [line["epoch"] for line in trace_of(folder) if "loss" in line] == list(range(1, 61))


# One process imports torch and forks the trainings that are killed: starting each would take
# longer than killing it.
KILLING = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import targcn.models.targcn, safetensors.torch, torch._dynamo
from targcn import fitting, training
from targcn.checkpoint import load_run, read_state
from test_training import DATA, SMALL

training.SECONDS_BETWEEN_SAVES = 0.0
folder, num_kills = Path(sys.argv[1]), int(sys.argv[2])

def train():
    if folder.exists():
        fitting.resume(folder, device="cpu")
    else:
        fitting.fit(DATA, out=folder, **(SMALL | {"epochs": 4 * num_kills}))

def check():
    if folder.exists():
        load_run(folder)
        print("stands at", read_state(folder)[1])

def child(job):
    number = os.fork()
    if number == 0:
        code = 1
        try:
            job()
            code = 0
        except BaseException as error:
            print("failed:", repr(error))
        finally:
            sys.stdout.flush()
            os._exit(code)
    return number

random.seed(0)
for _ in range(num_kills):
    number = child(train)
    time.sleep(random.uniform(0.05, 0.6))
    os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    assert os.waitpid(child(check), 0)[1] == 0
assert os.waitpid(child(train), 0)[1] == 0
"""


def test_a_killed_run_always_loads_and_goes_on(tmp_path: Path) -> None:
    num_kills = int(os.environ.get("TARGCN_KILLS", "6"))
    folder = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(folder), str(num_kills), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=60 + 5 * num_kills,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "stands at {'epoch'" in done.stdout, "no kill came during the training"
    assert same_weights(load_run(folder), train(epochs=4 * num_kills))
