"""Temporal neighbourhoods: which facts a query gets to see.

Takes a context graph and pairs (entity, time); gives, for each, at most K facts coming in to the
entity, drawn without replacement with a probability that falls with their distance in time (the
paper's temporal neighbouring graph). Next room: models/targcn.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.facts.graph import TemporalGraph
from targcn.noise import combine, uniform

Strategy = Literal["near", "random", "whole"]
# Candidates looked at together, all rows counted; bounds memory, not results.
MOST_CANDIDATES_AT_ONCE = 8_000_000
# A fact comes in to each of its ends; where they are one entity, twice to that one.
SIDES_OF_A_FACT = 2


@dataclass(frozen=True)
class Sampling:
    """How a neighbourhood is drawn."""

    neighbors: int = 100
    """How many facts are drawn at most (K)."""

    strategy: Strategy = "near"
    """near: by distance in time; random: all alike; whole: every fact, however many."""

    decay: float = 1.0
    """Ticks over which the weight of a fact falls to 1/e: exp(-|Δ| / decay)."""

    weight_floor: float = 0.0
    """Added to every weight (the published code: 1e-9)."""

    search_range: int | None = None
    """Only facts at most this many ticks away; none: the whole timeline."""

    window: int = 1024
    """Candidates: this many facts nearest in the order of time; 0: all, which is exact."""

    def __post_init__(self) -> None:
        if self.neighbors < 1:
            raise InputError(f"neighbors is {self.neighbors}; at least 1 was expected")
        if not self.decay > 0:
            raise InputError(f"decay is {self.decay}; a number above 0 was expected")
        if self.weight_floor < 0:
            raise InputError(f"weight_floor is {self.weight_floor}; it cannot be negative")
        if self.search_range is not None and self.search_range < 0:
            raise InputError(f"search_range is {self.search_range}; it cannot be negative")
        if self.window != 0 and self.window <= self.neighbors:
            raise InputError(
                f"window is {self.window}; more than neighbors ({self.neighbors}), or 0 for all"
            )


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Facts seen by each query: one row per query, one column per place, some of them empty."""

    entities: Tensor
    relations: Tensor
    # Time of the fact less the time of the query, in ticks; its sign counts.
    deltas: Tensor
    filled: Tensor

    def __len__(self) -> int:
        return len(self.entities)


@dataclass(frozen=True, eq=False)
class Hidden:
    """For each row one fact it must not see, from whichever end the row looks at it."""

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor

    def repeat(self, times_each: int) -> "Hidden":
        """Every row this many times in a row."""
        columns = (self.subjects, self.relations, self.objects, self.times)
        return Hidden(*(column.repeat_interleave(times_each) for column in columns))


def sample(
    graph: TemporalGraph,
    entities: Tensor,
    times: Tensor,
    how: Sampling,
    seed: Tensor | int,
    hidden: Hidden | None = None,
) -> Neighborhood:
    """Draw the neighbourhood of each (entity, time); the same seed draws the same.

    Drawing K without replacement by weight is the same as giving each fact the key
    log weight + Gumbel noise and taking the K largest. With a window, facts farther away in the
    order of time than `window / 2` places are no candidates; the missed probability is measured
    in benchmarks/sampler.py.
    """
    entities, times = entities.long(), times.long()
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    width = how.window if how.strategy == "near" and how.window else 0
    if width == 0 or width >= len(graph):
        width = max(int((ends - starts).max()), 1) if len(entities) else 1
    else:
        # The middle of the query's moment among the entity's facts; the window around it.
        moments = entities * graph.span + times.clamp(min=0, max=graph.span - 1)
        here = torch.searchsorted(graph.keys, moments)
        here = (here + torch.searchsorted(graph.keys, moments, right=True)) // 2
        starts = torch.maximum(starts, torch.minimum(here - width // 2, ends - width))
    keep = how.neighbors + (SIDES_OF_A_FACT if hidden is not None else 0)
    keep = width if how.strategy == "whole" else min(keep, width)
    rows_at_once = max(MOST_CANDIDATES_AT_ONCE // width, 1)
    parts = []
    for first in range(0, len(entities), rows_at_once) or [0]:
        rows = slice(first, first + rows_at_once)
        row_hashes = combine(seed, entities[rows], times[rows])
        parts.append(
            _draw(graph, starts[rows], ends[rows], times[rows], row_hashes, how, width, keep)
        )
    positions = torch.cat([part[0] for part in parts])
    filled = torch.cat([part[1] for part in parts])
    found = Neighborhood(
        graph.subjects[positions],
        graph.relations[positions],
        graph.times[positions] - times[:, None],
        filled,
    )
    if hidden is None:
        return found
    return _hide(found, entities, times, hidden, graph.num_relations, how)


def _draw(
    graph: TemporalGraph,
    starts: Tensor,
    ends: Tensor,
    times: Tensor,
    row_hashes: Tensor,
    how: Sampling,
    width: int,
    keep: int,
) -> tuple[Tensor, Tensor]:
    """Positions of the facts drawn for each row, and which of them are there at all."""
    positions = starts[:, None] + torch.arange(width, device=starts.device)
    there = positions < ends[:, None]
    positions = positions.clamp(max=max(len(graph) - 1, 0))
    if len(graph) == 0:
        empty = torch.zeros_like(positions[:, :0])
        return empty, empty.bool()
    distances = (graph.times[positions] - times[:, None]).abs()
    if how.search_range is not None:
        there &= distances <= how.search_range
    if how.strategy == "whole":
        return positions, there
    keys = -torch.log(-torch.log(uniform(row_hashes[:, None], positions)))
    if how.strategy == "near":
        if how.weight_floor == 0:
            # Only differences count, so what a time outside the timeline adds to all is left
            # out: far away it would swallow the noise.
            outside = (-times).clamp(min=0) + (times - (graph.span - 1)).clamp(min=0)
            distances = distances - outside[:, None]
        weights = distances.to(torch.float32) / -how.decay
        if how.weight_floor > 0:
            floor = weights.new_full((), math.log(how.weight_floor))
            weights = torch.logaddexp(weights, floor)
        keys = keys + weights
    keys = keys.masked_fill(~there, -torch.inf)
    largest = torch.topk(keys, keep, dim=1)
    return positions.gather(1, largest.indices), largest.values > -torch.inf


def _hide(
    found: Neighborhood,
    entities: Tensor,
    times: Tensor,
    hidden: Hidden,
    num_relations: int,
    how: Sampling,
) -> Neighborhood:
    """Empty the places of the hidden facts: the one place where an answer could leak.

    More than K facts were drawn, by as many as the hidden one can fill. Taking a fact out of such
    a draw leaves the order of the others as it was, so this is the draw of K facts from a graph
    without the hidden one. (A fact that stands there several times goes too, but leaves gaps.)
    """
    reciprocal = (hidden.relations + num_relations) % (2 * num_relations)
    sides = (
        (hidden.objects, hidden.subjects, hidden.relations),
        (hidden.subjects, hidden.objects, reciprocal),
    )
    then = found.deltas == (hidden.times - times)[:, None]
    filled = found.filled
    for here, there, relation in sides:
        own = (found.entities == there[:, None]) & (found.relations == relation[:, None])
        filled = filled & ~(own & then & (entities == here)[:, None])
    if how.strategy != "whole":
        filled = filled & (filled.cumsum(1) <= how.neighbors)
    return Neighborhood(found.entities, found.relations, found.deltas, filled)
