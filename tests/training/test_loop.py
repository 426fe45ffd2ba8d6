"""The loop: it learns, the same for the same seed, and nothing is lost when it is stopped."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import World
from small_training import (
    DATA,
    FACTS,
    SMALL,
    TWO_AT_A_TIME,
    needs_a_compiler,
    same_weights,
    saved_state,
    stop_at,
    trace_of,
    train,
)
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.report import Report
from targcn.files import sole_writer
from targcn.inference.predictor import Predictor
from targcn.models.targcn import TARGCN
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import load_run
from targcn.training import loop, progress
from targcn.training.fit import fit, resume
from targcn.training.loop import Trainer
from targcn.training.progress import TrainingProgress
from targcn.training.signals import TrainingStopped

# --- learning -------------------------------------------------------------------------------


def test_the_loss_falls_and_the_answers_are_found(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=20, validate_every=5, learning_rate=0.03)
    losses = [line["loss"] for line in trace_of(tmp_path / "run") if "loss" in line]
    assert len(losses) == 20
    assert losses[-1] < 0.5 * losses[0]
    # Chance is about .13 among 30 entities.
    assert evaluate(run, device="cpu").metrics["time-aware"]["both"]["mrr"] > 0.9


def test_a_run_of_the_past_is_validated_and_evaluated_in_it(tmp_path: Path) -> None:
    run = train(tmp_path / "run", past_only=True)
    assert not same_weights(run, train())
    assert run.validation == evaluate(run, split="valid", context="past", device="cpu")
    contexts = {line["context"] for line in trace_of(tmp_path / "run") if "valid" in line}
    assert contexts == {"past"}
    kept = load_run(tmp_path / "run")
    assert evaluate(kept, device="cpu").setting.context == "past"
    assert Predictor(kept, device="cpu").context == "past"
    assert Predictor(kept, "train", "cpu").context == "train"
    assert evaluate(kept, context="train", device="cpu").setting.context == "train"


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


def script_validations(monkeypatch: pytest.MonkeyPatch, *mrrs: tuple[float, float]) -> None:
    """Let every validation find the next of these MRRs: under the time-aware and another filter."""
    left = iter(mrrs)

    def summarize(evaluator: Evaluator, ranks: object, name: str, leaks: object) -> Report:
        time_aware, other = next(left)
        mrrs = {which: time_aware if which == "time-aware" else other for which in FILTERS}
        metrics: Any = {
            which: {"both": {metric.key: mrr for metric in METRICS}} for which, mrr in mrrs.items()
        }
        return Report("world", name, evaluator.setting, 90, metrics, {}, {})

    monkeypatch.setattr(Evaluator, "summarize", summarize)


@pytest.mark.parametrize(("select_by", "best_epoch"), [("time-aware", 2), ("static", 3)])
def test_the_weights_of_the_best_validation_are_kept(
    select_by: str, best_epoch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train(epochs=best_epoch, schedule="constant", validate_every=best_epoch)
    script_validations(monkeypatch, (0.2, 0.1), (0.4, 0.2), (0.3, 0.5), (0.1, 0.4))
    options = {"schedule": "constant", "validate_every": 1, "select_by": select_by}
    run = train(tmp_path / "run", epochs=4, **options)
    assert same_weights(run, expected)
    assert same_weights(load_run(tmp_path / "run"), expected)
    assert run.trained is not None
    assert (run.trained.best_epoch, run.trained.epochs) == (best_epoch, 4)
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert kept["trained"]["best_epoch"] == best_epoch
    assert run.validation is not None
    assert kept["reports"][0]["metrics"] == run.validation.metrics
    best = {"time-aware": 0.4, "static": 0.5}[select_by]
    assert run.validation.metrics[select_by]["both"]["mrr"] == best  # type: ignore[index]


def test_the_schedule_spans_the_whole_training(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    monkeypatch.setattr(loop, "set_learning_rate", lambda optimizer, rate: rates.append(rate))
    train(epochs=4, schedule="cosine", learning_rate=0.2)
    assert rates == [0.1 * (1 + math.cos(math.pi * step / 36)) for step in range(36)]


def test_training_stops_when_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_validations(monkeypatch, (0.1, 0), (0.3, 0), (0.3, 0.5), (0.2, 0.5), (0.3, 0.9))
    train(tmp_path / "run", epochs=20, validate_every=2, patience=2)
    trained = json.loads((tmp_path / "run" / "metrics.json").read_text())["trained"]
    assert (trained["best_epoch"], trained["epochs"]) == (4, 8)
    assert same_weights(resume(tmp_path / "run", device="cpu"), load_run(tmp_path / "run"))
    assert trace_of(tmp_path / "run")[-1]["epoch"] == 8


def test_without_a_valid_split_the_last_weights_are_kept(tmp_path: Path) -> None:
    data = World(30, 3, FACTS, cuts=(315, 315)).dataset
    run = fit(data, "targcn", out=tmp_path / "run", **SMALL)
    state, _ = saved_state(tmp_path / "run")
    assert torch.equal(run.model.entities, state["model/entities"])


# --- stopping and going on ------------------------------------------------------------------


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
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", -1.0)
    folder = tmp_path / "run"
    expected = RuntimeError if with_signal is None else TrainingStopped
    with pytest.raises(expected):
        train(folder, progress=stop_at(moment, with_signal))
    if with_signal is not None:
        _, position = saved_state(folder)
        assert (position["epoch"], position["step"]) == (moment[0], moment[1] + 1)
    resumed = resume(folder, device="cpu")
    assert same_weights(resumed, whole[0])
    assert same_weights(load_run(folder), whole[0])
    assert trace_of(folder) == trace_of(whole[1])
    state, whole_state = saved_state(folder)[0], saved_state(whole[1])[0]
    assert all(torch.equal(state[name], whole_state[name]) for name in whole_state)


def test_a_run_that_is_being_trained_cannot_be_gone_on_with(
    whole: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes would write over each other's state and clear each other's drafts away."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", -1.0)
    folder = tmp_path / "run"
    asked = []

    def ask_too(now: TrainingProgress) -> None:
        if now.step == 5:
            asked.append(now.epoch)
            with pytest.raises(
                InputError, match=re.escape(f"another process is writing into {folder};")
            ):
                resume(folder, device="cpu")
            if asked == [0, 1]:
                raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        train(folder, progress=ask_too)
    # Begun anew, since nothing was saved yet.
    assert same_weights(resume(folder, device="cpu", progress=ask_too), whole[0])
    assert asked == [0, 1, 0, 1, 2, 3]


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
        assert resumed.validation == whole[0].validation
        assert {path: path.read_bytes() for path in before} == before
        (folder / "state.safetensors").unlink(missing_ok=not state)


def test_a_run_killed_before_it_was_first_saved_begins_again(
    whole: tuple[Run, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best weights so far are there by then, and are not to begin with."""

    def die(*arguments: Any) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(loop, "save_position", die)
    with pytest.raises(RuntimeError, match="killed"):
        train(tmp_path / "run")
    monkeypatch.undo()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["trained"]["epochs"] == 2
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole[0])
    assert trace_of(tmp_path / "run") == trace_of(whole[1])


def test_a_signal_during_the_last_validation_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(epochs=2)
    found, validations = Evaluator.ranks, []

    def validate(evaluator: Evaluator, *arguments: Any) -> Any:
        validations.append(evaluator.setting.split)
        if len(validations) == 1:
            signal.raise_signal(signal.SIGINT)
        return found(evaluator, *arguments)

    monkeypatch.setattr(Evaluator, "ranks", validate)
    with pytest.raises(TrainingStopped, match="after its last epoch"):
        train(tmp_path / "run", epochs=2, validate_every=2)
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole)


# --- processes ------------------------------------------------------------------------------


# One process imports torch and forks the trainings that are killed: each kills itself when it has
# asked the disk so many times to keep what was written, so the kills fall between all its writes.
KILLING = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import targcn.models.targcn, safetensors.torch, torch._dynamo
from targcn.training import fit as fitting, loop as training
from targcn.runs.store import load_run
from small_training import DATA, SMALL, saved_state

training.SECONDS_BETWEEN_SAVES = 0.0
folder, settings = Path(sys.argv[1]), SMALL | {"epochs": 4}
fsync = os.fsync

def train(num_writes):
    def counted(descriptor):
        nonlocal num_writes
        fsync(descriptor)
        num_writes -= 1
        if num_writes == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    os.fsync = counted
    if folder.exists():
        fitting.resume(folder, device="cpu")
    else:
        fitting.fit(DATA, "targcn", out=folder, **settings)

def check():
    load_run(folder)
    if (folder / "state.safetensors").exists():
        print("stands at", saved_state(folder)[1])

def status_of(job, *arguments):
    number = os.fork()
    if number == 0:
        code = 1
        try:
            job(*arguments)
            code = 0
        except BaseException as error:
            print("failed:", repr(error))
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

for num_writes in (3, 9, 10, 11, 12, 13, 24):
    assert status_of(train, num_writes) == -signal.SIGKILL
    assert not folder.exists() or status_of(check) == 0
assert status_of(train, 0) == 0
# What no kill disturbed, in a process like the others: same device, torch and number of threads.
undisturbed = Path(sys.argv[1] + "-undisturbed")
assert status_of(lambda: fitting.fit(DATA, "targcn", out=undisturbed, **settings)) == 0
"""


@pytest.mark.slow
def test_a_killed_run_always_loads_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(folder), str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout
    assert "stands at {'epoch'" in done.stdout, "no kill came during the training"
    assert same_weights(load_run(folder), load_run(tmp_path / "run-undisturbed"))


WITHOUT_VALID = World(30, 3, FACTS, cuts=(300, 300)).dataset


@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize("rate", [1e9, 1e30])
def test_a_training_that_diverges_says_so_and_keeps_its_last_good_weights(
    tmp_path: Path, rate: float, valid: bool
) -> None:
    folder = tmp_path / "run"
    how = SMALL | {"learning_rate": rate, "validate_every": 1, "schedule": "constant"}
    with pytest.raises(InputError) as caught:
        fit(DATA if valid else WITHOUT_VALID, "tntcomplex", out=folder, **_without(how))
    sentence = str(caught.value)
    assert re.match(r"training diverged by epoch \d: its (loss|weights) ", sentence)
    assert "are kept in" in sentence
    assert "train again with a lower learning rate" in sentence
    for path in folder.glob("*.json*"):
        assert not re.search("Infinity|NaN", path.read_text())
    assert not load_run(folder).trained.finished
    with pytest.raises(InputError, match="training diverged"):
        resume(folder, device="cpu")


def _without(how: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in how.items() if name not in ("neighbors", "dropout")}


def test_the_best_weights_stay_when_later_ones_diverge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    rates = iter([0.01] * 9 + [1e30] * 99)
    monkeypatch.setattr("targcn.training.loop.learning_rate", lambda *_: next(rates))
    with pytest.raises(InputError, match=r"the weights of epoch 1 are kept in .*weights"):
        fit(DATA, "distmult", out=folder, **_without(SMALL | {"validate_every": 1}))
    monkeypatch.undo()
    good = fit(DATA, "distmult", **_without(SMALL | {"epochs": 1, "schedule": "constant"}))
    assert same_weights(load_run(folder), good)


# --- steps ----------------------------------------------------------------------------------


@pytest.mark.slow
@needs_a_compiler
@pytest.mark.parametrize(("name", "more"), [("boxte", {}), ("tntcomplex", {"filtered_loss": True})])
def test_compiled_steps_are_the_same_steps(name: str, more: dict[str, Any]) -> None:
    options = {"dim": 4, "epochs": 1, "batch_size": 270, "device": "cpu"} | more
    plain = fit(TWO_AT_A_TIME.dataset, name, **options)
    compiled = fit(TWO_AT_A_TIME.dataset, name, compile=True, **options)
    for name, weights in plain.model.state_dict().items():
        # Adagrad divides a gradient by its own size: of a tiny one, rounding becomes visible.
        found = compiled.model.state_dict()[name]
        torch.testing.assert_close(found, weights, rtol=1e-3, atol=1e-4)
    assert compiled.validation == plain.validation


def test_gradients_are_clipped_before_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    norms: list[float] = []
    step = torch.optim.Adam.step

    def recorded(self: torch.optim.Adam, *given: Any) -> Any:
        weights = [weight for group in self.param_groups for weight in group["params"]]
        norms.append(float(torch.cat([weight.grad.flatten() for weight in weights]).norm()))
        return step(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    free = train(epochs=1)
    assert min(norms) > 1e-3
    norms.clear()
    clipped = train(epochs=1, clip=1e-3)
    assert norms == pytest.approx([1e-3] * len(norms), rel=1e-2)
    assert not same_weights(free, clipped)
    # Adam alone would take the same steps whatever the norm of all gradients.
    assert same_weights(train(epochs=1, clip=1e6), free)


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


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("rows", [64, 61, 3])
def test_parts_have_the_gradient_of_the_whole(rows: int, filtered: bool) -> None:
    found = []
    for parts in (1, 2, 4):
        options = SMALL | {"epochs": 1, "dropout": 0.5, "filtered_loss": filtered}
        run = fit(TWO_AT_A_TIME.dataset, "targcn", **options)
        trainer = Trainer(run, None, torch.device("cpu"))
        trainer.model.train()
        trainer.num_parts = parts
        batch = next(trainer.batches.of_epoch(3))[:rows]
        loss = trainer.take_step(batch)
        found.append([loss, *(weight.grad for weight in trainer.model.parameters())])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_an_update_that_ran_out_of_memory_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then some weights may have changed: a second try would count the gradients twice."""
    updates: list[int] = []
    step = torch.optim.Adam.step

    def fail(optimizer: torch.optim.Adam, closure: Any = None) -> Any:
        updates.append(1)
        step(optimizer, closure)
        raise torch.OutOfMemoryError("no more")

    monkeypatch.setattr(torch.optim.Adam, "step", fail)
    with pytest.raises(torch.OutOfMemoryError):
        train(epochs=1)
    assert len(updates) == 1


def test_steps_have_their_precision_and_everything_else_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loss, inside = TARGCN.loss, set()

    def note_precision(self: TARGCN, *arguments: Any) -> Any:
        inside.add(torch.get_float32_matmul_precision())
        return loss(self, *arguments)

    monkeypatch.setattr(TARGCN, "loss", note_precision)
    before = torch.get_float32_matmul_precision()
    for precision in ("high", "highest"):
        inside.clear()
        train(epochs=1, matmul_precision=precision)
        assert inside == {precision}
        assert torch.get_float32_matmul_precision() == before
