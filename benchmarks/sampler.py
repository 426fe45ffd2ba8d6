"""What the sampler's window misses, and what a query costs.

Needs ICEWS05-15 (see `targcn data list`). For training queries, the share of the probability
(weights exp(-|Δ|/decay) + floor over all facts of the subject) that lies outside the window, and
microseconds per query at K 100 beside a numpy loop that looks at every fact.
"""

import time

import numpy as np
import torch

from measure import keep
from targcn import TemporalGraph, open_dataset
from targcn.models.contract import queries_of
from targcn.sampling import Sampling, sample

NUM_QUERIES = 2048


def main() -> None:
    dataset = open_dataset("icews05-15")
    graph = TemporalGraph.of(dataset.train, len(dataset.entities), len(dataset.relations))
    queries, _ = queries_of(dataset.train, len(dataset.relations))
    chosen = torch.randperm(len(queries), generator=torch.Generator().manual_seed(0))[:NUM_QUERIES]
    subjects, times = queries.subjects[chosen], queries.times[chosen]
    starts, ends = graph.offsets[subjects], graph.offsets[subjects + 1]
    here = torch.searchsorted(graph.keys, subjects * graph.span + times)
    lines = [
        f"icews05-15, {NUM_QUERIES} training queries, {torch.get_num_threads()} threads",
        f"{'decay':>6} {'floor':>6} {'window':>7} {'missed mean':>13} {'worst':>9} {'µs/query':>9}",
    ]
    for decay, floor in ((1.0, 0.0), (2.0, 1e-9), (5.0, 0.0)):
        for window in (256, 512, 1024, 0):
            how = Sampling(decay=decay, weight_floor=floor, window=window)
            missed = []
            for row in range(NUM_QUERIES):
                first, last = int(starts[row]), int(ends[row])
                distances = (graph.times[first:last] - times[row]).abs().double()
                weights = torch.exp(-distances / decay) + floor
                low = first
                if window:
                    low = max(first, min(int(here[row]) - window // 2, last - window))
                inside = weights[low - first : low - first + window] if window else weights
                missed.append(float(1 - inside.sum() / weights.sum()))
            begin = time.perf_counter()
            for first in range(0, NUM_QUERIES, 128):
                rows = slice(first, first + 128)
                sample(graph, subjects[rows], times[rows], how, seed=0)
            cost = (time.perf_counter() - begin) / NUM_QUERIES * 1e6
            name = window or "all"
            lines.append(
                f"{decay:6} {floor:6.0e} {name:>7} {np.mean(missed):13.1e} {max(missed):9.1e} "
                f"{cost:9.1f}"
            )
    lines.append(f"numpy, query by query: {numpy_loop(graph, subjects[:256], times[:256]):.1f} µs")
    keep("sampler", lines)


def numpy_loop(graph: TemporalGraph, subjects: torch.Tensor, times: torch.Tensor) -> float:
    random = np.random.default_rng(0)
    all_times, offsets = graph.times.numpy(), graph.offsets.numpy()
    begin = time.perf_counter()
    for subject, now in zip(subjects.tolist(), times.tolist(), strict=True):
        facts = all_times[offsets[subject] : offsets[subject + 1]]
        weights = np.exp(-np.abs(facts - now) / 2) + 1e-9
        count = min(100, len(facts))
        random.choice(len(facts), count, replace=False, p=weights / weights.sum())
    return (time.perf_counter() - begin) / len(subjects) * 1e6


if __name__ == "__main__":
    main()
