"""The sampler's time, and what its window misses."""

import numpy as np
import pytest
import torch

from bench_results import TINY, sane
from oracle import World
from targcn.bench.sampler import measure_sampler, missed_mass, window_starts
from targcn.graph.neighbors import Sampling, sample_neighbors


def test_sampler() -> None:
    result = measure_sampler(TINY, queries=40, device="cpu")
    rows = sane(result)
    assert result.data["shape"]["facts"] == 400
    assert [row["window"] for row in rows if row["what"] == "sampler"] == [256, 512, 1024, 0] * 3
    assert len(rows) == 15
    assert all("ratio_to_plain" in row for row in rows if row["what"] == "sampler")
    assert {row["missed_worst"] for row in rows if row.get("window") == 0} == {0.0}


def test_the_mass_that_a_window_misses() -> None:
    facts = [(0, 0, n % 3, n % 31) for n in range(1200)]
    graph = World(3, 1, facts).graph
    entities, times = torch.tensor([0, 1, 2]), torch.tensor([3, 30, 12])
    missed = missed_mass(graph, entities, times, Sampling(decay=5.0, weight_floor=1e-3))
    for row, (entity, now) in enumerate(zip([0, 1, 2], [3, 30, 12], strict=True)):
        first, last = int(graph.offsets[entity]), int(graph.offsets[entity + 1])
        weights = [np.exp(-abs(int(time) - now) / 5) + 1e-3 for time in graph.times[first:last]]
        for window in (256, 512, 1024):
            low = int(window_starts(graph, entities, times, window)[row]) - first
            inside = sum(weights[low : low + window])
            assert float(missed[window][row]) == pytest.approx(1 - inside / sum(weights), abs=1e-12)
    assert float(missed[256][0]) > float(missed[512][0]) > 0


def test_the_window_is_where_the_sampler_lays_it() -> None:
    graph = World(2, 1, [(0, 0, 1, n % 40) for n in range(600)]).graph
    entities, times = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 39, 20, 7])
    # All but one of the window's facts are sampled; each has its relation and time in common with
    # others, so what is compared is how often each time is met.
    found = sample_neighbors(graph, entities, times, Sampling(255, decay=50.0, window=256), seed=0)
    firsts = window_starts(graph, entities, times, 256)
    for row, first in enumerate(firsts.tolist()):
        inside = torch.bincount(graph.times[first : first + 256].long(), minlength=40)
        met = torch.bincount((found.deltas[row] + times[row]).long(), minlength=40)
        assert int((inside - met).min()) >= 0
        assert int((inside - met).sum()) == 1
