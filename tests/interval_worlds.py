"""Small graphs of facts that hold over intervals, in plain Python, and slow versions for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

import oracle
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.graph.temporal_graph import TemporalGraph

Lasting = tuple[int, int, int, int, int]  # subject, relation, object, first and last tick


@dataclass(frozen=True)
class IntervalWorld:
    """Like oracle.World; either end of a fact may be OPEN."""

    num_entities: int
    num_relations: int
    facts: list[Lasting]
    cuts: tuple[int, int] = (0, 0)

    @property
    def graph(self) -> TemporalGraph:
        return TemporalGraph.of(lasting_facts(self.facts), self.num_entities, self.num_relations)

    @property
    def test(self) -> list[Lasting]:
        return self.facts[self.cuts[1] :]

    @property
    def ticks(self) -> list[int]:
        """The ticks at which something begins or ends."""
        return sorted({max(tick, 0) for *_, first, last in self.facts for tick in (first, last)})

    @property
    def dataset(self) -> Dataset:
        train, valid = self.cuts
        parts = {
            "train": self.facts[:train],
            "valid": self.facts[train:valid],
            "test": self.facts[valid:],
        }
        return Dataset(
            "world",
            Vocabulary("entity", [f"e{number}" for number in range(self.num_entities)]),
            Vocabulary("relation", [f"r{number}" for number in range(self.num_relations)]),
            Timeline.of("day", 0, True, self.ticks),
            {split: lasting_facts(facts) for split, facts in parts.items()},  # type: ignore[misc]
        )


def lasting_facts(facts: Sequence[Lasting]) -> Facts:
    return Facts.of(*(zip(*facts, strict=True) if facts else [[]] * 5))


def holds(fact: Lasting, tick: int) -> bool:
    return max(fact[3], 0) <= tick and (fact[4] == OPEN or tick <= fact[4])


def known_at(world: IntervalWorld, subject: int, relation: int, tick: int) -> set[int]:
    """The true answers at a tick, fact by fact."""
    return {
        fact[2]
        for fact in with_reciprocals(world.facts, world.num_relations)
        if fact[:2] == (subject, relation) and holds(fact, tick)
    }


def with_reciprocals(facts: Sequence[Lasting], num_relations: int) -> list[Lasting]:
    return [*facts, *((o, r + num_relations, s, first, last) for s, r, o, first, last in facts)]


def as_points(world: IntervalWorld) -> oracle.World:
    """The facts at their first ticks."""
    facts = [(s, r, o, first) for s, r, o, first, _ in world.facts]
    return oracle.World(world.num_entities, world.num_relations, facts, world.cuts)


@st.composite
def interval_worlds(
    draw: st.DrawFn, min_facts: int = 0, open_ends: bool = True, longest: int = 400
) -> IntervalWorld:
    """Intervals that overlap, contain or equal each other; either end or both may be open."""
    num_entities, num_relations = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    last_tick = draw(st.sampled_from([0, 3, 8, 400]))
    entities, ticks = st.integers(0, num_entities - 1), st.integers(0, last_tick)
    lengths = st.integers(0, min(longest, last_tick))
    fact = st.tuples(
        entities, st.integers(0, num_relations - 1), entities, ticks, lengths, st.integers(0, 9)
    )
    facts: list[Lasting] = []
    for s, r, o, first, length, which in draw(st.lists(fact, min_size=min_facts, max_size=14)):
        begins = OPEN if open_ends and which in (0, 1) else first
        ends = OPEN if open_ends and which in (1, 2, 3) else min(first + length, last_tick)
        facts.append((s, r, o, begins, ends))
    if facts:
        facts += draw(st.lists(st.sampled_from(facts), max_size=3))
    cuts = sorted(draw(st.tuples(*[st.integers(0, max(len(facts) - 1, 0))] * 2)))
    return IntervalWorld(num_entities, num_relations, facts, (cuts[0], cuts[1]))
