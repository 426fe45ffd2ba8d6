"""The training loop.

It takes a run whose model is to learn, and gives it back with its best weights. Everything random
is a function of the seed and the step, so a training that was stopped at any step goes on as if it
had not been: on the same device, with the same torch and number of threads, to the bit.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from targcn.devices import compiled, describe_device, is_out_of_memory
from targcn.distributed import SINGLE_PROCESS, ProcessGroup, distributed_loss
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.intervals import FEW_TICKS
from targcn.evaluation.report import Report, Setting
from targcn.models.base import Learner
from targcn.runs.run import Run, TrainingRecord
from targcn.runs.store import TRACE, WEIGHTS, write_result
from targcn.training.batches import Batch, Batches
from targcn.training.cuda_graph import CUDAGraphed
from targcn.training.optimizers import create_optimizer, learning_rate, set_learning_rate
from targcn.training.position import Position, restore_position, save_position
from targcn.training.progress import ProgressCallback, ProgressReporter, Trace
from targcn.training.signals import TrainingStopped, stop_on_signal

SECONDS_BETWEEN_SAVES = 60.0
# Several processes agree on stopping and saving only now and then: asking costs time.
STEPS_BETWEEN_AGREEMENTS = 16
# Training has diverged when its loss is so many times that of the first step, or of 1.
MOST_GROWTH = 1000.0


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
        settings = run.recipe.training
        self.run, self.settings, self.device, self.processes = run, settings, device, processes
        # The main process alone writes.
        self.folder = folder if processes.is_main else None
        # In place: it stays the model of the run.
        self.model = run.model.to(device)
        self.optimizer = create_optimizer(self.model, settings)
        self.batches = Batches(self.model, run.dataset, settings, run.seed, device, processes)
        self.num_steps = self.batches.num_steps
        self.evaluator = self._create_evaluator()
        self.loss_function = self.plain_loss = distributed_loss(self.model, processes)
        if settings.compile:
            # Models share a loss function, of which torch compiles a few variants and no more.
            torch.compiler.reset()
            self.loss_function = compiled(self.plain_loss, instead=self.plain_loss, dynamic=False)
        # A batch is computed in this many parts: the same gradients in less memory.
        self.num_parts = 1
        # True while the optimiser runs: after an error then, some weights have changed.
        self.is_updating = False
        self.replay: CUDAGraphed[Batch, Tensor] | None = None
        if device.type == "cuda" and self.model.has_static_shapes and processes.size == 1:
            self.replay = CUDAGraphed(self.update, device)
        self.trace = Trace(self.folder / TRACE if self.folder is not None else None)
        callback = progress if processes.is_main else None
        self.progress = ProgressReporter(
            callback, settings.epochs, self.num_steps, self.batches.num_queries
        )
        self.position = Position()
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        self.best_weights = deepcopy(self.model.state_dict())
        self.validation: Report | None = None
        self.best_validation: Report | None = None
        self.started = self.epoch_started = self.saved = time.monotonic()

    def train(self) -> Run:
        """Train until the last epoch or until patience is out; the run with its best weights."""
        position, settings = self.position, self.settings
        self.trace.cut_after(position.epoch)
        self.saved = self.progress.started = time.monotonic()
        self.started = self.saved - position.seconds
        with stop_on_signal(patient=self.processes.size > 1) as stop_requested:
            while position.epoch < settings.epochs and not self._is_out_of_patience():
                self._start_epoch()
                for batch in self.batches.of_epoch(position.epoch, position.step):
                    steps_taken = position.epoch * self.num_steps + position.step
                    rate = learning_rate(settings, steps_taken, settings.epochs * self.num_steps)
                    set_learning_rate(self.optimizer, rate)
                    self._count(self.take_step(batch))
                    self._save_or_stop(stop_requested.is_set())
                    self._report_if_due()
                self._end_epoch()
                is_last = position.epoch == settings.epochs
                if is_last or position.epoch % settings.validate_every == 0:
                    self._validate()
            # A signal may have come during the last validation.
            [stopping] = self.processes.any_process(stop_requested.is_set())
        if stopping:
            raise TrainingStopped("stopped after its last epoch")
        return self._finish()

    def take_step(self, batch: Batch) -> Tensor:
        """Take a step, in more parts if memory runs out; the loss of the batch."""
        while True:
            try:
                with matmul_precision(self.settings.matmul_precision):
                    if self.replay is not None and self._is_whole(batch):
                        return self.replay(batch)
                    return self.update(batch)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                # Neither half an update nor a step of several processes can be repeated.
                repeatable = not self.is_updating and self.processes.size == 1
                if not (is_out_of_memory(error) and repeatable and self.num_parts < len(batch)):
                    raise
                self.num_parts *= 2
                if self._is_whole(batch):
                    # It was recorded with fewer parts; from now on steps are taken as they come.
                    self.replay = None
                said = {"out_of_memory": True, "parts_per_step": self.num_parts}
                self.trace.write(self.position.epoch, **said)

    def update(self, batch: Batch) -> Tensor:
        """One update of the weights by the gradients of a batch's loss, which is given back."""
        self.optimizer.zero_grad(set_to_none=True)
        # Compiling for the smaller last batch would take longer than it saves.
        loss_function = self.loss_function if self._is_whole(batch) else self.plain_loss
        total = torch.zeros((), device=self.device)
        size = -(-len(batch) // self.num_parts)
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            loss = loss_function(part.queries, part.answers, part.sample, part.others)
            loss = loss * (len(part) / len(batch) * batch.weight)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.is_updating = True
        self.optimizer.step()
        self.is_updating = False
        return total

    def _is_whole(self, batch: Batch) -> bool:
        return len(batch) * self.processes.size == self.settings.batch_size

    def restore(self, folder: Path) -> None:
        """Go back to the state in a folder, if one was kept.

        The best weights are those that the run was loaded with.
        """
        kept = restore_position(folder, self.model, self.optimizer, self.settings, self.num_steps)
        self.position = kept or self.position

    def _create_evaluator(self) -> Evaluator | None:
        """What validates, if there is anything to ask; in training's own graph where it can."""
        dataset = self.run.dataset
        if not len(dataset.valid):
            return None
        setting = Setting("valid", self.run.default_context("valid"), most_ticks=FEW_TICKS)
        graph = self.batches.context if setting.context == "train" else None
        return Evaluator(dataset, setting, self.device, self.processes, graph)

    def _start_epoch(self) -> None:
        self.model.train()
        self.model.start_epoch(self.position.epoch)
        self.loss_sum.fill_(self.position.loss_sum)
        self.epoch_started = time.monotonic() - self.position.epoch_seconds

    def _count(self, loss: Tensor) -> None:
        if self.position.epoch == self.position.step == 0:
            self.position.first_loss = self.processes.mean(float(loss))
        self.loss_sum += loss
        self.position.step += 1
        self.progress.steps_taken += 1

    def _save_or_stop(self, stop_requested: bool) -> None:
        """Keep the state, if it is time to or if any process was asked to stop."""
        position = self.position
        is_between = self.progress.steps_taken % STEPS_BETWEEN_AGREEMENTS != 0
        if self.processes.size > 1 and is_between and position.step < self.num_steps:
            return
        is_time = time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES
        stopping, saving = self.processes.any_process(stop_requested, is_time)
        if stopping or saving:
            position.loss_sum = self.processes.mean(float(self.loss_sum))
            self._require_sound(position.loss_sum / position.step)
            position.epoch_seconds = time.monotonic() - self.epoch_started
            self._save_state()
        if stopping:
            raise TrainingStopped(f"stopped in epoch {position.epoch + 1}")

    def _end_epoch(self) -> None:
        position = self.position
        mean_loss = self.processes.mean(float(self.loss_sum)) / self.num_steps
        position.epoch, position.step = position.epoch + 1, 0
        position.loss_sum = position.epoch_seconds = 0.0
        self._require_sound(mean_loss)
        seconds = time.monotonic() - self.epoch_started
        speed = self.batches.num_queries / seconds
        self.trace.write(position.epoch, loss=mean_loss, seconds=seconds, queries_per_second=speed)
        self._report_progress(mean_loss)

    def _require_sound(self, loss: float) -> None:
        """Stop a training whose loss says that it has diverged, or whose weights do."""
        bound = MOST_GROWTH * max(abs(self.position.first_loss), 1.0)
        if self.position.first_loss and loss > bound:
            problem = f"its loss is {loss:.3g}, after {self.position.first_loss:.3g} at first"
        elif not math.isfinite(loss):
            problem = "its loss is not a number any more"
        elif not all(bool(weight.isfinite().all()) for weight in self.model.parameters()):
            problem = "its weights are not numbers any more"
        else:
            return
        kept = "nothing is kept"
        if self.folder is not None:
            best = self.position.best_epoch
            kept = f"the weights of epoch {best}" if best else "the initial weights"
            kept += f" are kept in {self.folder / WEIGHTS}"
        raise InputError(
            f"training diverged by epoch {max(self.position.epoch, 1)}: {problem}; {kept}; "
            "train again with a lower learning rate (--learning-rate)"
        )

    def _validate(self) -> None:
        """Evaluate the present weights, and keep them if they are the best so far."""
        position = self.position
        # Without a valid split the epoch takes its place, so that the latest weights are the best.
        mrr = float(position.epoch)
        if self.evaluator is not None:
            self.validation = self._evaluate(self.evaluator)
            mrr = self.validation.metrics[self.settings.select_by]["both"]["mrr"]
            context = self.validation.setting.context
            self.trace.write(position.epoch, valid=self.validation.metrics, context=context)
        if mrr > position.best_mrr:
            position.best_mrr, position.best_epoch = mrr, position.epoch
            self.best_weights = deepcopy(self.model.state_dict())
            self.best_validation = self.validation
            self._write_result(self._record(finished=False))
        self._save_state()
        self._report_progress(loss=None)

    def _evaluate(self, evaluator: Evaluator) -> Report:
        # Whoever follows a training hears of it during a long validation too.
        watch = self._report_if_due
        ranks = evaluator.ranks(self.run.model_to_evaluate(), watch)
        return evaluator.summarize(ranks, self.run.recipe.model, self.model.leaks)

    def _is_out_of_patience(self) -> bool:
        waited = self.position.epoch - self.position.best_epoch
        patience = self.settings.patience * self.settings.validate_every
        # Before the first validation the best MRR is −1.
        return 0 < patience <= waited and self.position.best_mrr >= 0

    def _finish(self) -> Run:
        record = self._record(finished=True)
        self.model.load_state_dict(self.best_weights)
        if self.evaluator is not None:
            # One that goes on and finds nothing better has the best weights without their report.
            report = self.best_validation or self._evaluate(self.evaluator)
            fits = self.evaluator.calibrate(self.model)
            self.best_validation = replace(report, calibration=fits)
        self._write_result(record)
        return replace(self.run, trained=record, validation=self.best_validation)

    def _write_result(self, record: TrainingRecord) -> None:
        reports = [self.best_validation] if self.best_validation else []
        with self.processes.barrier():
            if self.folder is not None:
                write_result(replace(self.run, trained=record), self.folder, reports)

    def _record(self, finished: bool) -> TrainingRecord:
        several = f"{self.processes.size} × " if self.processes.size > 1 else ""
        return TrainingRecord(
            epochs=self.position.epoch,
            best_epoch=self.position.best_epoch,
            seconds=round(time.monotonic() - self.started, 1),
            device=several + describe_device(self.device),
            finished=finished,
        )

    def _save_state(self) -> None:
        self.saved = time.monotonic()
        self.position.seconds = self.saved - self.started
        with self.processes.barrier():
            if self.folder is not None:
                save_position(self.folder, self.position, self.model, self.optimizer, self.settings)

    def _report_if_due(self, *_done_and_in_all: int) -> None:
        if self.progress.is_due:
            # Between epochs the step is 0, and the sum that of the epoch before.
            taken = self.position.step or self.num_steps
            self._report_progress(float(self.loss_sum) / taken)

    def _report_progress(self, loss: float | None) -> None:
        self.progress.report(self.position.epoch, self.position.step, loss, self.validation)


@contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """Matrix products of this precision inside the block, and as before after it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
