"""How often: facts between an entity and its partners at any time, and facts that say the same.

`Partners` say with whom an entity shares facts, under which relation; `Copies`, of intervals that
may overlap, how many facts say something at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from targcn.graph.build import pieces_of
from targcn.graph.columns import Columns
from targcn.graph.ragged import starts_of, take
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of

# What `Partners` and its parts have in common.
COLUMNS: Final = ("relations", "partners", "counts")


@dataclass(frozen=True, eq=False)
class PartnersOf(Columns):
    """The partners of each query's subject: one row per query, one column per place.

    A place whose count is 0 holds no partner.
    """

    relations: Tensor
    partners: Tensor
    counts: Tensor


@dataclass(frozen=True, eq=False)
class Partners:
    """Every distinct (entity, relation, partner) of a graph, the entity as the subject.

    A count is the number of different times or intervals, so that a fact which is there twice
    counts once. Those of entity e have the places offsets[e] up to offsets[e + 1], the most
    frequent first; where only the past counts, each time has its own order.
    """

    past_only: bool
    span: int
    # How many an entity has at most.
    most: int
    offsets: Tensor
    relations: Tensor
    partners: Tensor
    counts: Tensor
    # For counts up to a time: place · span + time of every fact, and the first of each place.
    moments: Tensor | None = None
    firsts: Tensor | None = None

    @classmethod
    def of(cls, graph: TemporalGraph) -> "Partners":
        parts = [part.tensors() for part in count_partners(graph)]
        per_entity, *columns, moments = map(torch.cat, zip(*parts, strict=True))
        partners = cls(
            graph.past_only, graph.span, int(per_entity.max()), starts_of(per_entity), *columns
        )
        if graph.past_only:
            return replace(partners, moments=moments, firsts=starts_of(partners.counts)[:-1])
        return partners

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
            assert self.moments is not None
            assert self.firsts is not None
            moments = places * self.span + times.long().clamp(0, self.span)[:, None]
            counts = (torch.searchsorted(self.moments, moments) - self.firsts[places]) * exists
            best = torch.topk(counts * width - columns, count, dim=1).indices
            places, counts = places.gather(1, best), counts.gather(1, best)
        relations, partners = take(self.relations, places), take(self.partners, places)
        return PartnersOf(relations.long(), partners.long(), counts.long())


@dataclass(frozen=True, eq=False)
class PartnersOfSome(Columns):
    """The partners of some entities, in the order of `Partners`."""

    per_entity: Tensor
    relations: Tensor
    partners: Tensor
    counts: Tensor
    # Of a graph of the past.
    moments: Tensor


def count_partners(graph: TemporalGraph) -> Iterator[PartnersOfSome]:
    """The partners of the first entities, then of the next ones, as many as are sorted at once."""
    num_entities, num_relations = graph.num_entities, 2 * graph.num_relations
    num_before = 0
    for first, last in pieces_of(graph.offsets):
        place = slice(int(graph.offsets[first]), int(graph.offsets[last]))
        relations = reciprocal_of(graph.relations[place].long(), graph.num_relations)
        owners = graph.keys[place] // graph.span - first
        keys = (owners * num_relations + relations) * num_entities + graph.subjects[place]
        # The facts of an entity are sorted by time, and stay so within a key.
        keys, order = torch.sort(keys, stable=True)
        times, ends = graph.times[place][order].long(), graph.ends[place][order]
        is_new = _first_of_alike(keys, times, ends)
        keys, numbers, counts = torch.unique_consecutive(
            keys[is_new], return_inverse=True, return_counts=True
        )
        owners = keys // (num_relations * num_entities)
        moments = times[:0]
        if graph.past_only:
            moments = (num_before + numbers) * graph.span + times[is_new]
        else:
            order = torch.argsort(counts, descending=True, stable=True)
            order = order[torch.argsort(owners[order], stable=True)]
            keys, counts = keys[order], counts[order]
        num_before += len(keys)
        yield PartnersOfSome(
            torch.bincount(owners, minlength=last - first),
            keys // num_entities % num_relations,
            keys % num_entities,
            counts,
            moments,
        )


def _first_of_alike(keys: Tensor, times: Tensor, ends: Tensor) -> Tensor:
    """Which of some sorted facts are not like the one before."""
    is_new = torch.ones_like(keys, dtype=torch.bool)
    is_new[1:] = (keys[1:] != keys[:-1]) | (times[1:] != times[:-1]) | (ends[1:] != ends[:-1])
    return is_new


class Copies:
    """Every distinct (subject, relation, object) of a graph, and when its facts begin and end.

    How many hold at a time is how many have begun, less how many are over: two binary searches. A
    fact that is there twice counts once.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self.num_entities, self.num_relations = graph.num_entities, 2 * graph.num_relations
        self.span = graph.span + 1
        keys = self._keys(graph.subjects.long(), graph.relations, graph.objects)
        # The facts of an object are sorted by their beginning, then end, and stay so within a key.
        order = torch.argsort(keys, stable=True)
        keys, times = keys[order], graph.times[order].long()
        ends = graph.ends[order].long().clamp(max=graph.span)
        is_new = _first_of_alike(keys, times, ends)
        self.keys, numbers = torch.unique_consecutive(keys[is_new], return_inverse=True)
        self.begins = numbers * self.span + times[is_new]
        self.ends = self.begins
        if graph.has_intervals:
            self.ends = torch.sort(numbers * self.span + ends[is_new]).values

    def count(self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor) -> Tensor:
        """How many different facts say each of these at its time."""
        keys = self._keys(subjects.long(), relations, objects)
        if len(self.keys) == 0:
            return torch.zeros_like(keys)
        numbers = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        then = numbers * self.span + times.clamp(min=0, max=self.span - 1)
        begun = torch.searchsorted(self.begins, then, right=True)
        over = torch.searchsorted(self.ends, then)
        return torch.where((self.keys[numbers] == keys) & (times >= 0), begun - over, 0)

    def _keys(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        return (objects.long() * self.num_relations + relations) * self.num_entities + subjects
