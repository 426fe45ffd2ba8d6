"""The facts nearest in time: of an entity, or of a relation.

Facts that are sorted by time have their nearest ones side by side, so a window is a start and a
length; no fact outside it is looked at.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.neighbors import HiddenFacts
from targcn.graph.ragged import take
from targcn.graph.temporal_graph import TemporalGraph, find_first, reciprocal_of


@dataclass(frozen=True, eq=False)
class NearestFacts(Columns):
    """Facts seen from one of their ends: one row per query, one column per place.

    Places that are not filled hold no fact.
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
        take(graph.times, places).long(),
        filled,
    )


def nearest_positions(
    graph: TemporalGraph, entities: Tensor, times: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """Where the `count` facts nearest to its time come in to each entity, and which exist."""
    entities, times = entities.long(), times.long()
    starts, ends = graph.offsets[entities], graph.offsets[entities + 1]
    here = graph.ends_before(entities, times)
    ends = here if graph.past_only else ends
    return _nearest(graph.times, starts, ends, here, times, count)


def nearest_of_relations(
    graph: TemporalGraph, relations: Tensor, times: Tensor, count: int
) -> NearestFacts:
    """The `count` facts of each relation that are nearest to its time."""
    relations, times = relations.long(), times.long()
    facts = graph.by_relation
    starts, ends = facts.offsets[relations], facts.offsets[relations + 1]
    here = find_first(facts.keys, graph.span, relations, times)
    ends = here if graph.past_only else ends
    places, filled = _nearest(facts.times, starts, ends, here, times, count)
    return NearestFacts(
        take(facts.subjects, places).long(),
        relations[:, None].expand_as(places),
        take(facts.objects, places).long(),
        take(facts.times, places).long(),
        filled,
    )


def hide_nearest(
    facts: NearestFacts, hidden: HiddenFacts | None, context: TemporalGraph
) -> NearestFacts:
    """Empty the places of the hidden fact of each row, whichever end it is seen from."""
    if hidden is None:
        return facts
    then = facts.times == hidden.times[:, None]
    filled = facts.filled
    for subjects, relations, objects in hidden.sides(context.num_relations):
        ends = (facts.subjects == subjects[:, None]) & (facts.objects == objects[:, None])
        filled = filled & ~(ends & then & (facts.relations == relations[:, None]))
    return replace(facts, filled=filled)


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
