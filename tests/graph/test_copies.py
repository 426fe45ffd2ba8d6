"""How many facts say the same at a time, against a look at each of them."""

import torch
from hypothesis import given

from oracle import (
    Query,
    World,
    checked,
    first_tick,
    holds,
    interval_worlds_with_queries,
    last_tick,
    with_reciprocals,
    worlds_with_queries,
)


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
