"""A trial is followed, and stopped if it is bad or too slow."""

from typing import Any

import optuna
import pytest
import torch
from optuna.pruners import SuccessiveHalvingPruner

from small_training import DATA
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Report, Setting
from targcn.recipes.recipe import Recipe, find_recipe
from targcn.search.study import FIRST_PERCENT, ONE_IN
from targcn.search.trial import Follower, StoppedError, try_recipe
from targcn.training import progress
from targcn.training.progress import TrainingProgress


class Clock:
    """A clock that goes on only when it is told to, or by a step each time somebody looks."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
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


def follower(
    study: optuna.Study, seconds: float, is_start: bool = False, clock: Clock | None = None
) -> Follower:
    return Follower(study.ask(), "static", seconds, is_start, lambda line: None, clock or Clock())


ENDLESS = float("inf")


def test_one_in_four_goes_on(study: optuna.Study) -> None:
    best = follower(study, ENDLESS)
    best(progress_at(1, mrr=0.5))
    with pytest.raises(StoppedError, match=r"MRR 0\.400 after 1 of 10 epochs, where one in 4 goes"):
        follower(study, ENDLESS)(progress_at(1, mrr=0.4))
    # The recipe of a model is spared, but others are compared with it.
    follower(study, ENDLESS, is_start=True)(progress_at(1, mrr=0.1))
    follower(study, ENDLESS, is_start=True)(progress_at(1, mrr=0.9))
    with pytest.raises(StoppedError):
        follower(study, ENDLESS)(progress_at(1, mrr=0.6))
    best(progress_at(2, mrr=0.1))
    with pytest.raises(StoppedError, match="after 4 of 10 epochs"):
        follower(study, ENDLESS)(progress_at(4, mrr=0.2))


def test_a_trial_ends_with_its_time(study: optuna.Study) -> None:
    clock = Clock()
    follow = follower(study, 100.0, True, clock)
    clock.now = 99
    follow.speed_is_known = True
    follow(progress_at(3))
    clock.now = 101
    with pytest.raises(StoppedError, match="its 0:01:40 were over in epoch 4"):
        follow(progress_at(3))


@pytest.mark.parametrize(
    ("seconds_per_step", "epochs"), [(0.06, None), (0.2, 3), (0.4, 1), (1.0, 0)]
)
def test_speed_says_how_many_epochs_there_is_time_for(
    study: optuna.Study, seconds_per_step: float, epochs: int | None
) -> None:
    """10 epochs of 100 steps; 80 of each 100 s are for steps."""
    clock = Clock()
    follow = follower(study, 100.0, True, clock)
    # The first seconds, in which things are compiled, say nothing.
    clock.now = 5
    follow(progress_at(0, 1))
    clock.now += 0.1
    follow(progress_at(0, 2))
    # Six seconds of a hundred are enough.
    clock.now = 11
    step = 1 + round(6 / seconds_per_step)
    if epochs is None:
        follow(progress_at(0, step))
        assert follow.speed_is_known
        return
    with pytest.raises(StoppedError, match="would take about") as slow:
        follow(progress_at(0, step))
    assert slow.value.epochs == epochs


def tiny(**changes: Any) -> Recipe:
    return find_recipe("distmult", changes={"dim": 4, "batch_size": 54, "patience": 0, **changes})


def tried(study: optuna.Study, recipe: Recipe, seconds: float = ENDLESS, **how: Any) -> Any:
    evaluator = Evaluator(DATA, Setting("valid", "train"), torch.device("cpu"))
    return try_recipe(recipe, evaluator, follower(study, seconds, **how), 0)


@pytest.fixture
def told_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress at the end of each epoch and validation alone, however slow the machine is."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", float("inf"))


@pytest.mark.usefixtures("told_each_epoch")
def test_a_slow_recipe_is_shortened(study: optuna.Study) -> None:
    """Each look at the clock costs a second."""
    run, report, note = tried(study, tiny(epochs=40), 30.0, is_start=True, clock=Clock(1.0))
    assert run.trained.epochs == run.recipe.training.epochs < 40
    assert run.recipe.training.validate_every <= 5
    assert report is run.validation
    assert note.startswith(f"{run.trained.epochs} of 40 epochs: would take about ")


@pytest.mark.usefixtures("told_each_epoch")
def test_what_cannot_end_in_time_is_stopped(study: optuna.Study) -> None:
    for recipe, seconds, is_start, sentence in (
        (tiny(epochs=400), 30.0, False, r"would take about .*; it had 30 s"),
        (tiny(epochs=40), 5.2, True, r"would take about .*; it had 5 s"),
        (find_recipe("seen"), 0.5, True, r"were over in query [\d,]+ of 90"),
    ):
        with pytest.raises(StoppedError, match=sentence):
            tried(study, recipe, seconds, is_start=is_start, clock=Clock(1.0))


def test_what_a_model_refuses_is_said(study: optuna.Study) -> None:
    recipe = find_recipe("distmult", changes={"dim": 2**31 - 1})
    with pytest.raises(StoppedError, match=r"needs .*memory.*; smaller vectors would do"):
        tried(study, recipe)
    with pytest.raises(StoppedError, match="training diverged by epoch 1"):
        tried(study, tiny(learning_rate=1e30))
