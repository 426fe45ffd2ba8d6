"""What a query's neighbourhood costs, and what the sampler's window misses of it.

The missed mass is the share of the probability (weights exp(-|Δ|/decay) + floor over all facts of
the subject) that lies outside the window of a training query.
"""

import statistics
from typing import Final

import numpy as np
import torch
from torch import Tensor

from targcn.bench.generated_data import Shape, open_source
from targcn.bench.measure import (
    Progress,
    Result,
    Row,
    check_at_least,
    clock,
    describe_machine,
    forget_peak,
    peak_bytes,
)
from targcn.bench.plain import sample_near
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.neighbors import Sampling, sample_neighbors
from targcn.graph.queries import queries_of
from targcn.graph.ragged import expand_ranges
from targcn.graph.temporal_graph import TemporalGraph

NEIGHBORS: Final = 100
WINDOWS: Final = (256, 512, 1024, 0)
# The paper's weights, the published code's, and wider ones.
WEIGHTS: Final = ((1.0, 0.0), (2.0, 1e-9), (5.0, 0.0))
# Looking at every fact is slow, in numpy and here: this many queries are enough.
MOST_SLOW_QUERIES: Final = 256
BATCH_SIZE: Final = 128
TIMES_ON_A_GPU: Final = 9
MOST_CANDIDATES_AT_ONCE: Final = 8_000_000


def measure_sampler(
    source: Dataset | Shape,
    *,
    queries: int = 2048,
    device: str = "auto",
    plain: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Microseconds per query and missed mass for several windows and weights, K being 100."""
    check_at_least(1, queries=queries)
    place = choose_device(device)
    dataset, data = open_source(source)
    if len(dataset.train) == 0:
        raise InputError(f"{dataset.name} has no facts in its train split; nothing to sample")
    graph = TemporalGraph.of_context(dataset, "train").to(place)
    asked, _ = queries_of(dataset.train, len(dataset.relations))
    order = torch.randperm(len(asked), generator=torch.Generator().manual_seed(0))[:queries]
    entities, times = asked.subjects[order].to(place), asked.times[order].to(place)
    rows: list[Row] = []
    for number, (decay, floor) in enumerate(WEIGHTS):
        weights = {"decay": decay, "weight_floor": floor}
        missed = missed_mass(graph, entities, times, decay, floor)
        slow = slice(0, MOST_SLOW_QUERIES)
        loop = None
        if plain:
            loop = _time_loop(graph, entities[slow], times[slow], decay, floor)
        for position, window in enumerate(WINDOWS):
            some = slice(None) if window else slow
            how = Sampling(NEIGHBORS, decay=decay, weight_floor=floor, window=window)
            row = _time_sampler(graph, entities[some], times[some], how)
            row = {"what": "sampler", **weights, "window": window} | row
            row["missed_mean"] = float(missed[window].mean())
            row["missed_worst"] = float(missed[window].max())
            if loop is not None:
                row["ratio_to_plain"] = (
                    loop["microseconds_per_query"] / row["microseconds_per_query"]
                )
            rows.append(row)
            if progress is not None:
                progress(number * len(WINDOWS) + position + 1, len(WEIGHTS) * len(WINDOWS))
        if loop is not None:
            rows.append({"what": "plain loop", **weights} | loop)
    notes = [
        f"window 0 looks at every fact; it and the plain loop were timed on at most "
        f"{MOST_SLOW_QUERIES} queries"
    ]
    return Result(
        "sampler",
        {"queries": len(entities), "neighbors": NEIGHBORS, "device": str(place)},
        data,
        describe_machine(place),
        rows,
        notes=tuple(notes),
    )


def missed_mass(
    graph: TemporalGraph, entities: Tensor, times: Tensor, decay: float, floor: float
) -> dict[int, Tensor]:
    """The share of the weight of each query's facts that lies outside each window."""
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    firsts = {window: window_starts(graph, entities, times, window) for window in WINDOWS}
    missed = {window: torch.zeros(len(entities), dtype=torch.float64) for window in WINDOWS}
    groups = (ends - starts).cumsum(0) // MOST_CANDIDATES_AT_ONCE
    for group in torch.unique(groups):
        chosen = (groups == group).nonzero()[:, 0]
        rows, positions = expand_ranges(starts[chosen], ends[chosen])
        distances = (graph.times[positions] - times[chosen][rows]).abs().double()
        weights = torch.exp(-distances / decay) + floor
        total = _sums(weights, rows, len(chosen))
        for window, first in firsts.items():
            if window == 0:
                continue
            places = positions - first[chosen][rows]
            outside = (places < 0) | (places >= window)
            share = _sums(weights * outside, rows, len(chosen)) / total
            missed[window][chosen.cpu()] = share.cpu()
    return missed


def window_starts(graph: TemporalGraph, entities: Tensor, times: Tensor, window: int) -> Tensor:
    """Where the window of each query begins, as graph/neighbors.py lays it."""
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    if window == 0:
        return starts
    moments = entities * graph.span + times
    here = torch.searchsorted(graph.keys, moments)
    here = (here + torch.searchsorted(graph.keys, moments, right=True)) // 2
    return torch.maximum(starts, torch.minimum(here - window // 2, ends - window))


def _sums(values: Tensor, rows: Tensor, num_rows: int) -> Tensor:
    return values.new_zeros(num_rows).index_add_(0, rows, values)


def time_batches(
    graph: TemporalGraph, entities: Tensor, times: Tensor, how: Sampling
) -> list[float]:
    """Seconds per query of each batch, after one that is not counted."""
    parts = [slice(first, first + BATCH_SIZE) for first in range(0, len(entities), BATCH_SIZE)]
    if graph.device.type == "cuda":
        # On a GPU many steps are sampled at once (training/batches.py).
        parts = [slice(None)] * TIMES_ON_A_GPU
    seconds = []
    for rows in (parts[0], *parts):
        begin = clock(graph.device)
        sample_neighbors(graph, entities[rows], times[rows], how, seed=0)
        seconds.append((clock(graph.device) - begin) / len(entities[rows]))
    return seconds[1:]


def _time_sampler(graph: TemporalGraph, entities: Tensor, times: Tensor, how: Sampling) -> Row:
    forget_peak(graph.device)
    median = statistics.median(time_batches(graph, entities, times, how))
    return {
        "seconds": median * len(entities),
        "microseconds_per_query": median * 1e6,
        "queries_per_second": 1 / median,
        "peak_bytes": peak_bytes(graph.device),
    }


def _time_loop(
    graph: TemporalGraph, entities: Tensor, times: Tensor, decay: float, floor: float
) -> Row:
    random = np.random.default_rng(0)
    all_times, offsets = graph.times.cpu().numpy(), graph.offsets.cpu().numpy()
    cpu = torch.device("cpu")
    begin = clock(cpu)
    for entity, now in zip(entities.tolist(), times.tolist(), strict=True):
        facts = all_times[offsets[entity] : offsets[entity + 1]]
        sample_near(facts, now, NEIGHBORS, decay, floor, random)
    seconds = clock(cpu) - begin
    return {
        "seconds": seconds,
        "microseconds_per_query": seconds / len(entities) * 1e6,
        "queries_per_second": len(entities) / seconds,
    }
