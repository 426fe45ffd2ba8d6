"""What a training reports while it goes on."""

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from targcn.evaluation.filters import Filter
from targcn.evaluation.report import Report
from targcn.files import atomic_file, explained, parse_json, read_text, to_json
from targcn.output.terminal import progress_bar

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

    @property
    def steps_taken(self) -> int:
        """The steps since training began, of all epochs."""
        return self.epoch * self.num_steps + self.step

    @property
    def figures(self) -> dict[str, float]:
        """What there is to plot: the loss, or right after a validation its MRR, and the speed."""
        figures = {"queries_per_second": self.queries_per_second}
        if self.loss is not None:
            figures["loss"] = self.loss
        elif self.validation is not None:
            context = self.validation.setting.context
            for which, sides in self.validation.metrics.items():
                figures[f"valid MRR context {context}/{which}"] = sides["both"]["mrr"]
        return figures


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


def training_progress(
    callback: ProgressCallback | None = None,
) -> AbstractContextManager[ProgressCallback | None]:
    """Progress with epoch, rate, time left, loss and the latest validation.

    A function that is given is called instead, and nothing is shown here.
    """

    def describe(progress: TrainingProgress) -> tuple[int, int, str]:
        return (
            progress.steps_taken,
            progress.num_epochs * progress.num_steps,
            describe_progress(progress),
        )

    return progress_bar(describe) if callback is None else nullcontext(callback)


def describe_progress(progress: TrainingProgress, which: Filter = "time-aware") -> str:
    """How far a training is, in words; its MRR under one of the filters."""
    words = [
        f"epoch {min(progress.epoch + 1, progress.num_epochs)}/{progress.num_epochs}",
        f"{progress.queries_per_second:,.0f} queries/s",
        f"{timedelta(seconds=round(progress.seconds_left))} left",
    ]
    if progress.loss is not None:
        words.append(f"loss {progress.loss:.3f}")
    if progress.validation is not None:
        mrr = progress.validation.metrics[which]["both"]["mrr"]
        words.append(f"valid {which} MRR {mrr:.3f}")
    return ", ".join(words)


class Trace:
    """Lines appended to a file, if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def write(self, epoch: int, **content: object) -> None:
        if self.path is not None:
            with explained(self.path), self.path.open("a", encoding="utf-8") as stream:
                stream.write(to_json({"epoch": epoch} | content))
                # The state that is saved next counts on it.
                stream.flush()
                os.fsync(stream.fileno())

    def cut_after(self, epoch: int) -> None:
        """Forget the epochs after this one, which a resumed training repeats."""
        if self.path is None or not self.path.exists():
            return
        kept = [to_json(line) for line in read_trace(self.path) if line["epoch"] <= epoch]
        with atomic_file(self.path) as draft:
            draft.write_text("".join(kept), encoding="utf-8")


def read_trace(path: Path) -> list[dict[str, Any]]:
    """What a trace says of each epoch and each validation; a kill may have cut its last line."""
    lines = []
    with explained(path):
        text = read_text(path, errors="replace") if path.exists() else ""
    for line in text.splitlines(keepends=True):
        with suppress(ValueError, KeyError, TypeError):
            content = parse_json(line)
            if line.endswith("\n") and content["epoch"] >= 0:
                lines.append(content)
    return lines
