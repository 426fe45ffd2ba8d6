"""What must not be seen: the one place where an answer could leak.

A training query's own fact is hidden from all that its model sees of the context, and so is a fact
that is to be explained. It is hidden whichever of its ends it is seen from. The forms below differ
in what is looked at:

    hide_in_sample      the facts sampled for a neighbourhood (TARGCN)
    hide_nearest        the facts nearest in time (evidence)
    shown_facts         all facts of the context at once (T-GAP)
    Folds               the facts of a snapshot, hidden a part at a time (TeMP)
    without_facts       a graph that does not hold some facts at all (questions and reasons)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor

from targcn.facts.dataset import NO_FACTS, Facts
from targcn.graph.nearest import NearestFacts
from targcn.graph.queries import FactColumns, Queries
from targcn.graph.random import combine, whole_numbers
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of

# A fact comes in to each of its ends: twice to the same entity if it is a self loop.
SIDES_OF_A_FACT: Final = 2


@dataclass(frozen=True, eq=False)
class HiddenFacts(FactColumns):
    """For each row one fact that it must not see, whichever end of the fact it is at.

    An interval is hidden by a time at which it holds.
    """

    def sides(self, num_relations: int) -> tuple[tuple[Tensor, Tensor, Tensor], ...]:
        """Subjects, relations and objects as seen from one end of the facts and from the other."""
        back = reciprocal_of(self.relations, num_relations)
        return (
            (self.subjects, self.relations, self.objects),
            (self.objects, back, self.subjects),
        )

    def are(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, num_relations: int
    ) -> Tensor:
        """Which facts, one row of them per hidden one, say what it says, at whatever time."""
        is_hidden = torch.zeros_like(relations, dtype=torch.bool)
        for side in self.sides(num_relations):
            subject, relation, object_ = (column[:, None] for column in side)
            is_hidden |= (subjects == subject) & (relations == relation) & (objects == object_)
        return is_hidden


def hide_in_sample(filled: Tensor, is_hidden: Tensor, most: int | None) -> Tensor:
    """Empty the places of the hidden facts, and those beyond the `most` that a row may keep.

    More were sampled, by as many as the hidden one can fill places. The others keep their order of
    arrival, so the first `most` of them are a sample of the graph without the hidden fact. (All
    copies of a duplicate fact are hidden, and may leave fewer.)
    """
    filled = filled & ~is_hidden
    return filled if most is None else filled & (filled.cumsum(1) <= most)


def hide_nearest(
    facts: NearestFacts, hidden: HiddenFacts | None, context: TemporalGraph
) -> NearestFacts:
    """Empty the places of the hidden fact of each row."""
    if hidden is None:
        return facts
    columns = facts.subjects, facts.relations, facts.objects
    is_hidden = hidden.are(*columns, context.num_relations)
    is_hidden &= facts.times == hidden.times[:, None]
    return replace(facts, filled=facts.filled & ~is_hidden)


def shown_facts(
    context: TemporalGraph, codes: Tensor, time: int, hidden: HiddenFacts | None
) -> Tensor:
    """Which facts of a context, whose `fact_codes` are given, are seen from a time."""
    shown = torch.ones_like(codes, dtype=torch.bool)
    if context.past_only:
        shown = context.times < time
    if hidden is None:
        return shown
    sides = [fact_codes(context, *side) for side in hidden.sides(context.num_relations)]
    # No fact has the code -1, which stands for what is hidden at other times.
    gone = torch.cat([torch.where(hidden.times == time, code, -1) for code in sides])
    # A few binary searches: `torch.isin` would sort all facts.
    gone = gone.sort().values
    places = torch.searchsorted(gone, codes).clamp(max=len(gone) - 1)
    return shown & ~((gone[places] == codes) & (context.times == time))


def fact_codes(
    context: TemporalGraph, subjects: Tensor, relations: Tensor, objects: Tensor
) -> Tensor:
    """One number for what a fact says, at whatever time."""
    codes = subjects.long() * 2 * context.num_relations + relations
    return codes * context.num_entities + objects


@dataclass(frozen=True, eq=False)
class Folds:
    """How the facts of each time are divided by chance, so that some can be hidden from others."""

    number: int
    seed: Tensor

    def of_facts(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor
    ) -> Tensor:
        """The fold of each fact; the same if the data repeat it."""
        rows = combine(self.seed, subjects, relations, objects, times)
        return whole_numbers(rows, rows.new_zeros(()), self.number)

    def of_queries(self, queries: Queries, answers: Tensor, num_relations: int) -> Tensor:
        """The fold of each query's own fact, whichever of its sides is asked for."""
        turned = queries.relations >= num_relations
        relations = queries.relations % num_relations
        subjects = torch.where(turned, answers, queries.subjects)
        objects = torch.where(turned, queries.subjects, answers)
        return self.of_facts(subjects, relations, objects, queries.times)


def without_facts(graph: TemporalGraph, facts: Sequence[Sequence[int]]) -> TemporalGraph:
    """The graph without those of these facts, four numbers each, that it shows to a query."""
    shown = [fact for fact in facts if graph.shows(*fact)]
    return graph.changed(Facts.of(*zip(*shown, strict=True)), NO_FACTS) if shown else graph
