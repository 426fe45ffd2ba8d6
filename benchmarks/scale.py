"""What grows with the number of facts, and what does not.

For each size a prepared folder is generated, indexed, opened and sampled from, trained on and asked
a question, each in a process of its own, so that each has its own peak of memory.
"""

import statistics
from collections.abc import Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Final

import torch

from benchmarks import measure
from benchmarks.generated_data import Shape, for_each_size, generate_into
from benchmarks.sampler import NEIGHBORS, PUBLISHED, seconds_per_query
from benchmarks.untrained import make_untrained
from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.sources.prepared_folder import INDEX
from targcn.graph.stored import write_index
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.predictor import Predictor
from targcn.runs.run import Run
from targcn.training.loop import Trainer

DEFAULT: Final = Shape(entities=1_000_000, relations=200, days=3650)
CANDIDATES: Final = 1024
QUESTIONS: Final = 20


def measure_scale(
    facts: Sequence[int] = (1_000_000, 10_000_000),
    shape: Shape = DEFAULT,
    *,
    queries: int = 2048,
    steps: int = 0,
    device: str = "auto",
    folder: Path | str | None = None,
) -> measure.Result:
    """Seconds, bytes and microseconds per query for these numbers of facts.

    The data sets are written below `folder`, by default where temporary files go, and removed.
    """
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder} to write the data sets in")
    require_at_least(1, queries=queries)
    require_at_least(0, steps=steps)
    place = choose_device(device)

    def measure_size(shape: Shape, within: Path) -> measure.Row:
        data = within / "data"
        row = measure.run_apart(generate_into, folder=data, shape=shape)
        if not shape.longest:
            row |= measure.run_apart(index_prepared, folder=data)
        row |= measure.run_apart(use_prepared, folder=data, queries=queries, device=device)
        if steps:
            row |= measure.run_apart(train_prepared, folder=data, steps=steps, device=device)
        return row

    rows, described = for_each_size("facts", facts, shape, measure_size, folder)
    figure = "microseconds_per_query"
    summary = measure.compare_sizes(rows, "facts", figure, f"growth_of_{figure}")
    arguments = {"queries": queries, "neighbors": NEIGHBORS, "steps": steps, "device": str(place)}
    return measure.Result("scale", arguments, described, place, rows, summary)


def index_prepared(folder: Path) -> measure.Row:
    """Sort the facts of a prepared folder into its index, in its own process."""
    _, seconds = measure.timed(lambda: write_index(Dataset.load(folder), folder))
    size = sum(path.stat().st_size for path in (folder / INDEX).rglob("*.npy"))
    peak = {"index_peak_bytes": measure.peak_bytes(), "index_file_bytes": size}
    return {"index_seconds": seconds} | peak


def use_prepared(folder: Path, queries: int, device: str) -> measure.Row:
    """Open a prepared folder and its graph, sample from it, in its own process."""
    place = choose_device(device)
    dataset, loading = measure.timed(lambda: Dataset.load(folder), place)
    graph, opening = measure.timed(
        lambda: TemporalGraph.of_context(dataset, "train").to(place), place
    )
    # Entities in proportion to their facts, each at the time of one of them.
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randint(len(graph), (queries,), generator=generator).to(place)
    entities, times = graph.keys[chosen] // graph.span, graph.times[chosen]
    # Once to bring what is looked at into memory.
    _, seconds = (seconds_per_query(graph, entities, times, PUBLISHED) for _ in range(2))
    row = {
        "load_seconds": loading,
        "graph_seconds": opening,
        "bytes_per_fact": graph.num_bytes / len(dataset.train),
        "microseconds_per_query": seconds * 1e6,
        "peak_bytes": measure.peak_bytes(),
    }
    on_gpu = place.type == "cuda"
    return row | ({"peak_device_bytes": measure.peak_bytes(place)} if on_gpu else {})


def train_prepared(folder: Path, steps: int, device: str) -> measure.Row:
    """Some steps of the evidence model with sampled candidates, and a question, on their own."""
    place = choose_device(device)
    dataset = Dataset.load(folder)
    run = make_untrained(dataset, "evidence", None, {"candidates": CANDIDATES})
    speed = _train(run, steps, place)
    training = measure.peak_bytes()
    predictor = Predictor(run, device=place)

    def ask(number: int) -> None:
        subject, relation, _, time = dataset.named("train", number)
        predictor.predict(subject, relation, None, time)

    each = [measure.timed(partial(ask, number), place)[1] for number in range(QUESTIONS + 1)]
    return {
        "training_queries_per_second": speed,
        "training_peak_bytes": training,
        "milliseconds_per_question": statistics.median(each[1:]) * 1e3,
        "answering_peak_bytes": measure.peak_bytes(),
    }


def _train(run: Run, steps: int, device: torch.device) -> float:
    """The queries that are trained on in a second, after a step that is not counted."""
    trainer = Trainer(run, None, device)
    batches = chain.from_iterable(trainer.batches.of_epoch(epoch) for epoch in count())

    def take_step() -> None:
        trainer.take_step(next(batches))

    seconds = [measure.timed(take_step, device)[1] for _ in range(steps + 1)]
    return run.recipe.training.batch_size / statistics.median(seconds[1:])
