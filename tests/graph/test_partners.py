"""Partners and their counts, and how many facts say the same, against sets of facts."""

from dataclasses import replace

import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Partner,
    Query,
    World,
    checked,
    first_tick,
    holds,
    interval_worlds_with_queries,
    last_tick,
    partners,
    queries_of,
    with_reciprocals,
    worlds_with_queries,
)
from targcn.graph.hidden import SIDES_OF_A_FACT, HiddenFacts, hide_partner
from targcn.graph.partners import Partners
from targcn.graph.temporal_graph import TemporalGraph

COUNTS = st.sampled_from([0, 1, 2, 3, 50])


def find(graph: TemporalGraph, queries: list[Query], count: int) -> list[list[Partner]]:
    """The partners of each query's subject, in the order found."""
    asked = queries_of(queries)
    found = Partners.of(graph).most_frequent(asked.subjects, asked.times, count)
    columns = zip(*(column.tolist() for column in found.tensors()), strict=True)
    return [[place for place in zip(*row, strict=True) if place[2] > 0] for row in columns]


@checked
@given(worlds_with_queries(), COUNTS, st.booleans())
def test_the_most_frequent_partners_come_first(
    drawn: tuple[World, list[Query]], count: int, past_only: bool
) -> None:
    """Of two as frequent, the one of the smaller relation, then the smaller partner."""
    world, queries = drawn
    rows = find(world.past if past_only else world.graph, queries, count)
    for (s, _, t), row in zip(queries, rows, strict=True):
        before = t if past_only else None
        assert row == partners(world.facts, world.num_relations, s, before)[:count]


@checked
@given(interval_worlds_with_queries(), COUNTS, st.data())
def test_all_intervals_that_hold_at_the_hidden_time_are_counted_out(
    drawn: tuple[World, list[Query]], count: int, data: st.DataObject
) -> None:
    """One that overlaps with the fact asked about would give the answer away."""
    world, queries = drawn
    own = data.draw(st.sampled_from(world.facts))
    time = data.draw(st.sampled_from([t for *_, t in queries if holds(own, t)] or [max(own[3:])]))
    left = [fact for fact in world.facts if not (fact[:3] == own[:3] and holds(fact, time))]
    subjects = torch.tensor([own[0], own[2]])
    times = torch.full_like(subjects, time)
    hidden = HiddenFacts(*torch.tensor([[*own[:3], time]] * 2).T)
    graph = world.graph
    found = graph.partners.most_frequent(subjects, times, count + SIDES_OF_A_FACT)
    hiding = hide_partner(found, count, subjects, hidden, graph)
    rows = zip(*(column.tolist() for column in hiding.tensors()), strict=True)
    for subject, row in zip(subjects.tolist(), rows, strict=True):
        kept = [place for place in zip(*row, strict=True) if place[2] > 0]
        expected = partners(replace(world, facts=left).facts, world.num_relations, subject)
        assert kept == expected[:count]


# --- how many facts say the same at a time --------------------------------------------------


def assert_counted(world: World, queries: list[Query]) -> None:
    facts = with_reciprocals(world.facts, world.num_relations)
    asked = [(s, r, o, t) for s, r, t in queries for o in range(world.num_entities)]
    found = world.graph.copies.count(*torch.tensor(asked).T.contiguous())
    for (*said, t), count in zip(asked, found.tolist(), strict=True):
        found_slowly = {
            (first_tick(fact), last_tick(fact))
            for fact in facts
            if [*fact[:3]] == said and holds(fact, t)
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
