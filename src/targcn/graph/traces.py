"""The traces of a fact: what the known facts hold around it, as columns of whole numbers.

A fact (s, r, o, t) is looked at through eleven keys (KEYS): the fact itself at other times, its
relation between other entities, its entities under other relations, and so on. Of each key: how
many ticks before t something of it held last, how many after t it holds next, at how many times
besides, and how often at t. And what else the two entities have at t: how often this relation comes
with the relations that they have then.

**The fact itself is never among its own traces**, whether it is known or not: gaps lie strictly
before and after its time, and what it adds to the counts at its time is taken out (`_without_own`).
"""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns
from targcn.graph.ragged import expand_ranges, starts_of
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of

# What the columns are about, in words: the object that a relation leads to, or what comes of it.
KEYS: Final = (
    "this fact",
    "this fact with its ends exchanged",
    "the subject under this relation",
    "the object under this relation",
    "both under any relation",
    "both under any relation, exchanged",
    "the object as a subject of this relation",
    "the subject as an object of this relation",
    "the subject",
    "the object",
    "the relation",
)
# How often a fact counts at its own time under each key, and how often if it is a self loop.
OWN: Final = (1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1)
OWN_LOOP: Final = (1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1)
# A gap where there is nothing before or after.
NEVER: Final = -1


@dataclass(frozen=True, eq=False)
class FactTraces(Columns):
    """One row per fact; the first four fields have one column per key."""

    # Ticks to the last time before, and to the next one after; NEVER if there is none.
    before: Tensor
    after: Tensor
    # How many facts of the key hold at other times, and at this one.
    elsewhere: Tensor
    now: Tensor
    # How many objects the subject has under the relation, and how many subjects the object.
    num_objects: Tensor
    num_subjects: Tensor
    # P(r | r′) over the other relations r′ that both entities have at this time: best and sum.
    best_share: Tensor
    sum_of_shares: Tensor


@dataclass(frozen=True, eq=False)
class Moments:
    """When the facts of each key begin and end: numbers that are sorted by key and tick.

    A number is that of the key times `width`, plus the tick and 1.
    """

    codes: Tensor
    offsets: Tensor
    firsts: Tensor
    lasts: Tensor
    width: int

    @classmethod
    def of(cls, codes: Tensor, firsts: Tensor, lasts: Tensor, span: int) -> "Moments":
        distinct, numbers, counts = torch.unique(codes, return_inverse=True, return_counts=True)
        width = span + 2
        begins = torch.sort(numbers * width + firsts + 1).values
        ends = begins if lasts is firsts else torch.sort(numbers * width + lasts + 1).values
        return cls(distinct, starts_of(counts), begins, ends, width)

    def look(
        self, codes: Tensor, times: Tensor, past_only: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The gaps before and after these times, and the facts of other times and of these.

        Where the past alone is known, nothing is of these times or later.
        """
        if len(self.codes) == 0:
            nothing = torch.zeros_like(times)
            return nothing + NEVER, nothing + NEVER, nothing, nothing
        numbers, known = find_codes(self.codes, codes)
        start, end = self.offsets[numbers], self.offsets[numbers + 1]
        place = numbers * self.width
        # A time outside of the data is searched for at their border, and is as far as it is.
        tick = times.clamp(min=-1, max=self.width - 2) + 1
        ended = torch.searchsorted(self.lasts, place + tick)
        begun = torch.searchsorted(self.firsts, place + tick, right=True)
        begun, end = (ended, ended) if past_only else (begun, end)
        last = self.lasts[(ended - 1).clamp(min=0)] - place - 1
        following = self.firsts[begun.clamp(max=len(self.firsts) - 1)] - place - 1
        before = torch.where(known & (ended > start), times - last, NEVER)
        after = torch.where(known & (begun < end), following - times, NEVER)
        now = torch.where(known, begun - ended, 0)
        return before, after, torch.where(known, end - start, 0) - now, now


class Traces:
    """The known facts of a context, indexed by what traces are looked up by."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.num_relations, self.num_entities = graph.num_relations, graph.num_entities
        self.span, self.past_only = graph.span, graph.past_only
        subjects, relations, objects, firsts, lasts = distinct_facts(graph)
        self.has_intervals = lasts is not firsts
        ahead = relations < graph.num_relations
        moments = firsts, lasts, self.span
        starts = firsts[ahead]
        ahead_moments = starts, lasts[ahead] if self.has_intervals else starts, self.span
        self.triples = Moments.of(self._triple(subjects, relations, objects), *moments)
        self.owners = Moments.of(self._owner(subjects, relations), *moments)
        pairs = self._pair(subjects, objects)
        self.pairs = Moments.of(pairs[ahead], *ahead_moments)
        self.entities = Moments.of(subjects, *moments)
        self.relations = Moments.of(relations[ahead], *ahead_moments)
        # All facts by their pair and first tick, to see what a pair has at a time.
        self.pair_codes, numbers, counts = torch.unique(
            pairs, return_inverse=True, return_counts=True
        )
        self.pair_offsets = starts_of(counts)
        self.pair_keys, order = torch.sort(numbers * (self.span + 1) + firsts, stable=True)
        self.pair_relations, self.pair_lasts = relations[order], lasts[order]
        self.share_codes, self.shares = self._count_shares(subjects, relations, objects, firsts)

    def _owner(self, subjects: Tensor, relations: Tensor) -> Tensor:
        return subjects * (2 * self.num_relations) + relations

    def _triple(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        return self._owner(subjects, relations) * self.num_entities + objects

    def _pair(self, subjects: Tensor, objects: Tensor) -> Tensor:
        return subjects * self.num_entities + objects

    def codes_of(self, facts: FactColumns) -> Tensor:
        """The keys of facts at whatever time."""
        return self._triple(facts.subjects, facts.relations, facts.objects)

    def relations_of(
        self, subjects: Tensor, objects: Tensor, times: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The relations that pairs of entities have at times, each with the row of its pair."""
        if len(self.pair_codes) == 0:
            return times[:0], times[:0]
        numbers, known = find_codes(self.pair_codes, self._pair(subjects, objects))
        known = known & (times >= 0)
        # What holds still holds at any time after the last.
        times = times.clamp(min=0, max=self.span)
        keys = numbers * (self.span + 1) + times
        ends = torch.searchsorted(self.pair_keys, keys, right=True)
        starts = self.pair_offsets[numbers]
        if not self.has_intervals:
            starts = torch.searchsorted(self.pair_keys, keys)
        rows, places = expand_ranges(starts, torch.where(known, ends, starts))
        holds = self.pair_lasts[places] >= times[rows]
        rows, relations = rows[holds], self.pair_relations[places[holds]]
        if self.has_intervals:
            # The same may hold over several intervals that overlap.
            num = 2 * self.num_relations
            both = torch.unique(rows * num + relations)
            rows, relations = both // num, both % num
        return rows, relations

    def _count_shares(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor
    ) -> tuple[Tensor, Tensor]:
        """P(r | r′), by the code of both: of the facts under r′ the share that has one under r.

        Both relate the same entities at the same time.
        """
        num = 2 * self.num_relations
        rows, others = self.relations_of(subjects, objects, times)
        codes, counts = torch.unique(relations[rows] * num + others, return_counts=True)
        totals = torch.bincount(relations, minlength=num)
        return codes, counts / (totals[codes // num] + 1)

    def of(self, facts: FactColumns) -> FactTraces:
        """The traces of some facts, whether they are known or not."""
        subjects, relations, objects, times = (column.long() for column in facts.tensors())
        back = reciprocal_of(relations, self.num_relations)
        keys = (
            (self.triples, self._triple(subjects, relations, objects)),
            (self.triples, self._triple(subjects, back, objects)),
            (self.owners, self._owner(subjects, relations)),
            (self.owners, self._owner(objects, back)),
            (self.pairs, self._pair(subjects, objects)),
            (self.pairs, self._pair(objects, subjects)),
            (self.owners, self._owner(objects, relations)),
            (self.owners, self._owner(subjects, back)),
            (self.entities, subjects),
            (self.entities, objects),
            (self.relations, relations % self.num_relations),
        )
        looked = (moments.look(codes, times, self.past_only) for moments, codes in keys)
        columns = zip(*looked, strict=True)
        before, after, elsewhere, now = (torch.stack(column, dim=1) for column in columns)
        # Of a fact that holds at this time alone, the object is none of the subject's otherwise.
        alone = ((now[:, 0] > 0) & (elsewhere[:, 0] == 0)).long()
        rows, _, shares = self._shares_beside(subjects, relations, objects, times)
        nothing = torch.zeros(len(times), device=times.device)
        return FactTraces(
            before,
            after,
            elsewhere,
            _without_own(now, subjects == objects),
            self._count_triples(self._owner(subjects, relations)) - alone,
            self._count_triples(self._owner(objects, back)) - alone,
            nothing.scatter_reduce(0, rows, shares, "amax"),
            nothing.index_add(0, rows, shares),
        )

    def _count_triples(self, owners: Tensor) -> Tensor:
        """How many entities each owner, an entity with a relation, has at any time."""
        if self.past_only:
            return torch.zeros_like(owners)
        codes = self.triples.codes
        starts = torch.searchsorted(codes, owners * self.num_entities)
        return torch.searchsorted(codes, (owners + 1) * self.num_entities) - starts

    def _shares_beside(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The other relations of both entities then: the row, the relation r′ and P(r | r′)."""
        if self.past_only or len(self.share_codes) == 0:
            return times[:0], times[:0], self.shares[:0]
        rows, others = self.relations_of(subjects, objects, times)
        is_own = others == relations[rows]
        # A self loop read back is the same fact.
        back = reciprocal_of(relations, self.num_relations)
        is_own |= (others == back[rows]) & (subjects == objects)[rows]
        rows, others = rows[~is_own], others[~is_own]
        wanted = others * (2 * self.num_relations) + relations[rows]
        places, known = find_codes(self.share_codes, wanted)
        return rows, others, torch.where(known, self.shares[places], 0.0)

    def best_beside(self, fact: FactColumns) -> tuple[int, float] | None:
        """The relation of both entities of one fact at its time that comes with it most often."""
        _, others, shares = self._shares_beside(*fact.tensors())
        if len(others) == 0:
            return None
        best = int(shares.argmax())
        return int(others[best]), float(shares[best])


def distinct_facts(
    graph: TemporalGraph, by_firsts: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The facts of a graph in both directions, each once: subjects, relations, objects, firsts and
    lasts, which are the very same where every fact has one time, or is taken by its first."""
    columns = [graph.objects, graph.times, graph.relations, graph.subjects]
    if graph.has_intervals and not by_firsts:
        columns.append(graph.ends)
    is_new = torch.ones(len(graph), dtype=torch.bool, device=graph.device)
    # They are sorted, so that equal ones are neighbours.
    same = [column[1:] == column[:-1] for column in columns]
    is_new[1:] = ~torch.stack(same).all(0)
    objects, firsts, relations, subjects, *ends = (column[is_new].long() for column in columns)
    lasts = ends[0].clamp(max=graph.span) if ends else firsts
    return subjects, relations, objects, firsts, lasts


def find_codes(codes: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The place of each wanted code among sorted ones, and whether it is there.

    >>> [column.tolist() for column in find_codes(torch.tensor([2, 5]), torch.tensor([5, 9, 1]))]
    [[1, 1, 0], [True, False, False]]
    """
    places = torch.searchsorted(codes, wanted).clamp(max=max(len(codes) - 1, 0))
    if len(codes) == 0:
        return places, torch.zeros_like(places, dtype=torch.bool)
    return places, codes[places] == wanted


def _without_own(now: Tensor, is_loop: Tensor) -> Tensor:
    """The counts at a fact's time without the fact: the one place where it could be seen."""
    own, own_loop = (torch.tensor(each, device=now.device) for each in (OWN, OWN_LOOP))
    return now - now[:, :1] * torch.where(is_loop[:, None], own_loop, own)
