"""What grows with the number of facts, and what does not.

For each size a prepared folder is generated in one process, then loaded, built into a graph and
sampled from in another, so that each has its own peak of memory.
"""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import torch

from targcn.bench.generated_data import Shape
from targcn.bench.measure import (
    Progress,
    Result,
    Row,
    check_at_least,
    clock,
    describe_machine,
    peak_bytes,
    run_apart,
)
from targcn.bench.sampler import NEIGHBORS, time_batches
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.neighbors import Sampling
from targcn.graph.temporal_graph import TemporalGraph

DEFAULT: Final = Shape(entities=1_000_000, relations=200, days=3650)
GENERATION: Final = "targcn.bench.generated_data"


def measure_scale(
    facts: Sequence[int] = (1_000_000, 10_000_000),
    shape: Shape = DEFAULT,
    *,
    queries: int = 2048,
    device: str = "auto",
    folder: Path | str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Seconds, bytes and microseconds per query for these numbers of facts.

    The data sets are written below `folder`, by default where temporary files go, and removed.
    """
    if not facts:
        raise InputError("facts is empty; name at least one number of facts")
    check_at_least(1, queries=queries)
    place = choose_device(device)
    shapes = [replace(shape, facts=count) for count in facts]
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder} to write the data sets in")
    rows: list[Row] = []
    for number, one in enumerate(shapes, 1):
        with tempfile.TemporaryDirectory(dir=folder) as kept:
            data = str(Path(kept) / "data")
            made = run_apart(GENERATION, "generate_into", folder=data, shape=asdict(one))
            used = run_apart(__name__, "use_prepared", folder=data, queries=queries, device=device)
            rows.append({"facts": one.facts} | made | used)
        if progress is not None:
            progress(number, len(shapes))
    smallest, largest = (choose(rows, key=_facts_of) for choose in (min, max))
    growth = largest["microseconds_per_query"] / smallest["microseconds_per_query"]
    arguments = {"queries": queries, "neighbors": NEIGHBORS, "device": str(place)}
    described = {"name": "generated", "shape": asdict(shape) | {"facts": list(facts)}}
    summary = {"growth_of_microseconds_per_query": growth} if len(rows) > 1 else {}
    return Result("scale", arguments, described, describe_machine(place), rows, summary)


def use_prepared(folder: str, queries: int, device: str) -> Row:
    """Load a prepared folder, build its graph, sample from it, in its own process."""
    place = choose_device(device)
    begin = clock(place)
    dataset = Dataset.load(folder)
    loaded = clock(place)
    graph = TemporalGraph.of_context(dataset, "train").to(place)
    built = clock(place)
    # Entities in proportion to their facts, each at the time of one of them.
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randint(len(graph), (queries,), generator=generator).to(place)
    entities, times = graph.keys[chosen] // graph.span, graph.times[chosen]
    how = Sampling(NEIGHBORS, decay=2.0, weight_floor=1e-9, window=512)
    seconds = statistics.median(time_batches(graph, entities, times, how))
    num_facts = len(dataset.train)
    row = {
        "load_seconds": loaded - begin,
        "graph_seconds": built - loaded,
        "facts_per_second": num_facts / (built - loaded),
        "bytes_per_fact": graph.num_bytes / num_facts,
        "microseconds_per_query": seconds * 1e6,
        "peak_bytes": peak_bytes(),
    }
    return row | ({"peak_device_bytes": peak_bytes(place)} if place.type == "cuda" else {})


def _facts_of(row: Row) -> int:
    return int(row["facts"])
