"""Random small worlds in plain Python, and what they are in the types of the library."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from hypothesis import assume, settings
from hypothesis import strategies as st

from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.times.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph

# Subject, relation, object, time; an interval has its last tick too, and either may be OPEN.
Fact = tuple[int, ...]
Query = tuple[int, int, int]  # subject, relation, time
# Two busy cores say nothing about how long one example takes.
checked = settings(max_examples=60)


def with_reciprocals(facts: Sequence[Fact], num_relations: int) -> list[Fact]:
    return [*facts, *((o, r + num_relations, s, *when) for s, r, o, *when in facts)]


def first_tick(fact: Fact) -> int:
    return max(fact[3], 0)


def last_tick(fact: Fact) -> int:
    """Of an open interval, later than anything."""
    return 10**18 if len(fact) > 4 and fact[4] == OPEN else fact[-1]


def moment(fact: Fact, time: int) -> int:
    """The tick nearest to a time at which a fact holds."""
    return min(max(time, first_tick(fact)), last_tick(fact))


def holds(fact: Fact, time: int) -> bool:
    return moment(fact, time) == time


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
    def past(self) -> TemporalGraph:
        """The same graph, of which a query may see only what lies before its time."""
        return self.graph.as_past()

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
            Timeline("day", 0, True, [t for fact in self.facts for t in fact[3:] if t != OPEN]),
            {split: facts_of(facts) for split, facts in splits.items()},
        )


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
def worlds_with_queries(draw: st.DrawFn, min_facts: int = 0) -> tuple[World, list[Query]]:
    """Queries of either direction, most never seen, also at times before and after all facts."""
    world = draw(worlds(min_facts))
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


@st.composite
def interval_worlds_with_queries(draw: st.DrawFn, min_facts: int = 1) -> tuple[World, list[Query]]:
    """Facts that hold over intervals, of one tick or open ones too, and queries of any time.

    Facts say the same over several intervals, which may overlap.
    """
    world, queries = draw(worlds_with_queries(min_facts))
    lengths = st.lists(
        st.sampled_from([0, 0, 1, 2, 5, 300, OPEN]),
        min_size=len(world.facts),
        max_size=len(world.facts),
    )
    facts = [
        (s, r, o, t, OPEN if length == OPEN else t + length)
        for (s, r, o, t), length in zip(world.facts, draw(lengths), strict=True)
    ]
    opened = draw(st.sets(st.integers(0, len(facts)), max_size=3))
    facts = [
        (*fact[:3], OPEN, fact[4]) if place in opened else fact for place, fact in enumerate(facts)
    ]
    inside = [
        (s, r, moment((s, r, o, *when), time))
        for s, r, o, *when in with_reciprocals(facts, world.num_relations)
        for time in (0, 3, 200)
    ]
    queries += draw(st.lists(st.sampled_from(inside), max_size=4))
    return replace(world, facts=facts), queries


@st.composite
def interval_worlds(draw: st.DrawFn) -> World:
    """Facts that hold over intervals, of which at least one end is known."""
    world, _ = draw(interval_worlds_with_queries())
    assume(any(tick != OPEN for fact in world.facts for tick in fact[3:]))
    return world


@st.composite
def worlds_with_another_future(draw: st.DrawFn) -> tuple[World, World, list[Query]]:
    """Queries at one time, and two worlds that are the same before it."""
    world, queries = draw(worlds_with_queries())
    time = queries[0][2]
    now = [(s, r, time) for s, r, _ in queries]
    entities, first = st.integers(0, world.num_entities - 1), max(time, 0)
    relations, ticks = st.integers(0, world.num_relations - 1), st.integers(first, first + 500)
    future = draw(st.lists(st.tuples(entities, relations, entities, ticks), max_size=12))
    past = [fact for fact in world.facts if fact[3] < time]
    # Whole days of the same facts would change nothing in the order of the others.
    order = draw(st.permutations(past + future))
    return world, replace(world, facts=order), now
