"""One trial of a search: a training that is followed, and stopped if it is bad or too slow."""

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import torch
from optuna import Trial

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

# The part of a trial's time that its steps may take; validations take the rest.
FOR_STEPS: Final = 0.8
# Speed is known after this part of a trial's time, but not sooner or later than these seconds.
TO_SEE: Final = 0.05
SECONDS_TO_SEE: Final = (2.0, 30.0)
# Validations of a training that was shortened.
NUM_VALIDATIONS: Final = 3


class StoppedError(Exception):
    """A trial was stopped early: why, and how many epochs there would be time for."""

    def __init__(self, message: str, epochs: int = 0) -> None:
        super().__init__(message)
        self.epochs = epochs


@dataclass(eq=False)
class Follower:
    """Hears of a training's progress; tells the study its validations, and raises to stop it."""

    trial: Trial
    which: Filter
    # How long the trial may take.
    seconds: float
    # A model's own recipe is shortened if it is slow, and not compared with others half-way.
    is_start: bool
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    speed_is_known: bool = False
    # When the training was first seen, and how many steps it had taken.
    first: tuple[float, int] | None = None
    percent: int = 0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __call__(self, progress: TrainingProgress) -> None:
        self.say(describe_progress(progress, self.which))
        self.require_time(f"epoch {min(progress.epoch + 1, progress.num_epochs)}")
        if not self.speed_is_known:
            self._judge_speed(progress)
        percent = 100 * progress.epoch // progress.num_epochs
        if progress.validation is None or percent <= self.percent:
            return
        self.percent = percent
        mrr = progress.validation.metrics[self.which]["both"]["mrr"]
        self.trial.report(mrr, percent)
        # Always asked, since that also makes this trial one that others are compared with.
        if self.trial.should_prune() and not self.is_start:
            done = f"{progress.epoch} of {progress.num_epochs} epochs"
            raise StoppedError(f"MRR {mrr:.3f} after {done}, where one in {ONE_IN} goes on")

    def require_time(self, place: str) -> None:
        if self.clock() - self.began > self.seconds:
            raise StoppedError(f"its {in_words(self.seconds)} were over in {place}")

    def _judge_speed(self, progress: TrainingProgress) -> None:
        """Once some steps are done, see whether all of them have time enough."""
        now, taken = self.clock(), progress.steps_taken
        if self.first is None:
            self.first = now, taken
        since, before = self.first
        least, most = SECONDS_TO_SEE
        if taken == before or now - since < max(least, min(self.seconds * TO_SEE, most)):
            return
        self.speed_is_known = True
        epoch_seconds = (now - since) / (taken - before) * progress.num_steps
        left = (self.seconds - (now - self.began)) * FOR_STEPS
        if epoch_seconds * (progress.num_epochs - taken / progress.num_steps) > left:
            whole = in_words(epoch_seconds * progress.num_epochs)
            sentence = f"would take about {whole}; it had {in_words(self.seconds)}"
            raise StoppedError(sentence, epochs=int(left / epoch_seconds))


def try_recipe(
    recipe: Recipe, evaluator: Evaluator, follow: Follower, seed: int
) -> tuple[Run, Report, str]:
    """Train by a recipe, with fewer epochs if there is not time enough; a run, its report, a note.

    StoppedError says why there is none.
    """
    device, dataset, note = evaluator.device, evaluator.dataset, ""
    if device.type == "cuda":
        # The recorded step of the trial before is in a reference cycle and holds GPU memory.
        gc.collect()
    options: dict[str, Any] = {"seed": seed, "device": device, "progress": follow}
    try:
        try:
            run = fit(dataset, recipe=recipe, **options)
        except StoppedError as stopped:
            if not follow.is_start or stopped.epochs < 1:
                raise
            epochs, every = stopped.epochs, recipe.training.validate_every
            note = f"{epochs} of {recipe.training.epochs} epochs: {stopped}"
            every = min(math.ceil(epochs / NUM_VALIDATIONS), every)
            shortened = change(recipe, {"epochs": epochs, "validate_every": every})
            run = fit(dataset, recipe=shortened, **options)
        if issubclass(find_model(recipe.model), Learner):
            assert run.validation is not None
            return run, run.validation, note

        def watch(done: int, total: int) -> None:
            follow.require_time(f"query {done:,} of {total:,}")

        return run, evaluator.evaluate(run.model, recipe.model, watch), note
    except InputError as error:
        raise StoppedError(str(error)) from None
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise StoppedError("it needs more memory than there is") from None


def in_words(seconds: float) -> str:
    """A time for people.

    >>> in_words(42.4), in_words(200)
    ('42 s', '0:03:20')
    """
    return f"{seconds:.0f} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
