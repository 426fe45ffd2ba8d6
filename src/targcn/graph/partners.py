"""Partners: with whom an entity shares facts, under which relation and how often, at any time."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.neighbors import HiddenFacts
from targcn.graph.ragged import take
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of


@dataclass(frozen=True, eq=False)
class PartnersOf(Columns):
    """The partners of each query's subject: one row per query, one column per place.

    A place whose count is 0 holds no partner.
    """

    relations: Tensor
    partners: Tensor
    counts: Tensor


class Partners:
    """Every distinct (entity, relation, partner) of a graph, the entity as the subject.

    A count is the number of different times or intervals, so that a fact which is there twice
    counts once.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self.past_only, self.span = graph.past_only, graph.span
        num_entities, num_relations = graph.num_entities, 2 * graph.num_relations
        relations = reciprocal_of(graph.relations.long(), graph.num_relations)
        keys = (graph.objects.long() * num_relations + relations) * num_entities + graph.subjects
        # The facts of an entity are sorted by time, and stay so within a key.
        order = torch.argsort(keys, stable=True)
        keys, times = keys[order], graph.times[order].long()
        ends = graph.last_ticks[order]
        is_new = torch.ones_like(keys, dtype=torch.bool)
        is_new[1:] = (keys[1:] != keys[:-1]) | (times[1:] != times[:-1]) | (ends[1:] != ends[:-1])
        keys, numbers, counts = torch.unique_consecutive(
            keys[is_new], return_inverse=True, return_counts=True
        )
        entities = torch.div(keys, num_relations * num_entities, rounding_mode="floor")
        per_entity = torch.bincount(entities, minlength=num_entities)
        self.most = int(per_entity.max()) if len(keys) else 0
        self.offsets = torch.zeros(num_entities + 1, dtype=torch.int64, device=graph.device)
        torch.cumsum(per_entity, 0, out=self.offsets[1:])
        if self.past_only:
            # For counts up to a time: number · span + time of every fact, and the first of each.
            self.moments = numbers * self.span + times[is_new]
            self.firsts = counts.cumsum(0) - counts
        else:
            # The most frequent first; where only the past counts, each time has its own order.
            order = torch.argsort(counts, descending=True, stable=True)
            order = order[torch.argsort(entities[order], stable=True)]
            keys, counts = keys[order], counts[order]
        self.counts = counts
        self.relations = torch.div(keys, num_entities, rounding_mode="floor") % num_relations
        self.partners = keys % num_entities

    def width(self, count: int) -> int:
        """How many partners are laid out per query to find so many."""
        return self.most if self.past_only else min(count, self.most)

    def most_frequent(self, entities: Tensor, times: Tensor, count: int) -> PartnersOf:
        """Up to `count` partners of each entity; in a graph of the past, as counted at the time."""
        width, count = self.width(count), min(count, self.most)
        columns = torch.arange(width, device=self.offsets.device)
        starts, ends = self.offsets[entities], self.offsets[entities + 1]
        places = starts[:, None] + columns
        exists = places < ends[:, None]
        places = torch.where(exists, places, 0)
        if not self.past_only:
            counts = take(self.counts, places) * exists
        else:
            moments = places * self.span + times.long().clamp(0, self.span)[:, None]
            counts = (torch.searchsorted(self.moments, moments) - self.firsts[places]) * exists
            best = torch.topk(counts * width - columns, count, dim=1).indices
            places, counts = places.gather(1, best), counts.gather(1, best)
        return PartnersOf(take(self.relations, places), take(self.partners, places), counts)


def hide_partner(
    found: PartnersOf, most: int, subjects: Tensor, hidden: HiddenFacts, context: TemporalGraph
) -> PartnersOf:
    """Count the hidden fact of each row out, whichever end it is seen from.

    Of intervals, all that hold at its time say the same and are counted out.

    More partners were found than the `most` that stay, by as many as the hidden fact has sides: a
    rare partner that stayed among more frequent ones would give the answer away.
    """
    counts = found.counts
    copies = torch.ones_like(subjects)
    if context.ends is not None:
        copies = context.copies.count(*hidden.tensors())
    for here, relations, partners in hidden.sides(context.num_relations):
        own = (found.relations == relations[:, None]) & (found.partners == partners[:, None])
        counts = counts - (own & (subjects == here)[:, None]) * copies[:, None]
    # In the order of `Partners`: the more frequent first, then by relation and partner.
    keys = found.relations * context.num_entities + found.partners
    order = counts * (2 * context.num_relations * context.num_entities) - keys
    kept = torch.topk(order, min(most, order.shape[1]), dim=1).indices
    return replace(found, counts=counts).map(lambda column: column.gather(1, kept))
