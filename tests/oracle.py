"""Slow, obvious versions of what the library does fast, and random small worlds to try them on."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from hypothesis import settings
from hypothesis import strategies as st

from targcn.facts.dataset import Dataset, Facts
from targcn.facts.graph import TemporalGraph
from targcn.facts.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.models.contract import Queries

Fact = tuple[int, int, int, int]  # subject, relation, object, time
Query = tuple[int, int, int]  # subject, relation, time

# Two busy cores say nothing about how long one example takes.
checked = settings(deadline=None, max_examples=60)


# --- the slow versions ---------------------------------------------------------------------


def with_reciprocals(facts: Sequence[Fact], num_relations: int) -> list[Fact]:
    return [*facts, *((o, r + num_relations, s, t) for s, r, o, t in facts)]


def known_answers(
    facts: Sequence[Fact], num_relations: int, which: str
) -> Mapping[Query, set[int]]:
    """A dictionary of sets; under the static filter the time of every key is 0."""
    known: defaultdict[Query, set[int]] = defaultdict(set)
    for s, r, o, t in with_reciprocals(facts, num_relations):
        if which != "raw":
            known[s, r, t if which == "time-aware" else 0].add(o)
    return known


def rank(scores: Sequence[float], target: int, known: set[int], ties: str) -> float:
    """Take the known answers out, sort what is left, and see where the target stands."""
    if ties == "mean":
        best = rank(scores, target, known, "optimistic")
        return (best + rank(scores, target, known, "pessimistic")) / 2
    left = [entity for entity in range(len(scores)) if entity == target or entity not in known]
    among_equals = 0 if ties == "optimistic" else 2
    left.sort(key=lambda entity: (-scores[entity], among_equals if entity == target else 1))
    return left.index(target) + 1


def seen(facts: Sequence[Fact], num_entities: int, num_relations: int, query: Query) -> list[float]:
    """10^6·[(s, r, o) seen] + 10^2·count(s, o) + share of o under r."""
    s, r, _ = query
    everything = with_reciprocals(facts, num_relations)
    under_r = [fact for fact in everything if fact[1] == r]
    scores = []
    for o in range(num_entities):
        before = any(fact[:3] == (s, r, o) for fact in everything)
        together = sum(fact[0] == s and fact[2] == o for fact in everything)
        share = sum(fact[2] == o for fact in under_r) / len(under_r) if under_r else 0
        scores.append(1e6 * before + 1e2 * together + share)
    return scores


def decayed_copy(
    facts: Sequence[Fact],
    num_entities: int,
    num_relations: int,
    query: Query,
    scale: float = 30.0,
) -> list[float]:
    """Σ over the facts of s with o of (10 if same relation else 1)·(exp(−|Δ|/30) + 10^-3)."""
    scores = [0.0] * num_entities
    for s, r, o, t in with_reciprocals(facts, num_relations):
        if s == query[0]:
            weight = 10 if r == query[1] else 1
            scores[o] += weight * (math.exp(-abs(query[2] - t) / scale) + 1e-3)
    return scores


# --- from plain Python to the library's types ----------------------------------------------


def facts_of(facts: Sequence[Fact]) -> Facts:
    return Facts.of(*(zip(*facts, strict=True) if facts else [[]] * 4))


def queries_of(queries: Sequence[Query]) -> Queries:
    return Queries(*torch.tensor(queries, dtype=torch.long).reshape(-1, 3).T.contiguous())


@dataclass(frozen=True)
class World:
    """A small graph in plain Python; `cuts` part its facts into train, valid and test."""

    num_entities: int
    num_relations: int
    facts: list[Fact]
    cuts: tuple[int, int] = (0, 0)

    @property
    def graph(self) -> TemporalGraph:
        return TemporalGraph.of(facts_of(self.facts), self.num_entities, self.num_relations)

    @property
    def train(self) -> list[Fact]:
        return self.facts[: self.cuts[0]]

    @property
    def valid(self) -> list[Fact]:
        return self.facts[self.cuts[0] : self.cuts[1]]

    @property
    def test(self) -> list[Fact]:
        return self.facts[self.cuts[1] :]

    @property
    def dataset(self) -> Dataset:
        """Entities e0, e1, …; relations r0, r1, …; tick 0 is 1970-01-01."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        return Dataset(
            "world",
            Vocabulary("entity", [f"e{number}" for number in range(self.num_entities)]),
            Vocabulary("relation", [f"r{number}" for number in range(self.num_relations)]),
            Timeline.of("day", 0, True, [fact[3] for fact in self.facts]),
            {split: facts_of(facts) for split, facts in splits.items()},
        )


# --- random small worlds -------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn, min_facts: int = 0) -> World:
    """Self loops, duplicates, isolated entities, a single day and no facts at all may occur.

    Where there are facts, some are left for test; train and valid may be empty.
    """
    num_entities, num_relations = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    last_tick = draw(st.sampled_from([0, 1, 6, 400]))
    entities, ticks = st.integers(0, num_entities - 1), st.integers(0, last_tick)
    fact = st.tuples(entities, st.integers(0, num_relations - 1), entities, ticks)
    facts = draw(st.lists(fact, min_size=min_facts, max_size=12))
    if facts:
        facts += draw(st.lists(st.sampled_from(facts), max_size=3))
    cuts = sorted(draw(st.tuples(*[st.integers(0, max(len(facts) - 1, 0))] * 2)))
    return World(num_entities, num_relations, facts, (cuts[0], cuts[1]))


@st.composite
def worlds_with_queries(draw: st.DrawFn) -> tuple[World, list[Query]]:
    """Queries of either direction, most never seen, also at times before and after all facts."""
    world = draw(worlds())
    query = st.tuples(
        st.integers(0, world.num_entities - 1),
        st.integers(0, 2 * world.num_relations - 1),
        st.integers(-2, 8) | st.sampled_from([-400, 399, 400, 401, 10**9]),
    )
    queries = draw(st.lists(query, min_size=1, max_size=8))
    if world.facts:
        of_facts = [(s, r, t) for s, r, _, t in with_reciprocals(world.facts, world.num_relations)]
        queries += draw(st.lists(st.sampled_from(of_facts), max_size=4))
    return world, queries
