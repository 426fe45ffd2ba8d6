"""The training loop.

It takes a run whose model is to learn, and gives it back with its best weights. Everything random
is a function of the seed and the step, so a training that was stopped at any step goes on as if it
had not been: on the same device, with the same torch and number of threads, to the bit.
"""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from targcn.config import build
from targcn.devices import describe_device
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import DamagedError, InputError
from targcn.evaluation.asking import FEW_TICKS
from targcn.evaluation.calibration import calibrate, fit_temperature
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Report, Setting
from targcn.models.base import Learner
from targcn.runs.run import Run, TrainingRecord
from targcn.runs.store import (
    STATE,
    TRACE,
    WEIGHTS,
    Weights,
    read_state,
    write_result,
    write_state,
    write_temperature,
)
from targcn.runs.tensors import Expected, expect_like, gathered
from targcn.training.batches import Batches
from targcn.training.gradient_step import GradientStep
from targcn.training.optimizers import (
    create_optimizer,
    expected_state,
    learning_rate,
    restore_state,
    set_learning_rate,
    state_of,
)
from targcn.training.progress import ProgressCallback, ProgressReporter
from targcn.training.signals import TrainingStopped, stop_on_signal
from targcn.training.trace import Trace

SECONDS_BETWEEN_SAVES = 60.0
# Several processes agree on stopping and saving only now and then: asking costs time.
STEPS_BETWEEN_AGREEMENTS = 16
# Training has diverged when its loss is so many times that of the first step, or of 1.
MOST_GROWTH = 1000.0


class DivergedError(InputError):
    """The loss is no longer a number, or has grown past all bounds."""


@dataclass
class Position:
    """Where a training stands."""

    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    best_mrr: float = -1.0
    best_epoch: int = 0
    # Of the whole training, and of the present epoch.
    seconds: float = 0.0
    epoch_seconds: float = 0.0
    # Of the first step, before any weight had changed; 0 if nobody knows.
    first_loss: float = 0.0


class Trainer:
    """One training, from where it stands to its end."""

    def __init__(
        self,
        run: Run,
        folder: Path | None,
        device: torch.device,
        progress: ProgressCallback | None = None,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        assert isinstance(run.model, Learner)
        dataset, settings = run.dataset, run.recipe.training
        self.run, self.settings, self.device, self.processes = run, settings, device, processes
        self.folder = folder if processes.is_main else None
        self.is_kept = folder is not None
        self.model = run.model.to(device)
        self.optimizer = create_optimizer(self.model, settings)
        self.batches = Batches(self.model, dataset, settings, run.seed, device, processes)
        self.num_steps = self.batches.num_steps
        self.evaluator: Evaluator | None = None
        if len(dataset.valid):
            setting = Setting("valid", run.default_context("valid"), most_ticks=FEW_TICKS)
            self.evaluator = Evaluator(dataset, setting, device, processes)
        self.trace = Trace(self.folder / TRACE if self.folder is not None else None)
        self.gradient_step = GradientStep(
            self.model, self.optimizer, settings, device, processes, self._trace_retry
        )
        self.progress = ProgressReporter(
            progress if processes.is_main else None,
            settings.epochs,
            self.num_steps,
            len(self.batches),
        )
        self.position = Position()
        self.best_weights = _copy(self.model.weights_here())
        self.validation: Report | None = None
        self.best_validation: Report | None = None
        self.started = self.saved = time.monotonic()
        self.seconds_before = 0.0

    def train(self) -> Run:
        """Train until the last epoch or until patience is out; the run with its best weights."""
        position, settings, num_steps = self.position, self.settings, self.num_steps
        self.started = self.saved = self.progress.started = time.monotonic()
        self.seconds_before = position.seconds
        self.trace.cut_after(position.epoch)
        with stop_on_signal(patient=self.processes.size > 1) as stop_requested:
            while position.epoch < settings.epochs and not self._is_out_of_patience():
                self.model.train()
                self.model.start_epoch(position.epoch)
                epoch_started = time.monotonic() - position.epoch_seconds
                loss_sum = torch.tensor(position.loss_sum, dtype=torch.float64, device=self.device)
                for batch in self.batches.of_epoch(position.epoch, position.step):
                    step = position.epoch * num_steps + position.step
                    rate = learning_rate(settings, step, settings.epochs * num_steps)
                    set_learning_rate(self.optimizer, rate)
                    loss = self.gradient_step(batch)
                    if step == 0:
                        position.first_loss = self.processes.mean(float(loss))
                    loss_sum += loss
                    position.step += 1
                    self.progress.steps_taken += 1
                    stopping, saving = self._agree_to_stop_or_save(stop_requested.is_set())
                    if stopping or saving:
                        position.loss_sum = self.processes.mean(float(loss_sum))
                        self._require_sound(position.loss_sum / position.step)
                        position.epoch_seconds = time.monotonic() - epoch_started
                        self._save_state()
                    if stopping:
                        raise TrainingStopped(f"stopped in epoch {position.epoch + 1}")
                    if self.progress.is_due:
                        self._report_progress(float(loss_sum) / position.step)
                mean_loss = self.processes.mean(float(loss_sum)) / num_steps
                position.epoch, position.step = position.epoch + 1, 0
                self._require_sound(mean_loss)
                seconds = time.monotonic() - epoch_started
                position.loss_sum = position.epoch_seconds = 0.0
                speed = len(self.batches) / seconds
                self.trace.write(
                    position.epoch, loss=mean_loss, seconds=seconds, queries_per_second=speed
                )
                self._report_progress(mean_loss)
                is_last = position.epoch == settings.epochs
                if is_last or position.epoch % settings.validate_every == 0:
                    self._validate(mean_loss)
            # A signal may have come during the last validation.
            [stopping] = self.processes.any_process(stop_requested.is_set())
        if stopping:
            raise TrainingStopped("stopped after its last epoch")
        return self._finish()

    def restore(self, folder: Path) -> bool:
        """Go back to the state in a folder; whether there is one.

        The best weights are those that the run was loaded with.
        """
        tensors, said = read_state(folder, self._expected_state())
        if not tensors:
            return False
        try:
            self.position = build(Position, said, "state")
            self._require_position()
        except InputError as error:
            raise DamagedError(
                f"{folder / STATE} does not say where it stands ({error}); train it again"
            ) from None
        self.model.load_weights_here(_below("model/", tensors))
        restore_state(self.optimizer, _below("optimizer/", tensors))
        return True

    def _require_position(self) -> None:
        """Refuse a position that no training with these settings comes to."""
        one = self.position
        ranges = {
            "epoch": (0, one.epoch, self.settings.epochs),
            "step": (0, one.step, self.num_steps),
            "best_epoch": (0, one.best_epoch, one.epoch),
            "best_mrr": (-1, one.best_mrr, max(1, one.epoch)),
            "seconds": (0, one.seconds, math.inf),
            "epoch_seconds": (0, one.epoch_seconds, math.inf),
        }
        for name, (least, value, most) in ranges.items():
            if not least <= value <= most:
                raise InputError(f"{name} is {value}; {least} to {most} was expected")

    def _require_sound(self, loss: float) -> None:
        """Stop a training whose loss says that it has diverged, or whose weights do."""
        bound = MOST_GROWTH * max(abs(self.position.first_loss), 1.0)
        if self.position.first_loss and loss > bound:
            problem = f"its loss is {loss:.3g}, after {self.position.first_loss:.3g} at first"
        elif not math.isfinite(loss):
            problem = "its loss is not a number any more"
        elif not self._has_sound_weights():
            problem = "its weights are not numbers any more"
        else:
            return
        raise DivergedError(
            f"training diverged by epoch {max(self.position.epoch, 1)}: {problem}; {self._kept()}; "
            "train again with a lower learning rate (--learning-rate)"
        )

    def _has_sound_weights(self) -> bool:
        own = self.model.weights_here().values()
        [unsound] = self.processes.any_process(not all(bool(one.isfinite().all()) for one in own))
        return not unsound

    def _kept(self) -> str:
        if self.folder is None:
            return "nothing is kept"
        best = self.position.best_epoch
        what = f"the weights of epoch {best}" if best else "the initial weights"
        return f"{what} are kept in {self.folder / WEIGHTS}"

    def _expected_state(self) -> dict[str, Expected]:
        expected = expect_like(self.model.state_dict(), "model/")
        of_optimizer = expected_state(self.model, self.settings)
        return expected | {f"optimizer/{name}": one for name, one in of_optimizer.items()}

    def _validate(self, loss: float) -> None:
        """Evaluate the present weights, and keep them if they are the best so far."""
        position = self.position

        def still_here(done: int, total: int) -> None:
            """Whoever follows a training hears of it during a long validation too."""
            if self.progress.is_due:
                self._report_progress(loss)

        # Without a valid split the latest weights are the best.
        mrr = float(position.epoch)
        if self.evaluator is not None:
            model = self.run.model_to_evaluate()
            self.validation = self.evaluator.evaluate(model, self.run.recipe.model, still_here)
            mrr = self.validation.metrics[self.settings.select_by]["both"]["mrr"]
            context = self.validation.setting.context
            self.trace.write(position.epoch, valid=self.validation.metrics, context=context)
        if mrr > position.best_mrr:
            position.best_mrr, position.best_epoch = mrr, position.epoch
            self.best_weights = _copy(self.model.weights_here())
            self.best_validation = self.validation
            self._write_result(self._record(finished=False))
        self._save_state()
        self._report_progress(loss=None)

    def _is_out_of_patience(self) -> bool:
        waited = self.position.epoch - self.position.best_epoch
        patience = self.settings.patience * self.settings.validate_every
        return 0 < patience <= waited and self.position.best_mrr >= 0

    def _agree_to_stop_or_save(self, stop_requested: bool) -> list[bool]:
        """Whether any process was asked to stop, and whether it is time to save."""
        is_last = self.position.step == self.num_steps
        is_between = self.progress.steps_taken % STEPS_BETWEEN_AGREEMENTS != 0
        if self.processes.size > 1 and is_between and not is_last:
            return [False, False]
        saving = time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES
        return self.processes.any_process(stop_requested, saving)

    def _finish(self) -> Run:
        record = self._record(finished=True)
        self.model.load_weights_here(self.best_weights)
        if self.evaluator is not None and self.best_validation is None:
            model = self.run.model_to_evaluate()
            self.best_validation = self.evaluator.evaluate(model, self.run.recipe.model)
        temperature = 1.0
        if self.evaluator is not None:
            temperature = fit_temperature(self.model, self.evaluator)
            assert self.best_validation is not None
            fits = calibrate(self.model, temperature, self.evaluator)
            self.best_validation = replace(self.best_validation, calibration=fits)
        with self.processes.barrier():
            if self.folder is not None:
                write_temperature(self.folder, temperature)
        self._write_result(record)
        finished = replace(self.run, trained=record, validation=self.best_validation)
        return replace(finished, temperature=temperature)

    def _write_result(self, record: TrainingRecord) -> None:
        reports = [self.best_validation] if self.best_validation else []
        expected = expect_like(self.model.state_dict())
        with self._gathered(self.model.weights_here(), expected) as weights:
            if self.folder is not None:
                write_result(replace(self.run, trained=record), self.folder, reports, weights)

    def _record(self, finished: bool) -> TrainingRecord:
        several = f"{self.processes.size} × " if self.processes.size > 1 else ""
        return TrainingRecord(
            epochs=self.position.epoch,
            best_epoch=self.position.best_epoch,
            seconds=round(self._seconds(), 1),
            device=several + describe_device(self.device),
            finished=finished,
        )

    def _save_state(self) -> None:
        self.saved = time.monotonic()
        self.position.seconds = self._seconds()
        own = {f"model/{name}": value for name, value in self.model.weights_here().items()}
        kept = state_of(self.optimizer, expected_state(self.model, self.settings))
        own |= {f"optimizer/{name}": value for name, value in kept.items()}
        with self._gathered(own, self._expected_state()) as tensors:
            if self.folder is not None:
                write_state(self.folder, tensors, asdict(self.position))

    @contextmanager
    def _gathered(
        self, own: Mapping[str, Tensor], expected: Mapping[str, Expected]
    ) -> Iterator[Weights]:
        """What all processes hold, for the one that writes it; nothing if nothing is kept."""
        if not self.is_kept:
            yield {}
            return
        with self.processes.barrier(), gathered(own, expected, self.processes) as tensors:
            yield tensors

    def _report_progress(self, loss: float | None) -> None:
        self.progress.report(self.position.epoch, self.position.step, loss, self.validation)

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def _trace_retry(self, num_parts: int) -> None:
        self.trace.write(self.position.epoch, out_of_memory=True, parts_per_step=num_parts)


def _copy(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)
    }
