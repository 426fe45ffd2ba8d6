"""A trial is followed, and stopped if it is bad or too slow."""

from types import SimpleNamespace
from typing import Any

import optuna
import pytest
import torch
from optuna.pruners import SuccessiveHalvingPruner

from small_training import DATA
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Report, Setting
from targcn.recipes.recipe import Recipe, find_recipe
from targcn.search import trial as module
from targcn.search.study import FIRST_PERCENT, ONE_IN
from targcn.search.trial import (
    Follower,
    Limits,
    NoTimeLeftError,
    StoppedError,
    TooSlowError,
    try_recipe,
)
from targcn.training import progress
from targcn.training.progress import TrainingProgress


class Clock:
    """A clock that goes on only when it is told to, or by a step each time somebody looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=self.look))
        # Progress at the end of each epoch and validation alone, however slow the machine is.
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", float("inf"))

    def look(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def study() -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = SuccessiveHalvingPruner(FIRST_PERCENT, ONE_IN)
    return optuna.create_study(direction="maximize", pruner=pruner)


def report_of(mrr: float) -> Report:
    metrics: Any = {which: {"both": {"mrr": mrr}} for which in ("static", "time-aware")}
    return Report("world", "m", Setting("valid", "train"), 1, metrics, {}, {})


def progress_at(epoch: int, step: int = 0, mrr: float | None = None) -> TrainingProgress:
    validation = None if mrr is None else report_of(mrr)
    return TrainingProgress(epoch, 10, step, 100, None, 1.0, 1.0, validation)


def follower(study: optuna.Study, limits: Limits, said: list[str] | None = None) -> Follower:
    say = [].append if said is None else said.append
    return Follower(study.ask(), "static", limits, 0.0, say)


ENDLESS = Limits(float("inf"), is_start=False)
START = Limits(100.0, is_start=True)


def test_one_in_four_goes_on(study: optuna.Study) -> None:
    best = follower(study, ENDLESS)
    best(progress_at(1, mrr=0.5))
    with pytest.raises(StoppedError, match=r"MRR 0\.400 after 1 of 10 epochs, where one in 4 goes"):
        follower(study, ENDLESS)(progress_at(1, mrr=0.4))
    # The recipe of a model is spared, but others are compared with it.
    follower(study, Limits(float("inf"), is_start=True))(progress_at(1, mrr=0.1))
    follower(study, Limits(float("inf"), is_start=True))(progress_at(1, mrr=0.9))
    with pytest.raises(StoppedError):
        follower(study, ENDLESS)(progress_at(1, mrr=0.6))
    best(progress_at(2, mrr=0.1))
    with pytest.raises(StoppedError, match="after 4 of 10 epochs"):
        follower(study, ENDLESS)(progress_at(4, mrr=0.2))


def test_a_validation_is_told_once(study: optuna.Study) -> None:
    said: list[str] = []
    one = follower(study, ENDLESS, said)
    told = progress_at(1, mrr=0.5)
    one(told)
    one(told)
    assert study.trials[0].intermediate_values == {10: 0.5}
    assert said[0].endswith("valid static MRR 0.500")


def test_a_trial_ends_with_its_time(monkeypatch: pytest.MonkeyPatch, study: optuna.Study) -> None:
    clock = Clock(monkeypatch)
    one = follower(study, START)
    clock.now = 99
    one.speed_is_known = True
    one(progress_at(3))
    clock.now = 101
    with pytest.raises(StoppedError, match="its 0:01:40 were over in epoch 4 of 10"):
        one(progress_at(3))


@pytest.mark.parametrize(
    ("seconds_per_step", "epochs"), [(0.06, None), (0.2, 3), (0.4, 1), (1.0, 0)]
)
def test_speed_says_how_many_epochs_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch,
    study: optuna.Study,
    seconds_per_step: float,
    epochs: int | None,
) -> None:
    """10 epochs of 100 steps; 80 of each 100 s are for steps."""
    clock = Clock(monkeypatch)
    one = follower(study, START)
    # The first seconds, in which things are compiled, say nothing.
    clock.now = 5
    one(progress_at(0, 1))
    clock.now += 0.1
    one(progress_at(0, 2))
    # Six seconds of a hundred are enough.
    clock.now = 11
    step = 1 + round(6 / seconds_per_step)
    if epochs is None:
        one(progress_at(0, step))
        assert one.speed_is_known
        return
    with pytest.raises(TooSlowError) as slow:
        one(progress_at(0, step))
    assert slow.value.epochs == epochs
    assert slow.value.seconds == pytest.approx(1000 * seconds_per_step)


def tiny(**changes: Any) -> Recipe:
    return find_recipe("distmult", changes={"dim": 4, "batch_size": 54, "patience": 0, **changes})


def tried(study: optuna.Study, recipe: Recipe, limits: Limits) -> Any:
    evaluator = Evaluator(DATA, Setting("valid", "train"), torch.device("cpu"))
    return try_recipe(study.ask(), recipe, evaluator, limits, 0, "static", lambda line: None)


def test_a_slow_recipe_is_shortened(monkeypatch: pytest.MonkeyPatch, study: optuna.Study) -> None:
    Clock(monkeypatch, step=1.0)
    # Each look at the clock costs a second, and progress is reported at the end of each epoch.
    run, report, note = tried(study, tiny(epochs=40), Limits(30.0, is_start=True))
    assert run.recipe.training.epochs < 40
    assert run.trained.epochs == run.recipe.training.epochs
    assert run.recipe.training.validate_every <= 5
    assert report is run.validation
    assert note.startswith(f"{run.trained.epochs} of 40 epochs, which would take about ")


def test_what_cannot_end_in_time_is_stopped(
    monkeypatch: pytest.MonkeyPatch, study: optuna.Study
) -> None:
    Clock(monkeypatch, step=1.0)
    with pytest.raises(NoTimeLeftError, match=r"would take about .*; 30 s were left"):
        tried(study, tiny(epochs=400), Limits(30.0, is_start=False))
    with pytest.raises(StoppedError, match="one epoch would take about 1 s; it had 4 s"):
        tried(study, tiny(epochs=40), Limits(4.2, is_start=True))
    with pytest.raises(StoppedError, match=r"were over in query [\d,]+ of 90"):
        tried(study, find_recipe("seen"), Limits(0.5, is_start=True))


def test_what_a_model_refuses_is_said(monkeypatch: pytest.MonkeyPatch, study: optuna.Study) -> None:
    recipe = find_recipe("distmult", changes={"dim": 2**31 - 1})
    with pytest.raises(StoppedError, match=r"needs .*memory.*; smaller vectors would do"):
        tried(study, recipe, START)

    with pytest.raises(StoppedError, match="training diverged by epoch 1"):
        tried(study, tiny(learning_rate=1e30), START)

    def fail(*given: object, **named: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(module, "fit", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        tried(study, recipe, START)
