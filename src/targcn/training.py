"""The loop.

Takes a run whose model is to learn, and how; gives it back with its best weights. Everything drawn
is a function of the seed and the step, so a run stopped at any step goes on as if it had not been.
Next room: fitting.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from targcn.batches import Batch, Batches
from targcn.checkpoint import Run, write_result, write_state
from targcn.devices import compiled, describe_device, is_out_of_memory
from targcn.distributed import ALONE, Team, shared_loss
from targcn.errors import InputError
from targcn.evaluation import Judge, Report
from targcn.files import atomic_file, explained
from targcn.filtering import Filter
from targcn.steps import Replay, make_optimizer, matmul_precision, set_rate, stop_on_signal

SECONDS_BETWEEN_SAVES = 60.0
SECONDS_BETWEEN_SIGNS = 0.5
STEPS_BETWEEN_AGREEMENTS = 16


@dataclass(frozen=True)
class Training:
    """How a model is trained; what it is, its own settings say."""

    epochs: int = 100
    """How often every training query is asked, at most."""

    batch_size: int = 1024
    """Queries per step."""

    learning_rate: float = 1e-3
    """Learning rate of the first step."""

    schedule: Literal["constant", "cosine"] = "cosine"
    """How the learning rate goes on: as it is, or down to 0 along half a cosine."""

    optimizer: Literal["adam", "adagrad"] = "adam"
    """The rule of the steps."""

    matmul_precision: Literal["highest", "high"] = "high"
    """Matrix products of the steps on a GPU: high is TF32, several times as fast."""

    compile: bool = False
    """Let torch write kernels, if a C compiler is there: a wait, then faster steps and looks."""

    validate_every: int = 5
    """Epochs between two looks at the valid split."""

    patience: int = 0
    """Looks without a better one before training stops; 0: never."""

    select_by: Filter = "time-aware"
    """Filter of the valid MRR by which the best weights are kept."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "validate_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; at least 1 was expected")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate is {self.learning_rate}; it must be above 0")


@dataclass
class Position:
    """Where a training stands."""

    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    best_mrr: float = -1.0
    best_epoch: int = 0
    # Of the whole training, and of the epoch that it is in.
    seconds: float = 0.0
    epoch_seconds: float = 0.0


@dataclass(frozen=True)
class Sign:
    """What a training says of itself as it goes."""

    epoch: int
    num_epochs: int
    step: int
    num_steps: int
    loss: float
    queries_per_second: float
    seconds_left: float
    # The latest look at the valid split, context train.
    report: Report | None


Watch = Callable[[Sign], None]


class TrainingStopped(KeyboardInterrupt):
    """Training was asked to stop; the step was finished and everything saved."""


class Trainer:
    """One training, from where it stands to its end."""

    def __init__(
        self,
        run: Run,
        training: Training,
        folder: Path | None,
        device: torch.device,
        watch: Watch | None = None,
        team: Team = ALONE,
    ) -> None:
        self.run, self.training, self.device, self.team = run, training, device, team
        self.folder = folder if team.leads else None
        self.watch = watch if team.leads else None
        self.model = run.model.to(device)
        self.optimizer = make_optimizer(
            self.model, training.optimizer, training.learning_rate, training.compile
        )
        dataset = run.dataset
        self.batches = Batches(self.model, dataset, training.batch_size, run.seed, device, team)
        self.num_steps = self.batches.num_steps
        self.judge = Judge(dataset, "valid", "train", device, team) if len(dataset.valid) else None
        self.position = Position()
        self.best = _copy(self.model.state_dict())
        self.report: Report | None = None
        self.best_report: Report | None = None
        # Out of memory, a step is taken in more parts: the same gradient in less space.
        self.parts = 1
        self.loss_of = self.loss_of_last = shared_loss(self.model, team)
        if training.compile:
            # Models share a loss, of which torch compiles a few variants only, and no more.
            torch.compiler.reset()
            self.loss_of = compiled(self.loss_of, instead=self.loss_of, dynamic=False)
        self.replay: Replay | None = None
        if device.type == "cuda" and self.model.recordable and team.size == 1:
            self.replay = Replay(self._descend, device)

    def restore(self, tensors: Mapping[str, Tensor], position: Position) -> None:
        """Go back to a saved state; the best weights are those the run was loaded with."""
        self.position = position
        self.model.load_state_dict(_below("model/", tensors))
        groups = self.optimizer.state_dict()["param_groups"]
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _below("optimizer/", tensors).items():
            number, key = name.split("/")
            state.setdefault(int(number), {})[key] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})

    def train(self) -> Run:
        """Epochs until the end; the run with its best weights and their report."""
        self.began = self.saved = self.signed = time.monotonic()
        self.ended: float | None = None
        self.seconds_before, self.steps_taken = self.position.seconds, 0
        self._cut_trace()
        with stop_on_signal(patient=self.team.size > 1) as self.stop:
            while self.position.epoch < self.training.epochs and not self._is_tired():
                with matmul_precision(self.training.matmul_precision):
                    self._run_epoch()
                if self._is_due():
                    self._look()
            self.ended = time.monotonic()
            # One that came while the last epoch was looked at.
            [stopping] = self.team.anyone(self.stop.is_set())
        if stopping:
            raise TrainingStopped("stopped after its last epoch")
        self.model.load_state_dict(self.best)
        if self.judge is not None and self.best_report is None:
            self.best_report = self.judge.report(self.run)
        self._write_result(finished=True)
        return replace(self.run, report=self.best_report, trained=self._trained(finished=True))

    def _run_epoch(self) -> None:
        position = self.position
        started = time.monotonic() - position.epoch_seconds
        loss_sum = torch.tensor(position.loss_sum, dtype=torch.float64, device=self.device)
        self.model.train()
        if hasattr(self.model, "begin_epoch"):
            self.model.begin_epoch(position.epoch)
        for batch in self.batches.of_epoch(position.epoch, position.step):
            loss_sum += self._take_step(batch)
            position.step += 1
            self.steps_taken += 1
            now = time.monotonic()
            stopping, saving = self._agree(now)
            if stopping or saving:
                position.loss_sum = self.team.mean(float(loss_sum))
                position.epoch_seconds = time.monotonic() - started
                self._save()
            if stopping:
                raise TrainingStopped(f"stopped in epoch {position.epoch + 1}")
            if self.watch is not None and now - self.signed > SECONDS_BETWEEN_SIGNS:
                self._sign(float(loss_sum) / position.step)
        loss = self.team.mean(float(loss_sum)) / self.num_steps
        seconds = time.monotonic() - started
        position.epoch, position.step = position.epoch + 1, 0
        position.loss_sum = position.epoch_seconds = 0.0
        self._trace(loss=loss, seconds=seconds, queries_per_second=len(self.batches) / seconds)
        self._sign(loss)

    def _agree(self, now: float) -> list[bool]:
        """Whether anyone was asked to stop, and whether it is time to save; all do it together."""
        last = self.position.step == self.num_steps
        if self.team.size > 1 and self.steps_taken % STEPS_BETWEEN_AGREEMENTS and not last:
            return [False, False]
        return self.team.anyone(self.stop.is_set(), now - self.saved > SECONDS_BETWEEN_SAVES)

    def _take_step(self, batch: Batch) -> Tensor:
        step = self.position.epoch * self.num_steps + self.position.step
        set_rate(self.optimizer, self._learning_rate(step))
        while True:
            try:
                if self.replay is not None and self._is_whole(batch):
                    return self.replay.take(batch)
                return self._descend(batch)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                # A process of a team cannot take a step again that the others have taken.
                if not is_out_of_memory(error) or self.parts >= len(batch) or self.team.size > 1:
                    raise
                self.parts *= 2
                if self._is_whole(batch):
                    self.replay = None
                self._trace(out_of_memory=True, parts_per_step=self.parts)

    def _descend(self, batch: Batch) -> Tensor:
        """One step of the optimiser on the loss of these queries, which is given back."""
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        size = -(-len(batch) // self.parts)
        # Kernels for the smaller last batch would be waited for longer than they save.
        loss_of = self.loss_of if self._is_whole(batch) else self.loss_of_last
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            loss = loss_of(part.queries, part.answers, part.drawn)
            loss = loss * (len(part) / len(batch) * batch.weight)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        self.optimizer.step()
        return total

    def _is_whole(self, batch: Batch) -> bool:
        return len(batch) * self.team.size == self.training.batch_size

    def _learning_rate(self, step: int) -> float:
        rate = self.training.learning_rate
        if self.training.schedule == "constant":
            return rate
        return rate * 0.5 * (1 + math.cos(math.pi * step / (self.training.epochs * self.num_steps)))

    def _is_due(self) -> bool:
        epoch = self.position.epoch
        return epoch % self.training.validate_every == 0 or epoch == self.training.epochs

    def _is_tired(self) -> bool:
        waited = self.position.epoch - self.position.best_epoch
        patience = self.training.patience * self.training.validate_every
        return 0 < patience <= waited and self.position.best_mrr >= 0

    def _look(self) -> None:
        """Judge the weights of now, and keep them if they are the best so far."""
        position = self.position
        mrr = float(position.epoch)
        if self.judge is not None:
            self.report = self.judge.report(self.run)
            mrr = self.report.metrics[self.training.select_by]["both"]["mrr"]
            self._trace(valid=self.report.metrics, context="train")
        if mrr > position.best_mrr:
            position.best_mrr, position.best_epoch = mrr, position.epoch
            self.best, self.best_report = _copy(self.model.state_dict()), self.report
            self._write_result()
        self._save()
        self._sign(math.nan)

    def _write_result(self, finished: bool = False) -> None:
        reports = [self.best_report.to_json()] if self.best_report else []
        with self.team.together():
            if self.folder is not None:
                write_result(self.run, self.folder, self._trained(finished), reports)

    def _trained(self, finished: bool) -> dict[str, Any]:
        several = f"{self.team.size} × " if self.team.size > 1 else ""
        return {
            "epochs": self.position.epoch,
            "best_epoch": self.position.best_epoch,
            "seconds": round(self._seconds(), 1),
            "device": several + describe_device(self.device),
            "finished": finished,
        }

    def _save(self) -> None:
        self.saved = time.monotonic()
        self.position.seconds = self._seconds()
        tensors = {f"model/{name}": value for name, value in self.model.state_dict().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{number}/{key}": value for key, value in state.items()}
        with self.team.together():
            if self.folder is not None:
                write_state(self.folder, tensors, asdict(self.position))

    def _seconds(self) -> float:
        return self.seconds_before + (self.ended or time.monotonic()) - self.began

    def _sign(self, loss: float) -> None:
        self.signed = time.monotonic()
        if self.watch is None:
            return
        rate = self.steps_taken / max(self.signed - self.began, 1e-9)
        done = self.position.epoch * self.num_steps + self.position.step
        self.watch(
            Sign(
                epoch=self.position.epoch,
                num_epochs=self.training.epochs,
                step=self.position.step,
                num_steps=self.num_steps,
                loss=loss,
                queries_per_second=rate * len(self.batches) / self.num_steps,
                seconds_left=(self.training.epochs * self.num_steps - done) / max(rate, 1e-9),
                report=self.report,
            )
        )

    def _trace(self, **content: Any) -> None:
        if self.folder is not None:
            path = self.folder / "trace.jsonl"
            with explained(path), path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"epoch": self.position.epoch} | content) + "\n")

    def _cut_trace(self) -> None:
        """Forget what was traced after the state that this training goes on from."""
        if self.folder is None or not (self.folder / "trace.jsonl").exists():
            return
        path = self.folder / "trace.jsonl"
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        kept = [line for line in lines if self._is_behind(line)]
        with atomic_file(path) as draft:
            draft.write_text("".join(kept), encoding="utf-8")

    def _is_behind(self, line: str) -> bool:
        """Whether a line of the trace is whole, and of an epoch that is over."""
        try:
            epoch: int = json.loads(line)["epoch"]
            return line.endswith("\n") and epoch <= self.position.epoch
        except (ValueError, KeyError, TypeError):
            return False


def _copy(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)
    }
