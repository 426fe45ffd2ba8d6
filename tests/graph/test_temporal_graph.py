import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Query,
    World,
    checked,
    facts_of,
    first_tick,
    holds,
    interval_worlds_with_queries,
    last_tick,
    moment,
    with_reciprocals,
    worlds,
    worlds_with_queries,
)
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Facts
from targcn.graph import build
from targcn.graph.hidden import fact_codes
from targcn.graph.temporal_graph import TemporalGraph


def rows(graph: TemporalGraph) -> list[tuple[int, ...]]:
    columns = (graph.subjects, graph.relations, graph.objects, graph.times)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@checked
@given(worlds())
def test_incoming_facts_of_each_entity_lie_together_by_time(world: World) -> None:
    graph = world.graph
    everything = with_reciprocals(world.facts, world.num_relations)
    for entity in range(world.num_entities):
        first, last = int(graph.offsets[entity]), int(graph.offsets[entity + 1])
        incoming = sorted((t, r, s) for s, r, o, t in everything if o == entity)
        assert rows(graph)[first:last] == [(s, r, entity, t) for t, r, s in incoming]


def test_of_the_context_past_is_everything_and_past_only() -> None:
    world = World(3, 1, [(0, 0, 1, 2), (1, 0, 2, 0), (0, 0, 2, 1)], cuts=(1, 2))
    past = TemporalGraph.of_context(world.dataset, "past")
    assert rows(past) == rows(world.graph)
    assert past.past_only
    assert past.to("cpu").past_only
    assert not TemporalGraph.of_context(world.dataset, "train+valid").to("cpu").past_only


@checked
@given(worlds(), st.integers(1, 20))
def test_sorting_in_pieces_changes_nothing(world: World, at_once: int) -> None:
    whole = world.graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "ROWS_SORTED_AT_ONCE", at_once)
        pieces = TemporalGraph.of(facts_of(world.facts), world.num_entities, world.num_relations)
    for name in ("subjects", "relations", "times", "keys", "offsets"):
        assert torch.equal(getattr(whole, name), getattr(pieces, name)), name
    assert whole.span == pieces.span


# --- how many facts say the same at a time ----------------------------------------------------


def assert_counted(world: World, queries: list[Query]) -> None:
    facts = with_reciprocals(world.facts, world.num_relations)
    asked = [(s, r, o, t) for s, r, t in queries for o in range(world.num_entities)]
    *said, times = torch.tensor(asked).T.contiguous()
    *_, found = world.graph.triples.look(fact_codes(world.graph, *said), times)
    for (*said_here, t), count in zip(asked, found.tolist(), strict=True):
        found_slowly = {
            (first_tick(fact), last_tick(fact))
            for fact in facts
            if [*fact[:3]] == said_here and holds(fact, t)
        }
        assert count == len(found_slowly)


@checked
@given(interval_worlds_with_queries())
def test_those_that_hold_are_counted_once_for_each_interval(
    drawn: tuple[World, list[Query]],
) -> None:
    assert_counted(*drawn)


@checked
@given(worlds_with_queries())
def test_points_hold_at_their_time(drawn: tuple[World, list[Query]]) -> None:
    assert_counted(*drawn)


# --- the rest -------------------------------------------------------------------------------


@checked
@given(worlds(min_facts=1), st.data())
def test_a_changed_graph_is_the_graph_of_the_changed_facts(
    world: World, data: st.DataObject
) -> None:
    gone = data.draw(st.lists(st.sampled_from(world.facts), unique=True, max_size=3))
    fact = st.tuples(
        st.integers(0, world.num_entities - 1),
        st.integers(0, world.num_relations - 1),
        st.integers(0, world.num_entities - 1),
        st.integers(0, 500),
    ).filter(lambda one: one not in world.facts)
    new = data.draw(st.lists(fact, unique=True, max_size=3))
    changed = world.graph.changed(facts_of(gone), facts_of(new))
    left = [fact for fact in world.facts if fact not in gone]
    expected = World(world.num_entities, world.num_relations, left + new).graph
    assert rows(changed) == rows(expected)
    assert (changed.span, changed.keys.tolist()) == (expected.span, expected.keys.tolist())
    # What stayed is known by its old position, what is new by a number that nothing else has.
    old = rows(world.graph)
    for number, row in zip(changed.numbers.tolist(), rows(changed), strict=True):
        assert old[number] == row if number < len(old) else row not in old
    assert changed.numbers.unique().numel() == len(changed)


def test_a_fact_is_found_in_its_own_direction_wherever_it_stands() -> None:
    graph = World(3, 2, [(0, 0, 1, 4), (0, 0, 1, 4), (1, 1, 0, 4)]).graph
    assert [rows(graph)[i] for i in graph.positions_of(0, 0, 1, 4)] == [(0, 0, 1, 4)] * 2
    assert [rows(graph)[i] for i in graph.positions_of(1, 2, 0, 4)] == [(1, 2, 0, 4)] * 2
    for absent in ((0, 0, 1, 3), (0, 1, 1, 4), (1, 0, 0, 4), (0, 0, 2, 4)):
        assert len(graph.positions_of(*absent)) == 0


def test_intervals_keep_their_ends_in_both_directions() -> None:
    facts = Facts.of([0, 0], [0, 0], [1, 1], [3, OPEN], [5, OPEN])
    graph = TemporalGraph.of(facts, 2, 1)
    assert graph.has_intervals
    still = np.iinfo(np.int32).max
    assert graph.times.tolist() == [0, 3, 0, 3]
    assert graph.ends.tolist() == [still, 5, still, 5]
    assert graph.span == 6


@checked
@given(interval_worlds_with_queries(), st.data())
def test_intervals_are_left_out_and_added(
    drawn: tuple[World, list[Query]], data: st.DataObject
) -> None:
    """A time stands for all that holds then; what stays keeps its number."""
    world, _ = drawn
    told = data.draw(st.sampled_from(world.facts))
    time = moment(told, data.draw(st.integers(0, 10)))
    exact = data.draw(st.booleans())
    gone = told if exact else (*told[:3], time)

    def is_meant(fact: tuple[int, ...]) -> bool:
        if not exact:
            return holds(fact, time)
        return [first_tick(fact), last_tick(fact)] == [first_tick(told), last_tick(told)]

    left = [fact for fact in world.facts if fact[:3] != told[:3] or not is_meant(fact)]
    # No fact is this long.
    new = (0, 0, 0, 1, 5000)
    graph = world.graph
    changed = graph.changed(facts_of([gone]), facts_of([new]))
    expected = TemporalGraph.of(facts_of([*left, new]), world.num_entities, world.num_relations)
    for name in ("subjects", "relations", "times", "ends", "keys", "offsets"):
        assert torch.equal(getattr(changed, name), getattr(expected, name)), name
    stayed = changed.numbers < len(graph)
    for column in ("subjects", "relations", "times", "ends"):
        before = getattr(graph, column)[changed.numbers[stayed]]
        assert torch.equal(getattr(changed, column)[stayed], before)
    assert int((~stayed).sum()) == 2


@checked
@given(interval_worlds_with_queries())
def test_an_interval_is_found_at_each_of_its_ticks(drawn: tuple[World, list[Query]]) -> None:
    world, queries = drawn
    graph, both = world.graph, with_reciprocals(world.facts, world.num_relations)
    for s, r, t in queries:
        for o in range(world.num_entities):
            here = [fact for fact in both if fact[:3] == (s, r, o)]
            assert len(graph.positions_of(s, r, o, t)) == sum(holds(fact, t) for fact in here)


def test_intervals_have_no_past() -> None:
    world = World(2, 1, [(0, 0, 1, 3, 5)])
    with pytest.raises(InputError, match="no context 'past' and no past_only for them"):
        world.graph.as_past()
    with pytest.raises(InputError, match="no context 'past'"):
        TemporalGraph.of_context(world.dataset, "past")


@pytest.mark.parametrize(("num_entities", "num_relations"), [(3, 2**40), (2**40, 1), (3, 1)])
def test_times_too_far_apart_for_keys_of_64_bits_are_refused(
    num_entities: int, num_relations: int
) -> None:
    """Whatever a key is made of besides a time: an entity, a relation or the number of a fact."""
    last = 2**61 if (num_entities, num_relations) == (3, 1) else 2**30
    facts = Facts.of([0, 1], [0, 0], [1, 2], [0, last])
    with pytest.raises(InputError, match="ticks after the first, too far for 2 facts"):
        TemporalGraph.of(facts, num_entities, num_relations)
