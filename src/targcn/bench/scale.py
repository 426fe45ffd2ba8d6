"""What grows with the number of facts, and what does not.

For each size a prepared folder is generated in one process, then loaded, built into a graph and
sampled from in another, so that each has its own peak of memory.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from targcn.bench import measure
from targcn.bench.generated_data import Shape, for_each_size, generate_into
from targcn.bench.sampler import NEIGHBORS, PUBLISHED, seconds_per_query
from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.temporal_graph import TemporalGraph

DEFAULT: Final = Shape(entities=1_000_000, relations=200, days=3650)


def measure_scale(
    facts: Sequence[int] = (1_000_000, 10_000_000),
    shape: Shape = DEFAULT,
    *,
    queries: int = 2048,
    device: str = "auto",
    folder: Path | str | None = None,
) -> measure.Result:
    """Seconds, bytes and microseconds per query for these numbers of facts.

    The data sets are written below `folder`, by default where temporary files go, and removed.
    """
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder} to write the data sets in")
    require_at_least(1, queries=queries)
    place = choose_device(device)

    def measure_one(shape: Shape, within: Path) -> measure.Row:
        data = within / "data"
        made = measure.run_apart(generate_into, folder=data, shape=shape)
        return made | measure.run_apart(use_prepared, folder=data, queries=queries, device=device)

    rows, described = for_each_size("facts", facts, shape, measure_one, folder)
    figure = "microseconds_per_query"
    summary = measure.compare_sizes(rows, "facts", figure, f"growth_of_{figure}")
    arguments = {"queries": queries, "neighbors": NEIGHBORS, "device": str(place)}
    return measure.Result("scale", arguments, described, place, rows, summary)


def use_prepared(folder: Path, queries: int, device: str) -> measure.Row:
    """Load a prepared folder, build its graph, sample from it, in its own process."""
    place = choose_device(device)
    dataset, loading = measure.timed(lambda: Dataset.load(folder), place)
    graph, building = measure.timed(
        lambda: TemporalGraph.of_context(dataset, "train").to(place), place
    )
    # Entities in proportion to their facts, each at the time of one of them.
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randint(len(graph), (queries,), generator=generator).to(place)
    entities, times = graph.keys[chosen] // graph.span, graph.times[chosen]
    seconds = seconds_per_query(graph, entities, times, PUBLISHED)
    num_facts = len(dataset.train)
    row = {
        "load_seconds": loading,
        "graph_seconds": building,
        "facts_per_second": num_facts / building,
        "bytes_per_fact": graph.num_bytes / num_facts,
        "microseconds_per_query": seconds * 1e6,
        "peak_bytes": measure.peak_bytes(),
    }
    on_gpu = place.type == "cuda"
    return row | ({"peak_device_bytes": measure.peak_bytes(place)} if on_gpu else {})
