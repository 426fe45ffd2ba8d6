"""What a training reports while it goes on."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from targcn.evaluation.report import Report

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is."""

    epoch: int
    num_epochs: int
    step: int
    num_steps: int
    # The mean loss of this epoch so far; None right after a validation.
    loss: float | None
    queries_per_second: float
    seconds_left: float
    # The latest validation.
    validation: Report | None


ProgressCallback = Callable[[TrainingProgress], None]


class ProgressReporter:
    """Calls back with the rate and the time left, but not more often than a reader can follow."""

    def __init__(
        self, callback: ProgressCallback | None, num_epochs: int, num_steps: int, num_queries: int
    ) -> None:
        self.callback, self.num_epochs, self.num_steps = callback, num_epochs, num_steps
        self.queries_per_step = num_queries / max(num_steps, 1)
        self.started = self.reported = time.monotonic()
        self.steps_taken = 0

    @property
    def is_due(self) -> bool:
        waited = time.monotonic() - self.reported
        return self.callback is not None and waited > SECONDS_BETWEEN_REPORTS

    def report(
        self, epoch: int, step: int, loss: float | None, validation: Report | None = None
    ) -> None:
        self.reported = time.monotonic()
        if self.callback is None:
            return
        rate = self.steps_taken / max(self.reported - self.started, 1e-9)
        steps_left = (self.num_epochs - epoch) * self.num_steps - step
        self.callback(
            TrainingProgress(
                epoch=epoch,
                num_epochs=self.num_epochs,
                step=step,
                num_steps=self.num_steps,
                loss=loss,
                queries_per_second=rate * self.queries_per_step,
                seconds_left=steps_left / max(rate, 1e-9),
                validation=validation,
            )
        )
