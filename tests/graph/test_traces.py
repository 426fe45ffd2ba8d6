"""Traces against counts in a list of facts, and that no fact is among its own."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracle import (
    Query,
    World,
    checked,
    facts_of,
    find_traces,
    interval_worlds_with_queries,
    moment,
    worlds,
    worlds_with_queries,
)
from targcn.graph.queries import FactColumns
from targcn.graph.traces import Traces


def check(world: World, queries: list[Query], past_only: bool = False) -> None:
    """Facts of any object at the times of queries, and the known ones at moments of theirs."""
    num, entities = world.num_relations, range(world.num_entities)
    asked = [(*fact[:3], moment(fact, time)) for fact in world.facts for time in (0, 3)]
    asked += [(s, r % num, o, t) for s, r, t in queries[:4] for o in entities]
    traces = Traces(world.past if past_only else world.graph)
    columns = FactColumns.of(facts_of(asked))
    found = traces.of(columns)
    for number, fact in enumerate(asked):
        fields, shares = find_traces(world.facts, num, fact, past_only)
        for name, value in fields.items():
            expected = pytest.approx(value) if "share" in name else value
            assert getattr(found, name)[number].tolist() == expected, name
        asks = shares or number == 0
        best = traces.best_beside(columns[number : number + 1]) if asks else None
        assert (best is None) == (not shares)
        if best is not None:
            assert shares[best[0]] == pytest.approx(best[1]) == pytest.approx(max(shares.values()))


@checked
@example((World(2, 1, []), [(0, 0, 3)]), False)
@example((World(2, 1, []), [(0, 0, 3)]), True)
@given(worlds_with_queries(), st.booleans())
def test_traces_are_what_is_counted(drawn: tuple[World, list[Query]], past_only: bool) -> None:
    """At times before, among and after those of the data; of the past, only what is before."""
    check(*drawn, past_only)


@checked
@given(interval_worlds_with_queries())
def test_traces_of_intervals_are_what_is_counted(drawn: tuple[World, list[Query]]) -> None:
    check(*drawn)


@pytest.mark.parametrize(
    "names",
    ["before after", "elsewhere now", "num_objects num_subjects", "best_share sum_of_shares"],
)
@checked
@given(worlds(min_facts=1), st.data())
def test_a_fact_is_not_among_its_traces(names: str, world: World, data: st.DataObject) -> None:
    """But for the table of shares: it counts cases among all facts, and this may be one or two."""
    fact = data.draw(st.sampled_from(world.facts))
    left = [other for other in world.facts if other != fact]
    known = Traces(world.graph)
    unknown = Traces(World(world.num_entities, world.num_relations, left).graph)
    unknown.share_codes, unknown.shares = known.share_codes, known.shares
    here, there = (each.of(FactColumns.of(facts_of([fact]))) for each in (known, unknown))
    for name in names.split():
        assert getattr(here, name).tolist() == getattr(there, name).tolist(), name
