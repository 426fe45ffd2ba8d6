"""One trial of a search: a training that is followed, and stopped if it is bad or too slow."""

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch

from targcn.devices import is_out_of_memory
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import Filter
from targcn.evaluation.report import Report
from targcn.models.base import Learner
from targcn.models.registry import find_model
from targcn.recipes.recipe import Recipe, change
from targcn.runs.run import Run
from targcn.search.study import ONE_IN
from targcn.training.fit import fit
from targcn.training.progress import TrainingProgress, describe_progress

if TYPE_CHECKING:
    from optuna import Trial

# The part of a trial's time that its steps may take; validations take the rest.
FOR_STEPS: Final = 0.8
# Speed is known after so many seconds of steps, and after this part of a trial's time.
SECONDS_TO_SEE: Final = 2.0
TO_SEE: Final = 0.05
MOST_SECONDS_TO_SEE: Final = 30.0
# Validations of a training that was shortened.
NUM_VALIDATIONS: Final = 3


class TooSlowError(Exception):
    """A training would not end in its time."""

    def __init__(self, seconds: float, epoch_seconds: float, epochs: int) -> None:
        self.seconds, self.epoch_seconds, self.epochs = seconds, epoch_seconds, epochs


class StoppedError(Exception):
    """A trial was stopped early; the message says why."""


class NoTimeLeftError(StoppedError):
    """A trial would not end before the search does."""


@dataclass(frozen=True)
class Limits:
    """How long a trial may take, and how it is treated."""

    seconds: float
    # A model's own recipe is shortened if it is slow, and not compared with others half-way.
    is_start: bool


class Follower:
    """Hears of a training's progress; tells the study its validations, and raises to stop it."""

    def __init__(
        self,
        trial: "Trial",
        which: Filter,
        limits: Limits,
        began: float,
        say: Callable[[str], None],
    ) -> None:
        self.trial, self.which, self.limits, self.say = trial, which, limits, say
        # When the trial began, and how many steps were taken when its training was first seen.
        self.began = began
        self.first: tuple[float, int] | None = None
        self.speed_is_known = False
        self.validation: Report | None = None
        self.percent = 0

    def __call__(self, progress: TrainingProgress) -> None:
        self.say(describe_progress(progress, self.which))
        now = time.monotonic()
        place = f"epoch {min(progress.epoch + 1, progress.num_epochs)} of {progress.num_epochs}"
        self.watch_time(now, place)
        if not self.speed_is_known:
            self._judge_speed(progress, now)
        if progress.validation is not self.validation:
            self.validation = progress.validation
            self._judge_validation(progress)

    def watch_time(self, now: float, place: str) -> None:
        if now - self.began > self.limits.seconds:
            raise StoppedError(f"its {in_words(self.limits.seconds)} were over in {place}")

    def _judge_speed(self, progress: TrainingProgress, now: float) -> None:
        """Once some steps are done, see whether all of them have time enough."""
        taken = progress.epoch * progress.num_steps + progress.step
        if self.first is None:
            self.first = now, taken
        since, before = self.first
        enough = max(SECONDS_TO_SEE, min(self.limits.seconds * TO_SEE, MOST_SECONDS_TO_SEE))
        if taken == before or now - since < enough:
            return
        self.speed_is_known = True
        epoch_seconds = (now - since) / (taken - before) * progress.num_steps
        seconds = epoch_seconds * progress.num_epochs
        left = (self.limits.seconds - (now - self.began)) * FOR_STEPS
        remaining = epoch_seconds * (progress.num_epochs - taken / progress.num_steps)
        if remaining > left:
            raise TooSlowError(seconds, epoch_seconds, int(left / epoch_seconds))

    def _judge_validation(self, progress: TrainingProgress) -> None:
        percent = 100 * progress.epoch // progress.num_epochs
        if percent <= self.percent:
            return
        self.percent = percent
        assert self.validation is not None
        mrr = self.validation.metrics[self.which]["both"]["mrr"]
        self.trial.report(mrr, percent)
        # Always asked, since that also makes this trial one that others are compared with.
        if self.trial.should_prune() and not self.limits.is_start:
            done = f"{progress.epoch} of {progress.num_epochs} epochs"
            raise StoppedError(f"MRR {mrr:.3f} after {done}, where one in {ONE_IN} goes on")


def try_recipe(
    trial: "Trial",
    recipe: Recipe,
    evaluator: Evaluator,
    limits: Limits,
    seed: int,
    which: Filter,
    say: Callable[[str], None],
) -> tuple[Run, Report, str]:
    """Train by a recipe, with fewer epochs if there is not time enough; a run, its report, a note.

    StoppedError says why there is none.
    """
    device, dataset = evaluator.device, evaluator.dataset
    if device.type == "cuda":
        # The recorded step of the trial before is in a reference cycle and holds GPU memory.
        gc.collect()
    began = time.monotonic()
    follow = Follower(trial, which, limits, began, say)
    how: dict[str, Any] = {"seed": seed, "device": device}
    try:
        if not issubclass(find_model(recipe.model), Learner):
            run = fit(dataset, recipe=recipe, **how)

            def watch(done: int, total: int) -> None:
                follow.watch_time(time.monotonic(), f"query {done:,} of {total:,}")

            return run, evaluator.evaluate(run.model, recipe.model, watch), ""
        note = ""
        try:
            run = fit(dataset, recipe=recipe, progress=follow, **how)
        except TooSlowError as slow:
            recipe, note = _shorten(recipe, slow, limits)
            run = fit(dataset, recipe=recipe, progress=follow, **how)
        assert run.validation is not None
        return run, run.validation, note
    except InputError as error:
        raise StoppedError(str(error)) from None
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise StoppedError("it needs more memory than there is") from None


def _shorten(recipe: Recipe, slow: TooSlowError, limits: Limits) -> tuple[Recipe, str]:
    """The recipe with as many epochs as there is time for, and a note."""
    allowed, whole = in_words(limits.seconds), in_words(slow.seconds)
    if not limits.is_start:
        raise NoTimeLeftError(f"would take about {whole}; {allowed} were left")
    if slow.epochs < 1:
        raise StoppedError(
            f"one epoch would take about {in_words(slow.epoch_seconds)}; it had {allowed}"
        )
    epochs = recipe.training.epochs
    every = min(math.ceil(slow.epochs / NUM_VALIDATIONS), recipe.training.validate_every)
    return change(recipe, {"epochs": slow.epochs, "validate_every": every}), (
        f"{slow.epochs} of {epochs} epochs, which would take about {whole}; it had {allowed}"
    )


def in_words(seconds: float) -> str:
    """A time for people.

    >>> in_words(42.4), in_words(200)
    ('42 s', '0:03:20')
    """
    return f"{seconds:.0f} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
