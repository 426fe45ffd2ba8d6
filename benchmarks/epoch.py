"""How long an epoch of training takes, beside its matrix products alone and a plain version.

The steps are those of the training loop, with its CUDA graph on a GPU. The three take turns in one
run: after each step on a CPU, after each epoch on a GPU.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, cycle, islice
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from benchmarks.plain import find_plain
from benchmarks.untrained import describe_run, make_untrained
from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Facts
from targcn.graph.columns import Columns
from targcn.models.base import Learner
from targcn.models.factorization import Factorization
from targcn.models.targcn import TARGCN
from targcn.runs.run import Run
from targcn.training.batches import Batch
from targcn.training.cuda_graph import CUDAGraphed
from targcn.training.loop import Trainer, matmul_precision
from targcn.training.optimizers import set_learning_rate

TRAINING: Final = "training"
PRODUCTS: Final = "scoring products and loss alone"
PLAIN: Final = "plain loop"
# How many steps (CPU) or epochs (GPU) are timed, and how many go before them untimed.
STEPS, STEPS_BEFORE = 17, 3
EPOCHS, EPOCHS_BEFORE = 5, 1
# Steps of the two others in one turn on a GPU, on a few batches; on a CPU it is one.
TURNS: Final = {PRODUCTS: 200, PLAIN: 3}
MOST_BATCHES: Final = 3
# By then a CUDA graph is recorded.
TURNS_BEFORE: Final = CUDAGraphed.NUM_WARM_UP + 2

Step = Callable[[Batch], Any]


def measure_epoch(
    source: Dataset | Shape,
    *,
    model: str = "targcn",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    repeats: int | None = None,
    device: str = "auto",
    plain: bool = True,
) -> measure.Result:
    """Milliseconds per step and seconds per epoch: medians over `repeats` steps (GPU: epochs)."""
    place = choose_device(device)
    on_gpu = place.type == "cuda"
    if repeats is None:
        repeats = EPOCHS if on_gpu else STEPS
    require_at_least(1, repeats=repeats)
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

    trainer = Trainer(run, None, place)
    seconds, peak = time_turns(trainer, repeats, bring_others, by_epoch=on_gpu)
    rows = [_row(name, seconds, trainer) for name in seconds]
    rows[0]["peak_bytes"] = peak
    named = ("batch_size", "matmul_precision", "compile")
    arguments = describe_run(run) | {name: getattr(training, name) for name in named}
    arguments |= {"repeats": repeats, "device": str(place)}
    return measure.Result("epoch", arguments, data, place, rows, notes=notes)


def time_turns(
    trainer: Trainer,
    repeats: int,
    bring_others: Callable[[], Mapping[str, Step]],
    by_epoch: bool,
) -> tuple[dict[str, float], int]:
    """Seconds per step of a training and of the others, and the peak of memory before these."""
    sizes = {TRAINING: _steps_per_epoch(trainer) if by_epoch else 1.0}
    steps: dict[str, Step] = {TRAINING: _training_step(trainer)}
    batches = {TRAINING: _endless_batches(trainer, by_epoch)}

    def take(name: str, num_steps: float) -> None:
        for batch in islice(batches[name], math.ceil(num_steps)):
            steps[name](batch)

    for _ in range(EPOCHS_BEFORE if by_epoch else STEPS_BEFORE):
        take(TRAINING, sizes[TRAINING])
    peak = measure.peak_bytes(trainer.device)
    few = islice(trainer.batches.of_epoch(0), min(MOST_BATCHES, max(trainer.num_steps - 1, 1)))
    # Copies, or everything that was sampled together with them would be kept.
    kept = [batch.map(torch.clone) for batch in few]
    for name, step in bring_others().items():
        steps[name], batches[name] = step, cycle(kept)
        sizes[name] = TURNS[name] if by_epoch else 1.0
        take(name, TURNS_BEFORE)
    turns = {name: partial(take, name, size) for name, size in sizes.items()}
    seconds = measure.take_turns(turns, repeats, trainer.device)
    return {name: seconds[name] / size for name, size in sizes.items()}, peak


def _steps_per_epoch(trainer: Trainer) -> float:
    if trainer.model.times_per_batch is not None:
        return float(trainer.num_steps)
    return max(trainer.batches.num_queries / trainer.batches.batch_size, 1.0)


def _endless_batches(trainer: Trainer, by_epoch: bool) -> Iterator[Batch]:
    """Epoch after epoch; where steps are timed, without the last, which may be smaller."""
    for epoch in count():
        trainer.model.train()
        trainer.model.start_epoch(epoch)
        batches = trainer.batches.of_epoch(epoch)
        yield from batches if by_epoch else islice(batches, max(trainer.num_steps - 1, 1))


def _training_step(trainer: Trainer) -> Step:
    loss_sum = torch.zeros((), dtype=torch.float64, device=trainer.device)

    def step(batch: Batch) -> None:
        set_learning_rate(trainer.optimizer, trainer.settings.learning_rate)
        loss_sum.add_(trainer.take_step(batch))

    return step


def _row(name: str, seconds: Mapping[str, float], trainer: Trainer) -> measure.Row:
    of_epoch = seconds[name] * _steps_per_epoch(trainer)
    row = {
        "what": name,
        "milliseconds_per_step": seconds[name] * 1e3,
        "seconds_per_epoch": of_epoch,
        "queries_per_second": trainer.batches.num_queries / of_epoch,
    }
    if PRODUCTS in seconds:
        row["ratio_to_products"] = seconds[name] / seconds[PRODUCTS]
    if PLAIN in seconds:
        row["ratio_to_plain"] = seconds[PLAIN] / seconds[name]
    return row


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
