"""What a query's neighbourhood costs, and what the sampler's window misses of it.

The missed mass is the share of the probability (weights exp(-|Δ|/decay) + floor over all facts of
the subject) that lies outside the window of a training query.
"""

import statistics
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from benchmarks.plain import sample_near
from targcn.config import require_at_least
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
PUBLISHED: Final = Sampling(NEIGHBORS, decay=2.0, weight_floor=1e-9, window=512)
WEIGHTS: Final = (Sampling(NEIGHBORS, decay=1.0), PUBLISHED, Sampling(NEIGHBORS, decay=5.0))
# Looking at every fact is slow, in numpy and here: this many queries are enough.
MOST_SLOW_QUERIES: Final = 256
BATCH_SIZE: Final = 128
TIMES_ON_A_GPU: Final = 9


def measure_sampler(
    source: Dataset | Shape,
    *,
    queries: int = 2048,
    device: str = "auto",
    plain: bool = True,
) -> measure.Result:
    """Microseconds per query and missed mass for several windows and weights, K being 100."""
    require_at_least(1, queries=queries)
    place = choose_device(device)
    dataset, data = open_source(source)
    if len(dataset.train) == 0:
        raise InputError(f"{dataset.name} has no facts in its train split; nothing to sample")
    graph = TemporalGraph.of_context(dataset, "train").to(place)
    asked, _ = queries_of(dataset.train, len(dataset.relations))
    order = torch.randperm(len(asked), generator=torch.Generator().manual_seed(0))[:queries]
    entities, times = asked.subjects[order].to(place), asked.times[order].to(place)
    few = (entities[:MOST_SLOW_QUERIES], times[:MOST_SLOW_QUERIES])
    rows: list[measure.Row] = []
    for how in measure.counted(WEIGHTS, "sampling", "weights"):
        weights = {"decay": how.decay, "weight_floor": how.weight_floor}
        missed = missed_mass(graph, entities, times, how)
        loop = _time_loop(graph, *few, how) if plain else None
        for window in WINDOWS:
            chosen = (entities, times) if window else few
            measure.forget_peak(place)
            seconds = seconds_per_query(graph, *chosen, replace(how, window=window))
            row = {"what": "sampler", **weights, "window": window}
            row |= _figures(seconds, len(chosen[0])) | {"peak_bytes": measure.peak_bytes(place)}
            row["missed_mean"] = float(missed[window].mean())
            row["missed_worst"] = float(missed[window].max())
            if loop is not None:
                row["ratio_to_plain"] = loop / seconds
            rows.append(row)
        if loop is not None:
            rows.append({"what": "plain loop", **weights} | _figures(loop, len(few[0])))
    note = (
        "window 0 looks at every fact; it and the plain loop were timed on at most "
        f"{MOST_SLOW_QUERIES} queries"
    )
    arguments = {"queries": len(entities), "neighbors": NEIGHBORS, "device": str(place)}
    return measure.Result("sampler", arguments, data, place, rows, notes=(note,))


def missed_mass(
    graph: TemporalGraph, entities: Tensor, times: Tensor, how: Sampling
) -> dict[int, Tensor]:
    """The share of the weight of each query's facts that lies outside each window."""
    missed: dict[int, list[Tensor]] = {window: [] for window in WINDOWS}
    batches = (torch.split(column, BATCH_SIZE) for column in (entities, times))
    for some, now in zip(*batches, strict=True):
        rows, positions = expand_ranges(graph.offsets[some], graph.offsets[some + 1])
        distances = (graph.times[positions] - now[rows]).abs().double()
        weights = torch.exp(-distances / how.decay) + how.weight_floor
        total = torch.bincount(rows, weights, minlength=len(some))
        for window, shares in missed.items():
            # Window 0 is one of all facts.
            size = window or len(graph)
            places = positions - window_starts(graph, some, now, size)[rows]
            outside = (places < 0) | (places >= size)
            lost = torch.bincount(rows, weights * outside, minlength=len(some))
            shares.append(lost / total)
    return {window: torch.cat(shares).cpu() for window, shares in missed.items()}


def window_starts(graph: TemporalGraph, entities: Tensor, times: Tensor, window: int) -> Tensor:
    """Where the window of each query begins, as graph/neighbors.py lays it."""
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    moments = entities * graph.span + times
    here = torch.searchsorted(graph.keys, moments)
    here = (here + torch.searchsorted(graph.keys, moments, right=True)) // 2
    return torch.maximum(starts, torch.minimum(here - window // 2, ends - window))


def seconds_per_query(
    graph: TemporalGraph, entities: Tensor, times: Tensor, how: Sampling
) -> float:
    """The median over the batches, after one that is not counted."""
    parts = [slice(first, first + BATCH_SIZE) for first in range(0, len(entities), BATCH_SIZE)]
    if graph.device.type == "cuda":
        # On a GPU many steps are sampled at once (training/batches.py).
        parts = [slice(None)] * TIMES_ON_A_GPU
    seconds = []
    for rows in (parts[0], *parts):
        sample = partial(sample_neighbors, graph, entities[rows], times[rows], how, seed=0)
        seconds.append(measure.timed(sample, graph.device)[1] / len(entities[rows]))
    return statistics.median(seconds[1:])


def _time_loop(graph: TemporalGraph, entities: Tensor, times: Tensor, how: Sampling) -> float:
    """Seconds per query of the plain loop, which runs on the CPU."""
    random = np.random.default_rng(0)
    all_times, offsets = graph.times.cpu().numpy(), graph.offsets.cpu().numpy()
    begin = measure.clock()
    for entity, now in zip(entities.tolist(), times.tolist(), strict=True):
        facts = all_times[offsets[entity] : offsets[entity + 1]]
        sample_near(facts, now, how, random)
    return (measure.clock() - begin) / len(entities)


def _figures(seconds_per_query: float, num_queries: int) -> measure.Row:
    return {
        "seconds": seconds_per_query * num_queries,
        "microseconds_per_query": seconds_per_query * 1e6,
        "queries_per_second": 1 / seconds_per_query,
    }
