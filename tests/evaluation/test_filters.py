from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from oracle import (
    Query,
    World,
    checked,
    first_tick,
    interval_worlds,
    interval_worlds_with_queries,
    known_at,
    last_tick,
    queries_of,
    with_reciprocals,
    worlds,
    worlds_with_queries,
)
from targcn.errors import InputError
from targcn.evaluation.filters import (
    Filter,
    KnownAnswers,
    known_answers,
    merge_intervals,
)
from targcn.evaluation.intervals import interval_queries


def look_up(world: World, which: Filter, queries: list[Query]) -> list[tuple[int, int]]:
    rows, entities = KnownAnswers.of(world.graph, which).look_up(queries_of(queries))
    return sorted(zip(rows.tolist(), entities.tolist(), strict=True))


@pytest.mark.parametrize("which", ["raw", "static", "time-aware"])
@checked
@given(worlds_with_queries())
def test_as_a_dictionary_of_sets(which: Filter, drawn: tuple[World, list[Query]]) -> None:
    world, queries = drawn
    known = oracle.known_answers(world.facts, world.num_relations, which)
    expected = [
        (row, answer)
        for row, (s, r, t) in enumerate(queries)
        for answer in sorted(known.get((s, r, t if which == "time-aware" else 0), ()))
    ]
    assert look_up(world, which, queries) == expected


WORLD = World(3, 1, [(0, 0, 1, 0), (0, 0, 2, 4), (0, 0, 1, 4), (0, 0, 1, 4), (1, 0, 0, 2)])


def test_reciprocal_relation_knows_the_subjects() -> None:
    assert look_up(WORLD, "time-aware", [(1, 1, 4)]) == [(0, 0)]


@checked
@given(worlds(min_facts=1))
def test_others_are_the_known_answers_besides_a_facts_own(world: World) -> None:
    known = oracle.known_answers(world.facts, world.num_relations, "time-aware")
    facts = oracle.with_reciprocals(world.facts, world.num_relations)
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([o for _, _, o, _ in facts])
    index = KnownAnswers.of(world.graph, "time-aware")
    found = index.others(queries, answers)
    assert found.shape == (len(facts), index.most_others)
    assert index.most_others == max(map(len, known.values()))
    for (s, r, o, t), row in zip(facts, found.tolist(), strict=True):
        assert set(row) == known[s, r, t] | {o}


def test_keys_past_64_bits_are_refused() -> None:
    graph = replace(WORLD.graph, num_entities=2**30, num_relations=2**30)
    with pytest.raises(InputError, match="too far for so many entities"):
        KnownAnswers.of(graph, "time-aware")
    assert len(KnownAnswers.of(graph, "static").keys) == 6


# --- intervals -----------------------------------------------------------------------------


@checked
@given(interval_worlds_with_queries())
def test_of_intervals_those_that_hold_then_each_once(drawn: tuple[World, list[Query]]) -> None:
    world, queries = drawn
    assert look_up(world, "time-aware", queries) == [
        (row, answer)
        for row, query in enumerate(queries)
        for answer in sorted(known_at(world, query))
    ]
    ever = {
        (row, o)
        for row, query in enumerate(queries)
        for s, r, o, *_ in with_reciprocals(world.facts, world.num_relations)
        if (s, r) == query[:2]
    }
    assert look_up(world, "static", queries) == sorted(ever)


@checked
@given(interval_worlds(), st.data())
def test_others_of_intervals_hold_then_too(world: World, data: st.DataObject) -> None:
    facts = with_reciprocals(world.facts, world.num_relations)
    ticks = [
        data.draw(st.integers(first_tick(fact), min(last_tick(fact), first_tick(fact) + 9)))
        for fact in facts
    ]
    index = KnownAnswers.of(world.graph, "time-aware")
    asked = [(s, r, t) for (s, r, *_), t in zip(facts, ticks, strict=True)]
    found = index.others(queries_of(asked), torch.tensor([fact[2] for fact in facts]))
    assert found.shape == (len(facts), index.most_others)
    for fact, query, row in zip(facts, asked, found.tolist(), strict=True):
        assert set(row) == known_at(world, query) | {fact[2]}


@checked
@given(interval_worlds())
def test_identical_knows_answers_over_the_same_interval_alone(world: World) -> None:
    known = known_answers(world.dataset, "cpu", identical=True)["time-aware"]
    rows, entities = known.look_up(interval_queries(world.dataset.facts, world.num_relations)[0])
    facts = with_reciprocals(world.facts, world.num_relations)
    keys = [(*fact[:2], first_tick(fact), last_tick(fact)) for fact in facts]
    expected = {
        (row, other[2])
        for row, key in enumerate(keys)
        for other, its_key in zip(facts, keys, strict=True)
        if its_key == key
    }
    assert sorted(zip(rows.tolist(), entities.tolist(), strict=True)) == sorted(expected)


# --- merging ---------------------------------------------------------------------------------

SPAN = 9
Held = tuple[int, int, int, int]  # group, value, first and last tick; 99 if open

intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 8), st.integers(0, 9)),
    max_size=20,
).map(lambda rows: [(g, v, first, 99 if n == 9 else min(first + n, 8)) for g, v, first, n in rows])


def columns(rows: list[Held]) -> list[Tensor]:
    return list(torch.tensor(rows, dtype=torch.int64).reshape(-1, 4).T)


@checked
@given(intervals)
def test_merged_intervals_cover_the_same_ticks_and_are_apart(rows: list[Held]) -> None:
    merged = torch.stack(merge_intervals(columns(rows), SPAN), 1).tolist()
    assert merged == sorted(merged)
    for group, value in {row[:2] for row in rows}:
        covered: list[int] = []
        for g, v, first, last in merged:
            if (g, v) == (group, value):
                covered += range(first, last + 1)
        expected = {
            tick
            for g, v, first, last in rows
            for tick in range(first, min(last, SPAN) + 1)
            if (g, v) == (group, value)
        }
        assert covered == sorted(expected)
