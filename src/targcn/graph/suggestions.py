"""Which facts are worth judging: those that known facts suggest by rules read off the data.

A rule has one fact or two: "who has r′ with o has r with it e times later", "who has r₁ with x, and
x has r₂ with o d times later, has r with o e times later". Times are counted in the list of those
that the data have. A rule suggests facts if, among the cases in which its facts are known, those
with the fact that it leads to are at least a given share.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.graph.queries import FactColumns
from targcn.graph.ragged import expand_ranges
from targcn.graph.temporal_graph import TemporalGraph
from targcn.graph.traces import Moments, distinct_facts, find_codes

# How many times later or earlier a rule of one fact reaches, and the least share of its cases.
REACH: Final = 7
LEAST_SHARE: Final = 0.03
# The second fact of a rule, and the fact that it leads to, are within so many times of the first.
PATH_REACH: Final = 2
PATH_LEAST_SHARE: Final = 0.1
LEAST_CASES: Final = 3
LEAST_CASES_OF_PATHS: Final = 5
# Rules of two facts are learned from so many first facts, and not through an entity that has more
# facts at a time than this: they would lead everywhere.
MOST_FIRST_FACTS: Final = 50_000
MOST_SECOND_FACTS: Final = 64
# Facts looked at together; bounds memory, not results.
FACTS_AT_ONCE: Final = 1 << 17


@dataclass(frozen=True, eq=False)
class Suggestions:
    """What rules lead to, known or not, and the best share of a rule of one fact and of two.

    A fact is one number, its code (`Cells`); codes are sorted.
    """

    cells: "Cells"
    codes: Tensor
    # One column for rules of one fact and one for those of two; 0 where none leads to a fact.
    shares: Tensor
    # The places of those that are not known.
    unknown: Tensor

    @classmethod
    def of(cls, graph: TemporalGraph, ticks: Tensor, known_share: float = 1.0) -> "Suggestions":
        """Those of a graph, of which the times of the data are given.

        If a share of the facts is hidden, fewer cases of a rule are complete: shares are given as
        they would be if all facts were known.
        """
        rules = _Rules(graph, ticks)
        parts = (
            rules.by_one_fact(LEAST_SHARE * known_share),
            rules.by_two_facts(PATH_LEAST_SHARE * known_share),
        )
        codes = torch.unique(torch.cat([found for found, _ in parts]))
        shares = torch.zeros(len(codes), len(parts), device=codes.device)
        for column, (found, best) in enumerate(parts):
            shares[find_codes(codes, found)[0], column] = best / known_share
        columns = distinct_facts(graph)
        ahead = columns[1] < graph.num_relations
        *triples, firsts, lasts = (column[ahead] for column in columns)
        known = Moments.of(rules.cells.triples(*triples), firsts, lasts, graph.span)
        # An interval is known at any time at which it holds.
        suggested = rules.cells.facts(codes)
        wanted = rules.cells.triples(suggested.subjects, suggested.relations, suggested.objects)
        is_unknown = known.look(wanted, suggested.times)[3] == 0
        return cls(rules.cells, codes, shares, is_unknown.nonzero().flatten())

    def __len__(self) -> int:
        return len(self.unknown)

    def facts(self, numbers: Tensor) -> FactColumns:
        """Some of the facts that are suggested and not known, by their numbers from 0."""
        return self.cells.facts(self.codes[self.unknown[numbers]])

    def shares_of(self, facts: FactColumns) -> Tensor:
        """The shares of the best rules that lead to each of these facts."""
        if len(self.codes) == 0:
            return torch.zeros(len(facts), self.shares.shape[1], device=facts.times.device)
        positions, is_time = find_codes(self.cells.ticks, facts.times)
        given = facts.subjects, facts.relations, facts.objects, positions
        places, is_suggested = find_codes(self.codes, self.cells.codes(*given))
        return self.shares[places] * (is_suggested & is_time)[:, None]


@dataclass(frozen=True, eq=False)
class Cells:
    """One number for each fact that could be: subject, relation, object, place of its time."""

    num_entities: int
    num_relations: int
    ticks: Tensor

    def __post_init__(self) -> None:
        if self.num_entities**2 * self.num_relations * len(self.ticks) >= 2**63:
            raise InputError(
                f"{self.num_entities:,} entities with {self.num_relations:,} relations at "
                f"{len(self.ticks):,} times are too many to look for missing facts; take a part"
            )

    def codes(
        self, subjects: Tensor, relations: Tensor, objects: Tensor, positions: Tensor
    ) -> Tensor:
        return self.triples(subjects, relations, objects) * len(self.ticks) + positions

    def triples(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        return (subjects * self.num_relations + relations) * self.num_entities + objects

    def facts(self, codes: Tensor) -> FactColumns:
        triples, positions = codes // len(self.ticks), codes % len(self.ticks)
        owners, objects = triples // self.num_entities, triples % self.num_entities
        relations, subjects = owners % self.num_relations, owners // self.num_relations
        return FactColumns(subjects, relations, objects, self.ticks[positions])


class _Rules:
    """The facts of a graph in both directions, and what follows from them.

    An interval is taken by its first tick. A self loop read back is itself, and not taken again.
    """

    def __init__(self, graph: TemporalGraph, ticks: Tensor) -> None:
        self.cells = Cells(graph.num_entities, graph.num_relations, ticks)
        self.num_relations, self.num_times = graph.num_relations, len(ticks)
        # Then a rule leads to what is later than its facts.
        self.past_only = graph.past_only
        columns = distinct_facts(graph, by_firsts=True)
        kept = (columns[1] < graph.num_relations) | (columns[0] != columns[2])
        subjects, relations, objects, firsts, _ = (column[kept] for column in columns)
        positions = torch.searchsorted(ticks, firsts).clamp(max=max(len(ticks) - 1, 0))
        # So that a place before the first time or after the last is not one of the next key.
        self.width = self.num_times + 2 * max(REACH, PATH_REACH)
        pairs = subjects * graph.num_entities + objects
        self.pair_keys, order = torch.sort(pairs * self.width + positions)
        self.facts = [column[order] for column in (subjects, relations, objects, positions)]
        self.subjects, self.relations, self.objects, self.positions = self.facts
        self.subject_keys, self.by_subject = torch.sort(self.subjects * self.width + self.positions)

    def by_one_fact(self, least: float) -> tuple[Tensor, Tensor]:
        """What follows from single facts, and the best share of the rules that say so."""
        num, width = self.num_relations, 2 * REACH + 1
        found, counts = [], []
        for facts in self._parts(torch.arange(len(self.relations))):
            keys = self.pair_keys[facts]
            rows, others = self._near(self.pair_keys, keys - REACH, keys + REACH)
            rows = facts[rows]
            forward = (self.relations[others] < num) & (rows != others)
            rows, others = rows[forward], others[forward]
            later = self.positions[others] - self.positions[rows] + REACH
            body = self.relations[rows] * width + later
            codes, cases = torch.unique(body * num + self.relations[others], return_counts=True)
            found.append(codes)
            counts.append(cases)
        rules, cases = _add_up(found, counts)
        bodies = torch.zeros(2 * num * width, dtype=torch.int64, device=rules.device)
        for distance in range(-REACH, REACH + 1):
            inside = self._is_time(self.positions + distance)
            of_relations = torch.bincount(self.relations[inside], minlength=2 * num)
            bodies.view(-1, width)[:, distance + REACH] = of_relations
        share = cases / (bodies[rules // num] + 1)
        good = (share >= least) & (cases >= LEAST_CASES)
        if self.past_only:
            good &= rules // num % width > REACH
        rules = rules[good]
        first, later, head = rules // num // width, rules // num % width - REACH, rules % num
        share, codes, shares = share[good], [], []
        for facts in self._parts(torch.arange(len(self.relations))):
            rows, numbers = _equal(first, self.relations[facts])
            rows, positions = facts[rows], self.positions[facts[rows]] + later[numbers]
            inside = self._is_time(positions)
            codes.append(self._heads(rows, head[numbers], rows, positions))
            shares.append(share[numbers[inside]])
        return _best(codes, shares)

    def by_two_facts(self, least: float) -> tuple[Tensor, Tensor]:
        """What follows from two facts, and the best share of the rules that say so.

        A rule is one number: first relation, second relation, d, e, relation of the head.
        """
        num, width = self.num_relations, 2 * PATH_REACH + 1
        every = torch.arange(len(self.relations), device=self.relations.device)
        order = torch.randperm(len(every), generator=torch.Generator().manual_seed(0))
        chosen = every[order[:MOST_FIRST_FACTS].to(every.device)]
        found, counts, found_bodies, counts_of_bodies = [], [], [], []
        for firsts in self._parts(chosen):
            for bodies, rows, seconds in self._paths(firsts):
                codes, cases = torch.unique(bodies, return_counts=True)
                found_bodies.append(codes)
                counts_of_bodies.append(cases)
                pairs = self.subjects[rows] * self.cells.num_entities + self.objects[seconds]
                keys = pairs * self.width + self.positions[rows]
                heads, facts = self._near(self.pair_keys, keys - PATH_REACH, keys + PATH_REACH)
                forward = self.relations[facts] < num
                heads, facts = heads[forward], facts[forward]
                later = self.positions[facts] - self.positions[rows[heads]] + PATH_REACH
                codes = (bodies[heads] * width + later) * num + self.relations[facts]
                codes, cases = torch.unique(codes, return_counts=True)
                found.append(codes)
                counts.append(cases)
        rules, cases = _add_up(found, counts)
        bodies, num_bodies = _add_up(found_bodies, counts_of_bodies)
        if len(rules) == 0:
            return rules, torch.zeros(0, device=rules.device)
        share = cases / (num_bodies[find_codes(bodies, rules // num // width)[0]] + 1)
        good = (share >= least) & (cases >= LEAST_CASES_OF_PATHS)
        if self.past_only:
            second = (rules // num // width % width).clamp(min=PATH_REACH)
            good &= rules // num % width > second
        rules, share = rules[good], share[good]
        later, head = rules // num % width - PATH_REACH, rules % num
        rule_bodies = rules // num // width
        first_relations = rule_bodies // width // (2 * num)
        codes, shares = [rules[:0]], [share[:0]]
        for firsts in self._parts(torch.isin(self.relations, first_relations).nonzero().flatten()):
            for bodies, rows, seconds in self._paths(firsts):
                places, numbers = _equal(rule_bodies, bodies)
                positions = self.positions[rows[places]] + later[numbers]
                inside = self._is_time(positions)
                ends = rows[places], seconds[places]
                codes.append(self._heads(ends[0], head[numbers], ends[1], positions))
                shares.append(share[numbers[inside]])
        return _best(codes, shares)

    def _paths(self, firsts: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """The paths of two facts that begin with some facts: what they are, and both facts.

        They pass through three entities; else the fact that one leads to could be on it.
        """
        firsts = firsts[self.subjects[firsts] != self.objects[firsts]]
        for later in range(-PATH_REACH, PATH_REACH + 1):
            keys = self.objects[firsts] * self.width + self.positions[firsts] + later
            starts = torch.searchsorted(self.subject_keys, keys)
            ends = torch.searchsorted(self.subject_keys, keys, right=True)
            few = ends - starts <= MOST_SECOND_FACTS
            rows, places = expand_ranges(starts, torch.where(few, ends, starts))
            rows, seconds = firsts[rows], self.by_subject[places]
            objects = self.objects[seconds]
            goes_on = (objects != self.subjects[rows]) & (objects != self.subjects[seconds])
            rows, seconds = rows[goes_on], seconds[goes_on]
            pairs = self.relations[rows] * (2 * self.num_relations) + self.relations[seconds]
            yield pairs * (2 * PATH_REACH + 1) + later + PATH_REACH, rows, seconds

    def _heads(self, firsts: Tensor, relations: Tensor, lasts: Tensor, positions: Tensor) -> Tensor:
        """The codes of facts from the subjects of facts to the objects of facts, inside of time."""
        inside = self._is_time(positions)
        subjects, objects = self.subjects[firsts[inside]], self.objects[lasts[inside]]
        return self.cells.codes(subjects, relations[inside], objects, positions[inside])

    def _is_time(self, positions: Tensor) -> Tensor:
        return (positions >= 0) & (positions < self.num_times)

    def _near(self, keys: Tensor, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        """The places of sorted keys in ranges, each with the row of its range."""
        return expand_ranges(
            torch.searchsorted(keys, least), torch.searchsorted(keys, most, right=True)
        )

    def _parts(self, facts: Tensor) -> tuple[Tensor, ...]:
        return torch.split(facts.to(self.relations.device), FACTS_AT_ONCE)


def _equal(values: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs of a row of what is wanted and a place of an equal value."""
    in_order, order = torch.sort(values)
    starts = torch.searchsorted(in_order, wanted)
    rows, places = expand_ranges(starts, torch.searchsorted(in_order, wanted, right=True))
    return rows, order[places]


def _best(codes: list[Tensor], shares: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Each code once, sorted, with the largest of its shares."""
    distinct, places = torch.unique(torch.cat(codes), return_inverse=True)
    best = torch.zeros(len(distinct), device=distinct.device)
    return distinct, best.scatter_reduce_(0, places, torch.cat(shares).float(), "amax")


def _add_up(codes: list[Tensor], counts: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Each code once, sorted, with the sum of its counts."""
    if not codes:
        nothing = torch.zeros(0, dtype=torch.int64)
        return nothing, nothing
    distinct, places = torch.unique(torch.cat(codes), return_inverse=True)
    return distinct, torch.zeros_like(distinct).index_add_(0, places, torch.cat(counts))
