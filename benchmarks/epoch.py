"""Seconds per epoch of TARGCN on 2 CPU cores, beside a plain loop and beside its products alone.

Needs ICEWS14 (see `targcn data list`). All three are timed in one run, step by step in turn, at
size 300 and batch 128. Wanted: at least 15 times as fast as the plain loop.
"""

import statistics
import time
from collections.abc import Callable

import torch

from measure import keep
from plain_targcn import PlainTARGCN
from targcn import TemporalGraph, open_dataset
from targcn.models import create
from targcn.models.contract import Queries, queries_of

SIZE, BATCH, NUM_STEPS = 300, 128, 20


def main() -> None:
    dataset = open_dataset("icews14")
    sizes = len(dataset.entities), len(dataset.relations)
    graph = TemporalGraph.of(dataset.train, *sizes)
    queries, answers = queries_of(dataset.train, sizes[1])
    settings = {"size": SIZE, "decay": 2.0, "weight_floor": 1e-9, "time_factor": 24.0}
    ours = create("targcn", dataset, settings | {"own_fact": "kept"})
    plain = PlainTARGCN(dataset.train, *sizes, SIZE)
    optimizers = {
        model: torch.optim.Adam(model.parameters(), fused=True) for model in (ours, plain)
    }
    # Scores of the size a model has: larger ones underflow in the softmax, which is slow.
    table = torch.randn(sizes[0], SIZE, requires_grad=True)
    vectors = (0.2 * torch.randn(BATCH, SIZE)).requires_grad_()
    order = torch.randperm(len(queries), generator=torch.Generator().manual_seed(0))

    def our_step(rows: torch.Tensor) -> None:
        batch = Queries(queries.subjects[rows], queries.relations[rows], queries.times[rows])
        drawn = ours.draw(batch, answers[rows], graph, int(rows[0]))
        ours.loss(batch, answers[rows], drawn).backward()
        optimizers[ours].step()
        optimizers[ours].zero_grad()

    def plain_step(rows: torch.Tensor) -> None:
        columns = (queries.subjects[rows], queries.relations[rows], queries.times[rows])
        plain.loss(*columns, answers[rows]).backward()
        optimizers[plain].step()
        optimizers[plain].zero_grad()

    def product_step(rows: torch.Tensor) -> None:
        torch.nn.functional.cross_entropy(vectors @ table.T, answers[rows]).backward()
        table.grad = vectors.grad = None

    ours.train()
    steps: dict[str, Callable[[torch.Tensor], None]] = {
        "plain loop": plain_step,
        "targcn": our_step,
        "scoring product and loss alone": product_step,
    }
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(NUM_STEPS):
        rows = order[number * BATCH : (number + 1) * BATCH]
        for name, step in steps.items():
            start = time.perf_counter()
            step(rows)
            seconds[name].append(time.perf_counter() - start)
    per_epoch = len(queries) / BATCH
    median = {name: statistics.median(values[3:]) for name, values in seconds.items()}
    lines = [
        f"icews14, size {SIZE}, batch {BATCH}, {torch.get_num_threads()} threads, "
        f"median of {NUM_STEPS - 3} steps",
        f"{'':32} {'ms per step':>12} {'s per epoch':>12} {'ratio':>7}",
    ]
    for name, value in median.items():
        ratio = median["plain loop"] / value
        lines.append(f"{name:32} {value * 1e3:12.1f} {value * per_epoch:12.1f} {ratio:7.1f}")
    keep("epoch", lines)


if __name__ == "__main__":
    main()
