"""Temporal neighbourhoods: which facts a query gets to see.

For each pair (entity, time), at most K facts that come in to the entity are sampled from a context
graph, without replacement, with a probability that falls with their distance in time (the paper's
temporal neighbouring graph, equation 1). What a query must not see yet is cut off in
`sample_neighbors`; facts are hidden by hidden.py.
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from targcn.config import require_least, require_positive
from targcn.errors import InputError
from targcn.graph.columns import Columns
from targcn.graph.hidden import SIDES_OF_A_FACT, HiddenFacts, hide_in_sample
from targcn.graph.random import combine, shifted, uniform
from targcn.graph.temporal_graph import TemporalGraph, moments_near

Strategy = Literal["near", "random", "whole"]
# Candidates weighed together, over all rows; bounds memory, not results.
MOST_CANDIDATES_AT_ONCE = 8_000_000
# Below this a weight would be a subnormal number, which slows processors down tenfold.
LEAST_EXPONENT = -80.0


@dataclass(frozen=True)
class Sampling:
    """How a neighbourhood is sampled."""

    neighbors: int = 50
    """How many facts are sampled at most (K)."""

    strategy: Strategy = "near"
    """near: by distance in time; random: all facts alike; whole: every fact, however many."""

    decay: float = 2.0
    """Ticks over which the weight of a fact falls to 1/e: exp(-|Δ| / decay)."""

    weight_floor: float = 0.0
    """Added to every weight (the published code: 1e-9)."""

    search_range: int | None = None
    """Only facts at most this many ticks away; none: the whole timeline."""

    window: int = 256
    """Candidates: this many facts nearest in the order of time; 0: all, which is exact."""

    def __post_init__(self) -> None:
        require_least(self, neighbors=1, weight_floor=0, search_range=0)
        require_positive(self, "decay")
        if self.window != 0 and self.window <= self.neighbors:
            raise InputError(
                f"window is {self.window}; more than neighbors ({self.neighbors}), or 0 for all"
            )


@dataclass(frozen=True, eq=False)
class Neighborhood(Columns):
    """The facts that each query sees: one row per query, one column per place.

    Places that are not filled hold no fact.
    """

    entities: Tensor
    relations: Tensor
    # The time of the fact minus the time of the query, in ticks; an interval's is the nearest one.
    deltas: Tensor
    filled: Tensor


def sample_neighbors(
    graph: TemporalGraph,
    entities: Tensor,
    times: Tensor,
    how: Sampling,
    seed: Tensor | int,
    hidden: HiddenFacts | None = None,
    before: Tensor | None = None,
) -> Neighborhood:
    """Sample the neighbourhood of each (entity, time), with one seed for all rows or one per row.

    If the graph is past only, a row sees the facts before its time or, if given, `before` another.

    Sampling K facts by weight without replacement is a race: each fact arrives after an exponential
    time divided by its weight, and the first K are taken. With a window, facts more than
    `window / 2` places away in the order of time, for intervals of their first ticks, do not start.
    """
    entities, times = entities.long(), times.long()
    before = times if before is None else before
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    latest = torch.full_like(times, graph.span - 1)
    if graph.past_only and len(graph):
        ends = graph.ends_before(entities, before)
        latest = graph.times[(ends - 1).clamp(min=0)].long()
    keep = how.neighbors + (SIDES_OF_A_FACT if hidden is not None else 0)
    width = how.window if how.strategy == "near" and how.window else 0
    if width == 0 or width >= len(graph):
        width = max(int((ends - starts).max()), 1) if len(entities) else 1
        # The same number of places for every batch, so that all batches have one shape.
        width = width if how.strategy == "whole" else max(width, keep)
    else:
        # The window lies around the middle of the facts at the query's time.
        moments = entities * graph.span + times.clamp(min=0, max=graph.span - 1)
        here = torch.searchsorted(graph.keys, moments)
        here = (here + torch.searchsorted(graph.keys, moments, right=True)) // 2
        if graph.past_only:
            here = torch.where(times < before, here, ends)
        starts = torch.maximum(starts, torch.minimum(here - width // 2, ends - width))
    keep = width if how.strategy == "whole" else min(keep, width)
    row_hashes = combine(seed, entities, times)
    inside = times
    if not graph.has_intervals:
        # A time outside the timeline is farther from every fact, by as much as it lies outside.
        inside = torch.minimum(times, latest).clamp(min=0)
    rows_at_once = max(MOST_CANDIDATES_AT_ONCE // width, 1)
    of_rows = starts, ends, inside, (times - inside).abs(), row_hashes
    columns = (torch.split(column, rows_at_once) for column in of_rows)
    parts = [_race(graph, how, width, keep, *part) for part in zip(*columns, strict=True)]
    positions, filled = map(torch.cat, zip(*parts, strict=True))
    subjects, relations = graph.subjects[positions], graph.relations[positions]
    deltas = moments_near(graph, positions, times) - times[:, None]
    near = Neighborhood(subjects, relations, deltas, filled)
    if graph.past_only:
        # Otherwise empty places would hold whatever comes next in the graph.
        near = near.map(lambda column: column.masked_fill(~filled, 0))
    if hidden is None:
        return near
    # Seen from another time than the query's, as a neighbour does, a fact that holds then does not
    # show whether it holds at the query's.
    holds = graph.times[positions] <= hidden.times[:, None]
    holds &= graph.ends[positions] >= hidden.times[:, None]
    # A neighbourhood holds the facts that come in to an entity, which is their object.
    says = hidden.are(subjects, relations, entities[:, None], graph.num_relations)
    most = None if how.strategy == "whole" else how.neighbors
    return replace(near, filled=hide_in_sample(filled, says & holds, most))


def _race(
    graph: TemporalGraph,
    how: Sampling,
    width: int,
    keep: int,
    starts: Tensor,
    ends: Tensor,
    inside: Tensor,
    outside: Tensor,
    row_hashes: Tensor,
) -> tuple[Tensor, Tensor]:
    """The positions of the facts that arrive first in each row, and which of them exist at all."""
    columns = torch.arange(width, device=starts.device)
    positions = starts[:, None] + columns
    gone = positions >= ends[:, None]
    if len(graph) == 0:
        return positions[:, :0], gone[:, :0]
    positions.clamp_(max=len(graph) - 1)
    outside = outside[:, None]
    if not graph.has_intervals:
        distances = graph.times.take(positions).sub_(inside.to(graph.times.dtype)[:, None]).abs_()
    else:
        distances = moments_near(graph, positions, inside).sub_(inside[:, None]).abs_()
    if how.search_range is not None:
        gone |= distances > how.search_range - outside
    if how.strategy == "whole":
        return positions, ~gone
    if graph.numbers is None:
        arrivals = uniform(shifted(row_hashes, starts)[:, None], columns).log_().neg_()
    else:
        arrivals = uniform(row_hashes[:, None], graph.numbers.take(positions)).log_().neg_()
    if how.strategy == "near" and how.weight_floor > 0:
        exponents = (distances * (-1 / how.decay)).clamp_(min=LEAST_EXPONENT)
        weights = exponents.exp_().mul_(torch.exp(outside / -how.decay))
        arrivals /= weights.add_(how.weight_floor)
    elif how.strategy == "near":
        # Without a floor, weights may be too small for a floating-point number; their logarithms
        # are not. Only differences of them matter, so `outside` is left out.
        arrivals = arrivals.log_().add_(distances, alpha=1 / how.decay)
    first = torch.topk(arrivals.masked_fill_(gone, torch.inf), keep, dim=1, largest=False)
    return positions.gather(1, first.indices), first.values < torch.inf
