from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from interval_worlds import (
    IntervalWorld,
    as_points,
    interval_worlds,
    known_at,
    with_reciprocals,
)
from oracle import Query, World, checked, queries_of, worlds, worlds_with_queries
from targcn.errors import InputError
from targcn.evaluation.asking import interval_queries
from targcn.evaluation.filters import FILTERS, Filter, KnownAnswers, known_answers
from targcn.facts.dataset import OPEN


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


def test_static_knows_what_was_true_at_any_time() -> None:
    assert look_up(WORLD, "static", [(0, 0, 99)]) == [(0, 1), (0, 2)]


def test_time_aware_knows_what_was_true_then_each_answer_once() -> None:
    assert look_up(WORLD, "time-aware", [(0, 0, 0), (0, 0, 4)]) == [(0, 1), (1, 1), (1, 2)]


def test_reciprocal_relation_knows_the_subjects() -> None:
    assert look_up(WORLD, "time-aware", [(1, 1, 4)]) == [(0, 0)]


@pytest.mark.parametrize("time", [-1, 1, 5, 10**9, -(10**9), 2**62])
def test_a_time_without_facts_knows_nothing(time: int) -> None:
    assert look_up(WORLD, "time-aware", [(0, 0, time), (0, 1, time), (1, 0, time)]) == []


@checked
@given(worlds(min_facts=1))
def test_others_are_the_known_answers_besides_a_facts_own(world: World) -> None:
    known = oracle.known_answers(world.facts, world.num_relations, "time-aware")
    facts = oracle.with_reciprocals(world.facts, world.num_relations)
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([o for _, _, o, _ in facts])
    index = KnownAnswers.of(world.graph, "time-aware")
    found = index.others(queries, answers)
    most = max(map(len, known.values())) - 1
    assert index.most_others == most
    assert found.shape == (len(facts), most)
    for (s, r, o, t), row in zip(facts, found.tolist(), strict=True):
        others = sorted(known[s, r, t] - {o})
        assert row == others + [o] * (most - len(others))


def test_nobody_has_others_where_nothing_is_known() -> None:
    assert KnownAnswers.of(World(2, 1, []).graph, "time-aware").most_others == 0


def test_keys_past_64_bits_are_refused() -> None:
    graph = replace(WORLD.graph, num_entities=2**31, num_relations=2**31)
    with pytest.raises(InputError, match="too far for so many entities"):
        KnownAnswers.of(graph, "time-aware")
    assert len(KnownAnswers.of(graph, "static").answers) == 6


def test_to_a_device_answers_alike() -> None:
    known = KnownAnswers.of(WORLD.graph, "time-aware").to("cpu")
    assert known.look_up(queries_of([(0, 0, 4)]))[1].tolist() == [1, 2]


# --- intervals -----------------------------------------------------------------------------


@checked
@given(interval_worlds(min_facts=1), st.data())
def test_of_intervals_those_that_hold_then_each_once(
    world: IntervalWorld, data: st.DataObject
) -> None:
    query = st.tuples(
        st.integers(0, world.num_entities - 1),
        st.integers(0, 2 * world.num_relations - 1),
        st.integers(-2, 10) | st.sampled_from([399, 400, 401, 10**9, 2**40]),
    )
    queries = data.draw(st.lists(query, min_size=1, max_size=20))
    rows, entities = KnownAnswers.of(world.graph, "time-aware").look_up(queries_of(queries))
    found = sorted(zip(rows.tolist(), entities.tolist(), strict=True))
    assert found == [
        (row, answer)
        for row, query in enumerate(queries)
        for answer in sorted(known_at(world, *query))
    ]
    rows, entities = KnownAnswers.of(world.graph, "static").look_up(queries_of(queries))
    everything = with_reciprocals(world.facts, world.num_relations)
    ever = {
        (row, o)
        for row, (s, r, _) in enumerate(queries)
        for q, p, o, *_ in everything
        if (q, p) == (s, r)
    }
    assert sorted(zip(rows.tolist(), entities.tolist(), strict=True)) == sorted(ever)


@checked
@given(interval_worlds(min_facts=1), st.data())
def test_others_of_intervals_hold_then_too(world: IntervalWorld, data: st.DataObject) -> None:
    facts = with_reciprocals(world.facts, world.num_relations)
    ends = [400 if last == OPEN else last for *_, last in facts]
    ticks = [
        data.draw(st.integers(max(fact[3], 0), max(end, fact[3], 0)))
        for fact, end in zip(facts, ends, strict=True)
    ]
    index = KnownAnswers.of(world.graph, "time-aware")
    asked = queries_of([(s, r, t) for (s, r, *_), t in zip(facts, ticks, strict=True)])
    found = index.others(asked, torch.tensor([fact[2] for fact in facts]))
    most = max(len(known_at(world, s, r, tick)) for s, r, *_ in facts for tick in range(402)) - 1
    assert index.most_others == most
    assert found.shape == (len(facts), most)
    for (s, r, o, *_), tick, row in zip(facts, ticks, found.tolist(), strict=True):
        others = sorted(known_at(world, s, r, tick) - {o})
        assert row == others + [o] * (most - len(others))


@checked
@given(interval_worlds(min_facts=1))
def test_identical_knows_answers_over_the_same_interval_alone(world: IntervalWorld) -> None:
    known = known_answers(world.dataset, "cpu", identical=True)["time-aware"]
    queries, _ = interval_queries(world.dataset.facts, world.num_relations)
    rows, entities = known.look_up(queries)
    found = sorted(zip(rows.tolist(), entities.tolist(), strict=True))
    facts = with_reciprocals(world.facts, world.num_relations)
    expected = {
        (row, other[2])
        for row, (s, r, _, first, last) in enumerate(facts)
        for other in facts
        if (*other[:2], max(other[3], 0), other[4]) == (s, r, max(first, 0), last)
    }
    assert found == sorted(expected)


@checked
@given(interval_worlds(min_facts=1, longest=0, open_ends=False))
def test_intervals_of_one_tick_are_points(world: IntervalWorld) -> None:
    points, queries = as_points(world), [(s, r, first) for s, r, _, first, _ in world.facts]
    for which in FILTERS:
        known = KnownAnswers.of(world.graph, which).look_up(queries_of(queries))
        assert sorted(zip(*(one.tolist() for one in known), strict=True)) == look_up(
            points, which, queries
        )
