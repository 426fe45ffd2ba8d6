"""Snapshots around moments, against loops over times and facts."""

from collections import Counter

import pytest
import torch
from hypothesis import given

from oracle import Fact, Query, World, checked, counts_in, queries_of, window_around
from oracle import worlds_with_queries as worlds_with_moments
from targcn.graph.queries import Queries
from targcn.graph.snapshots import ALL_SHOWN, NONE, Folds, Moments, Snapshots, Windows

SEED = torch.tensor(9)


def fold_of(fact: Fact, number: int) -> int:
    return int(Folds(number, SEED).of_facts(*torch.tensor([fact]).T))


def node_names(windows: Windows) -> list[tuple[int, int, int]]:
    """The entity, time and fold of each node."""
    columns = (windows.entities, windows.times, windows.folds)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def entities_of(facts: list[Fact], time: int) -> set[int]:
    return {end for s, _, o, t in facts if t == time for end in (s, o)}


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("num_folds", [0, 2])
@checked
@given(worlds_with_moments())
def test_windows_hold_who_and_what_was_there(
    num_folds: int, size: int, past_only: bool, drawn: tuple[World, list[Query]]
) -> None:
    """Each moment is without its own fold; its neighbours are whole."""
    world, asked = drawn
    times = torch.tensor([t for _, _, t in asked])
    folds = torch.arange(len(times)) % num_folds if num_folds else torch.full_like(times, ALL_SHOWN)
    moments, places = Moments.of(times, folds)
    assert torch.equal(moments.times[places], times)
    assert torch.equal(moments.folds[places], folds)
    snapshots = Snapshots(world.past if past_only else world.graph)
    windows = snapshots.around(moments, size, Folds(num_folds, SEED) if num_folds else None)
    names = node_names(windows)
    seen: dict[tuple[int, int], list[int]] = {}
    columns = (windows.pair_moments, windows.pair_entities, windows.pair_nodes)
    for moment, entity, nodes in zip(*(column.tolist() for column in columns), strict=True):
        assert (moment, entity) not in seen
        seen[moment, entity] = nodes
    blocks = set()
    for moment, (time, fold) in enumerate(
        zip(moments.times.tolist(), moments.folds.tolist(), strict=True)
    ):
        shown = [fact for fact in world.facts if not num_folds or fold_of(fact, num_folds) != fold]
        before, after = window_around(world.facts, time, size, past_only)
        expected: dict[int, dict[int, tuple[int, int, int]]] = {}
        near = [*((-n, t) for n, t in enumerate(before, 1)), *enumerate(after, 1)]
        for step, then in near:
            blocks.add((then, ALL_SHOWN))
            for entity in entities_of(world.facts, then):
                expected.setdefault(entity, {})[step] = (entity, then, ALL_SHOWN)
        if not past_only:
            if entities_of(world.facts, time):
                blocks.add((time, fold))
            for entity in entities_of(shown, time):
                expected.setdefault(entity, {})[0] = (entity, time, fold)
        for entity in range(world.num_entities):
            nodes = seen.get((moment, entity), [NONE] * (2 * size - 1))
            steps = range(1 - size, size)
            found = {k: names[n] for k, n in zip(steps, nodes, strict=True) if n != NONE}
            assert found == expected.get(entity, {})
    # Each block once, with all its facts or without those of its fold.
    facts = []
    for time, fold in blocks:
        hides = num_folds and fold != ALL_SHOWN
        for fact in world.facts:
            if fact[3] == time and not (hides and fold_of(fact, num_folds) == fold):
                s, r, o, _ = fact
                facts.append(((s, time, fold), r, (o, time, fold)))
    columns = (windows.subjects, windows.relations, windows.objects)
    found_facts = [
        (names[s], r, names[o]) for s, r, o in zip(*(c.tolist() for c in columns), strict=True)
    ]
    assert Counter(found_facts) == Counter(facts)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("size", [1, 3])
@checked
@given(worlds_with_moments())
def test_counts_are_of_the_window_without_the_querys_time(
    size: int, past_only: bool, drawn: tuple[World, list[Query]]
) -> None:
    world, asked = drawn
    snapshots = Snapshots(world.past if past_only else world.graph)
    found = snapshots.counts_around(queries_of(asked), size)
    for query, counts in zip(asked, found.tolist(), strict=True):
        before, after = window_around(world.facts, query[2], size, past_only)
        assert counts == counts_in(world.facts, [*before, *after], world.num_relations, query)


def test_who_is_said_to_be_active_has_a_node_without_facts() -> None:
    world = World(4, 1, [(0, 0, 1, 5)])
    told = torch.tensor([[5, 7], [2, 3]])
    now = Moments(torch.tensor([5]), torch.tensor([ALL_SHOWN]))
    windows = Snapshots(world.graph, told).around(now, 2)
    assert node_names(windows) == [(n, 5, -1) for n in range(3)] + [(3, 7, -1)]
    assert (windows.subjects.tolist(), windows.objects.tolist()) == ([0], [1])
    assert windows.pair_entities.tolist() == [0, 1, 2, 3]


def test_both_queries_of_a_fact_and_of_its_repetition_have_its_fold() -> None:
    facts = [(s, r, o, t) for s in range(4) for r in range(2) for o in range(4) for t in range(5)]
    s, r, o, t = torch.tensor(facts).T
    folds = Folds(3, SEED)
    expected = folds.of_facts(s, r, o, t)
    assert torch.equal(folds.of_queries(Queries(s, r, t), o, num_relations=2), expected)
    assert torch.equal(folds.of_queries(Queries(o, r + 2, t), s, num_relations=2), expected)
    assert torch.bincount(expected).min() > 35
    assert not torch.equal(Folds(3, SEED + 1).of_facts(s, r, o, t), expected)
