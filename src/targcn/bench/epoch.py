"""How long an epoch of training takes, beside its matrix products alone and a plain version.

The loop is the real one, with its CUDA graph on a GPU; only its batches are timed as they pass. The
three take turns in one run: after each step on a CPU, after each epoch on a GPU.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from targcn.bench import measure
from targcn.bench.generated_data import Shape, open_source
from targcn.bench.plain import find_plain
from targcn.bench.untrained import describe_run, make_untrained
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Facts
from targcn.graph.columns import Columns
from targcn.models.base import Learner
from targcn.models.factorization import Factorization
from targcn.models.registry import DEFAULT
from targcn.models.targcn import TARGCN
from targcn.runs.run import Run
from targcn.training.batches import Batch, Batches
from targcn.training.cuda_graph import CUDAGraphed
from targcn.training.gradient_step import matmul_precision
from targcn.training.loop import Trainer

TRAINING: Final = "training"
PRODUCTS: Final = "scoring products and loss alone"
PLAIN: Final = "plain loop"
# How many steps (CPU) or epochs (GPU) are timed, and how many go before them untimed.
STEPS, STEPS_BEFORE = 17, 3
EPOCHS, EPOCHS_BEFORE = 5, 1
# Steps of the two others in one turn on a GPU; on a CPU it is one.
TURNS: Final = {PRODUCTS: 200, PLAIN: 3}
# By then a CUDA graph is recorded.
TURNS_BEFORE: Final = CUDAGraphed.NUM_WARM_UP + 2

Step = Callable[[Batch], Any]


def measure_epoch(
    source: Dataset | Shape,
    *,
    model: str = DEFAULT,
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    repeats: int | None = None,
    device: str = "auto",
    plain: bool = True,
    progress: measure.Progress | None = None,
) -> measure.Result:
    """Milliseconds per step and seconds per epoch: medians over `repeats` steps (GPU: epochs)."""
    place = choose_device(device)
    on_gpu = place.type == "cuda"
    if repeats is None:
        repeats = EPOCHS if on_gpu else STEPS
    measure.check_at_least(1, repeats=repeats)
    dataset, data = open_source(source)
    if len(dataset.train) == 0:
        raise InputError(f"{dataset.name} has no facts in its train split; nothing to learn from")
    # Validation is no part of an epoch.
    nothing = Facts(dataset.valid.columns[:, :0])
    dataset = replace(dataset, splits={**dataset.splits, "valid": nothing})
    measure.forget_peak(place)
    run = make_untrained(dataset, model, recipe, settings)
    training = run.recipe.training
    if not isinstance(run.model, Learner):
        raise InputError(f"{model} has nothing to learn, so there is no epoch to time")
    simple, notes = find_plain(model, run.recipe.settings) if plain else (None, ())

    def bring_others() -> dict[str, Step]:
        others: dict[str, Step] = {}
        if isinstance(run.model, TARGCN | Factorization):
            others[PRODUCTS] = _products(run, training.batch_size, place)
        if simple is not None:
            others[PLAIN] = _plain_step(simple(dataset, run.recipe.settings).to(place))
        return others

    num_steps = -(-2 * len(dataset.train) // training.batch_size)
    epochs = EPOCHS_BEFORE + repeats
    if not on_gpu:
        # The last step of an epoch may be smaller and is not timed.
        epochs = -(-(STEPS_BEFORE + repeats) // max(num_steps - 1, 1))
    training = replace(training, epochs=epochs, validate_every=epochs, patience=0)
    run = replace(run, recipe=replace(run.recipe, training=training))
    trainer = Trainer(run, None, place)
    watched = WatchedBatches(trainer.batches, repeats, bring_others, progress)
    trainer.batches = watched  # type: ignore[assignment]
    trainer.train()
    named = ("batch_size", "matmul_precision", "compile")
    arguments = describe_run(run) | {name: getattr(training, name) for name in named}
    arguments |= {"repeats": repeats, "device": str(place)}
    machine = measure.describe_machine(place)
    return measure.Result("epoch", arguments, data, machine, _rows(watched), notes=notes)


class WatchedBatches:
    """The batches of a training, each timed from its request until the next request.

    Between two batches (on a GPU between two epochs) the others take their turn on the same data.
    """

    def __init__(
        self,
        batches: Batches,
        repeats: int,
        bring_others: Callable[[], Mapping[str, Step]],
        progress: measure.Progress | None,
    ) -> None:
        self.batches, self.repeats, self.progress = batches, repeats, progress
        self.bring_others = bring_others
        self.others: Mapping[str, Step] = {}
        self.on_gpu = batches.device.type == "cuda"
        self.num_before = EPOCHS_BEFORE if self.on_gpu else STEPS_BEFORE
        self.steps_per_epoch = max(len(batches) / batches.batch_size, 1.0)
        # Seconds per step, one entry for each time it was timed.
        self.seconds: dict[str, list[float]] = {TRAINING: []}
        # Of the training alone, before the others start.
        self.peak_bytes = 0

    def __len__(self) -> int:
        return len(self.batches)

    def of_epoch(self, epoch: int, step: int = 0) -> Iterator[Batch]:
        coming, device = self.batches.of_epoch(epoch, step), self.batches.device
        num_steps, most_kept = self.batches.num_steps, 1
        if self.on_gpu:
            most_kept = min(TURNS[PLAIN], max(num_steps - 1, 1))
        while len(self.seconds[TRAINING]) < self.repeats:
            kept: list[Batch] = []
            begin = measure.clock(device)
            for batch in islice(coming, num_steps if self.on_gpu else 1):
                if not self.on_gpu and len(batch) < self.batches.batch_size and num_steps > 1:
                    return
                if len(kept) < most_kept:
                    # On a GPU a copy, or everything sampled ahead together with it would be kept.
                    kept.append(batch.map(torch.clone) if self.on_gpu else batch)
                yield batch
            if not kept:
                return
            seconds = measure.clock(device) - begin
            self._finish(seconds / (self.steps_per_epoch if self.on_gpu else 1), kept)

    def _finish(self, seconds: float, batches: Sequence[Batch]) -> None:
        if self.num_before == 0:
            self.seconds[TRAINING].append(seconds)
            for name in self.others:
                turns = TURNS[name] if self.on_gpu else 1
                self.seconds[name].append(self._take_turns(name, batches, turns))
            if self.progress is not None:
                self.progress(len(self.seconds[TRAINING]), self.repeats)
            return
        self.num_before -= 1
        if self.num_before == 0:
            self.peak_bytes = measure.peak_bytes(self.batches.device)
            self.others = self.bring_others()
            for name in self.others:
                self.seconds[name] = []
                self._take_turns(name, batches, TURNS_BEFORE)

    def _take_turns(self, name: str, batches: Sequence[Batch], turns: int) -> float:
        begin = measure.clock(self.batches.device)
        for batch in islice(cycle(batches), turns):
            self.others[name](batch)
        return (measure.clock(self.batches.device) - begin) / turns


def _rows(watched: WatchedBatches) -> list[measure.Row]:
    median = {name: statistics.median(seconds) for name, seconds in watched.seconds.items()}
    rows: list[measure.Row] = []
    for name, seconds in median.items():
        row = {
            "what": name,
            "milliseconds_per_step": seconds * 1e3,
            "seconds_per_epoch": seconds * watched.steps_per_epoch,
            "queries_per_second": len(watched) / (seconds * watched.steps_per_epoch),
        }
        if PRODUCTS in median:
            row["ratio_to_products"] = seconds / median[PRODUCTS]
        if PLAIN in median:
            row["ratio_to_plain"] = median[PLAIN] / seconds
        if name == TRAINING:
            row["peak_bytes"] = watched.peak_bytes
        rows.append(row)
    return rows


def _products(run: Run, batch_size: int, device: torch.device) -> Step:
    """The scoring product with its loss, forward and backward; for TARGCN with f before it."""
    assert isinstance(run.model, TARGCN | Factorization)
    size = run.model.entities.shape[1]
    table = torch.randn(len(run.dataset.entities), size, device=device, requires_grad=True)
    weight = (torch.randn(size, size, device=device) / size**0.5).requires_grad_()
    # Scores about as large as a model's: larger ones underflow in the softmax, which is slow.
    vectors = (3.5 * torch.randn(batch_size, size, device=device) / size**0.5).requires_grad_()
    through_f = isinstance(run.model, TARGCN)

    def step(batch: Batch) -> Tensor:
        table.grad = vectors.grad = weight.grad = None
        queries = vectors[: len(batch)]
        scores = (queries @ weight if through_f else queries) @ table.T
        loss = functional.cross_entropy(scores, batch.answers)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    if device.type != "cuda":
        return step
    replay = CUDAGraphed(step, device)
    return lambda batch: replay(Batch(batch.queries, batch.answers, Columns()))


def _plain_step(model: Any) -> Step:
    optimizer = model.optimizer()

    def step(batch: Batch) -> None:
        queries = batch.queries
        with matmul_precision("highest"):
            loss = model.loss(queries.subjects, queries.relations, queries.times, batch.answers)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
