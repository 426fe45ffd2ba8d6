"""Partners and their counts against sets of facts."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Partner,
    Query,
    World,
    checked,
    futures,
    partners,
    queries_of,
    worlds_with_queries,
)
from targcn.graph.partners import Partners
from targcn.graph.temporal_graph import TemporalGraph

COUNTS = st.sampled_from([0, 1, 2, 3, 50])


def find(graph: TemporalGraph, queries: list[Query], count: int) -> list[list[Partner]]:
    """The partners of each query's subject, in the order found."""
    asked = queries_of(queries)
    found = Partners(graph).most_frequent(asked.subjects, asked.times, count)
    columns = zip(*(column.tolist() for column in found.tensors()), strict=True)
    return [[place for place in zip(*row, strict=True) if place[2] > 0] for row in columns]


@checked
@given(worlds_with_queries(), COUNTS, st.booleans())
def test_the_most_frequent_partners_come_first(
    drawn: tuple[World, list[Query]], count: int, past_only: bool
) -> None:
    """Of two as frequent, the one of the smaller relation, then the smaller partner."""
    world, queries = drawn
    rows = find(replace(world.graph, past_only=past_only), queries, count)
    for (s, _, t), row in zip(queries, rows, strict=True):
        before = t if past_only else None
        assert row == partners(world.facts, world.num_relations, s, before)[:count]


@checked
@given(worlds_with_queries(min_facts=1), st.data(), COUNTS)
def test_in_a_graph_of_the_past_nothing_else_changes_anything(
    drawn: tuple[World, list[Query]], data: st.DataObject, count: int
) -> None:
    world, queries = drawn
    query = data.draw(st.sampled_from(queries))
    changed = data.draw(futures(world, query[2]))
    graphs = [replace(one.graph, past_only=True) for one in (world, changed)]
    assert find(graphs[0], [query], count) == find(graphs[1], [query], count)


def test_a_fact_that_is_there_twice_counts_once() -> None:
    world = World(3, 2, [(0, 1, 1, 4), (0, 1, 1, 4), (0, 1, 1, 9), (2, 0, 0, 4)])
    assert find(world.graph, [(0, 0, 0)], 9) == [[(1, 1, 2), (2, 2, 1)]]
