"""One trial of a search: a training that is followed, and stopped if it is bad or too slow."""

import gc
import math
import time
from collections.abc import Callable
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
# Speed is known after this part of a trial's time, but not sooner or later than these seconds.
TO_SEE: Final = 0.05
SECONDS_TO_SEE: Final = (2.0, 30.0)
# Validations of a training that was shortened.
NUM_VALIDATIONS: Final = 3


class StoppedError(Exception):
    """A trial was stopped early; the message says why."""


class TooSlowError(StoppedError):
    """A training would not end in its time, in which so many of its epochs would."""

    def __init__(self, message: str, epochs: int) -> None:
        super().__init__(message)
        self.epochs = epochs


class Follower:
    """Hears of a training's progress; tells the study its validations, and raises to stop it."""

    def __init__(
        self,
        trial: "Trial",
        which: Filter,
        seconds: float,
        is_start: bool,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.trial, self.which, self.say = trial, which, say
        # A model's own recipe is shortened if it is slow, and not compared with others half-way.
        self.is_start = is_start
        self.seconds, self.clock, self.began = seconds, clock, clock()
        # When the training was first seen, and how many steps it had taken.
        self.first: tuple[float, int] | None = None
        self.speed_is_known = False
        self.percent = 0

    def __call__(self, progress: TrainingProgress) -> None:
        self.say(describe_progress(progress, self.which))
        self.require_time(f"epoch {min(progress.epoch + 1, progress.num_epochs)}")
        if not self.speed_is_known:
            self._judge_speed(progress)
        percent = 100 * progress.epoch // progress.num_epochs
        if progress.validation is not None and percent > self.percent:
            self.percent = percent
            self._judge(progress.validation, progress)

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
            raise TooSlowError(
                f"would take about {whole}; it had {in_words(self.seconds)}",
                int(left / epoch_seconds),
            )

    def _judge(self, validation: Report, progress: TrainingProgress) -> None:
        mrr = validation.metrics[self.which]["both"]["mrr"]
        self.trial.report(mrr, self.percent)
        # Always asked, since that also makes this trial one that others are compared with.
        if self.trial.should_prune() and not self.is_start:
            done = f"{progress.epoch} of {progress.num_epochs} epochs"
            raise StoppedError(f"MRR {mrr:.3f} after {done}, where one in {ONE_IN} goes on")


def try_recipe(
    recipe: Recipe, evaluator: Evaluator, follow: Follower, seed: int
) -> tuple[Run, Report, str]:
    """Train by a recipe, with fewer epochs if there is not time enough; a run, its report, a note.

    StoppedError says why there is none.
    """
    device, dataset = evaluator.device, evaluator.dataset
    if device.type == "cuda":
        # The recorded step of the trial before is in a reference cycle and holds GPU memory.
        gc.collect()
    how: dict[str, Any] = {"seed": seed, "device": device}
    try:
        if not issubclass(find_model(recipe.model), Learner):
            run = fit(dataset, recipe=recipe, **how)

            def watch(done: int, total: int) -> None:
                follow.require_time(f"query {done:,} of {total:,}")

            return run, evaluator.evaluate(run.model, recipe.model, watch), ""
        note = ""
        try:
            run = fit(dataset, recipe=recipe, progress=follow, **how)
        except TooSlowError as slow:
            if not follow.is_start or slow.epochs < 1:
                raise
            note = f"{slow.epochs} of {recipe.training.epochs} epochs: {slow}"
            run = fit(dataset, recipe=_shortened(recipe, slow.epochs), progress=follow, **how)
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


def _shortened(recipe: Recipe, epochs: int) -> Recipe:
    every = min(math.ceil(epochs / NUM_VALIDATIONS), recipe.training.validate_every)
    return change(recipe, {"epochs": epochs, "validate_every": every})


def in_words(seconds: float) -> str:
    """A time for people.

    >>> in_words(42.4), in_words(200)
    ('42 s', '0:03:20')
    """
    return f"{seconds:.0f} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
