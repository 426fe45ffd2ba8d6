"""Windows of the nearest facts against all facts sorted by distance."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Fact,
    Query,
    World,
    checked,
    facts_from,
    first_tick,
    interval_worlds_with_queries,
    last_tick,
    nearest,
    queries_of,
    worlds_with_queries,
)
from targcn.graph import nearest as nearest_facts
from targcn.graph.nearest import NearestFacts, nearest_of_entities
from targcn.graph.temporal_graph import TemporalGraph

COUNTS = st.sampled_from([0, 1, 2, 3, 5, 50])


def rows_of(found: NearestFacts) -> list[list[Fact]]:
    """The facts in the filled places of each row, sorted."""
    columns = (found.subjects, found.relations, found.objects, found.times)
    rows = torch.stack(columns, dim=2)
    return [
        sorted(tuple(fact) for fact in row[filled].tolist())
        for row, filled in zip(rows, found.filled, strict=True)
    ]


def find(graph: TemporalGraph, queries: list[Query], count: int) -> list[list[Fact]]:
    """The nearest of each query's subject."""
    asked = queries_of(queries)
    return rows_of(nearest_of_entities(graph, asked.subjects, asked.times, count))


@checked
@given(worlds_with_queries(), COUNTS, st.booleans())
def test_the_nearest_facts_are_found(
    drawn: tuple[World, list[Query]], count: int, past_only: bool
) -> None:
    """Which of the facts of one time are in a window that cuts them is a promise, too."""
    world, queries = drawn
    facts, number = world.facts, world.num_relations
    found = find(world.past if past_only else world.graph, queries, count)
    for (s, _, t), row in zip(queries, found, strict=True):
        assert row == nearest(facts_from(facts, number, s), t, count, past_only)
        assert not past_only or all(fact[3] < t for fact in row)


def test_of_one_time_those_next_to_the_query_in_the_order_of_the_graph_are_taken() -> None:
    """That is by reciprocal relation, then object. A day before loses its first ones."""
    for day, left_out in ((4, 1), (5, 3), (6, 3)):
        world = World(4, 1, [(0, 0, o, day) for o in (1, 2, 3)])
        [row] = find(world.graph, [(0, 0, 5)], 2)
        assert {1, 2, 3} - {fact[2] for fact in row} == {left_out}


@checked
@given(interval_worlds_with_queries(), COUNTS)
def test_the_nearest_intervals_are_found(drawn: tuple[World, list[Query]], count: int) -> None:
    """Whatever holds is nearest; the time of a fact is its moment nearest to the query's."""
    world, queries = drawn
    facts, number = world.facts, world.num_relations
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_facts, "LOOKED_BACK", 50)
        found = find(world.graph, queries, count)
    for (s, _, t), row in zip(queries, found, strict=True):
        assert row == nearest(facts_from(facts, number, s), t, count)


@checked
@given(interval_worlds_with_queries(min_facts=5), st.integers(1, 3), st.sampled_from([1, 2]))
def test_of_old_facts_those_that_ended_latest_are_looked_at(
    drawn: tuple[World, list[Query]], count: int, looked_back: int
) -> None:
    """Old facts that still hold are not found: that bounds what a look-up takes."""
    world, queries = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_facts, "LOOKED_BACK", looked_back)
        found = find(world.graph, queries, count)
    for (s, _, t), row in zip(queries, found, strict=True):
        in_order = facts_from(world.facts, world.num_relations, s)
        begun = [fact for fact in in_order if first_tick(fact) < t]
        later = in_order[len(begun) :]
        back = looked_back * count
        old = [fact for fact in begun[:-back] if last_tick(fact) < t]
        assert row == nearest([*old, *begun[-back:], *later], t, count)


@checked
@given(worlds_with_queries(), COUNTS)
def test_intervals_of_one_tick_are_points(drawn: tuple[World, list[Query]], count: int) -> None:
    """In the same places, which dropout knows facts by."""
    world, queries = drawn
    asked = queries_of(queries)
    of_ticks = World(world.num_entities, world.num_relations, [(*f, f[3]) for f in world.facts])
    ours, theirs = (
        nearest_of_entities(one.graph, asked.subjects, asked.times, count)
        for one in (world, of_ticks)
    )
    assert torch.equal(ours.filled, theirs.filled)
    for one, other in zip(ours.tensors(), theirs.tensors(), strict=True):
        assert torch.equal(one[ours.filled], other[ours.filled])
