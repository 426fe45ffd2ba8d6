"""The facts of an entity nearest in time.

Facts that are sorted by time have their nearest ones side by side, so a window is a start and a
length; no fact outside it is looked at. A fact that holds over an interval is seen at its moment
nearest to the query's time, which is that time itself while it holds.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.ragged import take
from targcn.graph.temporal_graph import TemporalGraph, find_first, moments_near, reciprocal_of

# Of the facts that began before a time, the latest ones are asked whether they hold then: this many
# times as many as are wanted.
LOOKED_BACK = 4


@dataclass(frozen=True, eq=False)
class NearestFacts(Columns):
    """Facts seen from one of their ends: one row per query, one column per place.

    Places that are not filled hold no fact. The time of an interval is its moment nearest to the
    query's.
    """

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor
    filled: Tensor


def nearest_of_entities(
    graph: TemporalGraph, entities: Tensor, times: Tensor, count: int
) -> NearestFacts:
    """The `count` facts of each entity nearest to its time, with the entity as their subject."""
    entities = entities.long()
    places, filled = nearest_positions(graph, entities, times, count)
    return NearestFacts(
        entities[:, None].expand_as(places),
        reciprocal_of(take(graph.relations, places), graph.num_relations).long(),
        take(graph.subjects, places).long(),
        moments_near(graph, places, times),
        filled,
    )


def nearest_positions(
    graph: TemporalGraph, entities: Tensor, times: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Where the `count` facts nearest to its time come in to each entity, and which exist.

    Of the intervals that began before the time, the latest ones (LOOKED_BACK · count) and those
    that ended latest are looked at: one that began earlier and still holds is not found.
    """
    entities, times = entities.long(), times.long()
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    here = graph.ends_before(entities, times)
    if graph.by_end is not None:
        return _nearest_intervals(graph, starts, ends, here, entities, times, count)
    ends = here if graph.past_only else ends
    return _nearest(graph.times, starts, ends, here, times, count)


def _nearest_intervals(
    graph: TemporalGraph,
    starts: Tensor,
    ends: Tensor,
    here: Tensor,
    entities: Tensor,
    times: Tensor,
    count: int,
) -> tuple[Tensor, Tensor]:
    """The same for intervals: the nearest among those that may be, in the order of the facts.

    These are the latest to begin before the time, the latest to end before it, and the first to
    begin from it on. Of two as far, the one that comes first in this list is taken.
    """
    assert graph.by_end is not None
    by_end, device, num_facts = graph.by_end, starts.device, len(graph)
    back = torch.arange(min(LOOKED_BACK * count, num_facts), device=device)
    steps = torch.arange(count, device=device)
    begun = here[:, None] - 1 - back
    ended_before = find_first(by_end.keys, by_end.span, entities, times.clamp(max=by_end.span - 1))
    places = ended_before[:, None] - 1 - steps
    ended = by_end.positions[places.clamp(min=0)]
    # Those that also began late are in the first list already.
    ended_before_back = (places >= starts[:, None]) & (ended < here[:, None] - len(back))
    later = here[:, None] + steps
    candidates = torch.cat([begun, ended, later], dim=1)
    exists = [begun >= starts[:, None], ended_before_back, later < ends[:, None]]
    if num_facts == 0 or count == 0:
        return candidates[:, :0], candidates[:, :0] > 0
    candidates.clamp_(min=0, max=num_facts - 1)
    distances = (moments_near(graph, candidates, times) - times[:, None]).abs_()
    # One number to sort by, distance and place; no timeline is so long that it is cut here.
    columns = torch.arange(candidates.shape[1], device=device)
    far = torch.iinfo(torch.int64).max
    order = distances.clamp_(max=far // len(columns) - 1) * len(columns) + columns
    order.masked_fill_(~torch.cat(exists, dim=1), far)
    first = torch.topk(order, count, dim=1, largest=False)
    places = candidates.gather(1, first.indices).masked_fill_(first.values == far, num_facts)
    places = torch.sort(places, dim=1).values
    return places.clamp(max=num_facts - 1), places < num_facts


def _nearest(
    sorted_times: Tensor, starts: Tensor, ends: Tensor, here: Tensor, times: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """The positions of the `count` nearest in [start, end), and which of them exist.

    The i-th fact before a time is among them if fewer than `count` - i facts after it are nearer:
    if it is not farther than the one of that number. Of two as far, the earlier one is taken.
    """
    steps = torch.arange(count, device=starts.device)
    here = torch.minimum(here, ends)
    earlier, later = here[:, None] - 1 - steps, here[:, None] + steps.flip(0)
    far = torch.iinfo(torch.int64).max
    last = max(len(sorted_times) - 1, 0)
    if len(sorted_times) == 0:
        return earlier[:, :0], earlier[:, :0] > 0
    distance_before = times[:, None] - take(sorted_times, earlier.clamp(min=0))
    distance_after = take(sorted_times, later.clamp(max=last)) - times[:, None]
    distance_before.masked_fill_(earlier < starts[:, None], far)
    distance_after.masked_fill_(later >= ends[:, None], far)
    num_before = (distance_before <= distance_after).sum(1)
    places = torch.maximum(here - num_before, starts)[:, None] + steps
    return places.clamp(max=last), places < ends[:, None]
