"""The paths behind an answer of T-GAP against walking all paths one by one."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given

from oracle import Edge, Fact, Query, World, checked, queries_of, tgap, worlds_with_queries
from small_training import BUSY_WORLD, small_tgap
from targcn.models import tgap_reasons
from targcn.models.reasons import NO_FACT, Reasons
from targcn.models.tgap import LEAST_MASS, TGAP

SETTINGS: list[dict[str, Any]] = [
    {},
    {"subject_edges": 2, "core_nodes": 2, "node_edges": 2, "subgraph_edges": 3},
    {"steps": 2},
]
WORLD = BUSY_WORLD


def build(world: World = WORLD, **settings: Any) -> TGAP:
    return small_tgap(world, **settings).eval().requires_grad_(False)


def paths_in(reasons: Reasons) -> dict[tuple[Fact, ...], float]:
    columns = (reasons.subjects, reasons.relations, reasons.objects, reasons.times)
    found = {}
    for row, effect in enumerate(reasons.effects.tolist()):
        facts = zip(*(column[row].tolist() for column in columns), strict=True)
        told = tuple(fact for fact in facts if fact[1] != NO_FACT)
        found[told] = found.get(told, 0) + effect
    return found


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@checked
@given(worlds_with_queries(min_facts=1))
def test_reasons_are_all_paths_to_the_answer_and_add_up(
    settings: dict[str, Any], past_only: bool, drawn: tuple[World, list[Query]]
) -> None:
    world, asked = drawn
    model, query, answer = build(world, **settings), asked[-1], world.facts[0][2]
    relations, time = world.num_relations, query[2]

    def as_told(edge: Edge) -> Fact:
        s, r, o, delta = edge
        return (s, r, o, delta + time) if r < relations else (o, r - relations, s, delta + time)

    own = as_told((*query[:2], answer, 0))
    mass, paths = tgap(
        model,
        [fact for fact in world.facts if fact != own],
        world.num_entities,
        relations,
        query,
        past_only=past_only,
    )
    graph = world.past if past_only else world.graph
    reasons = model.reasons(queries_of([query]), answer, graph)
    expected: dict[tuple[Fact, ...], float] = {}
    for path, carried in paths[answer].items():
        told = tuple(map(as_told, path))
        expected[told] = expected.get(told, 0) + carried
    waiting = expected.pop((), 0)
    assert paths_in(reasons) == pytest.approx(expected)
    assert sum(effect for _, effect in reasons.others) == pytest.approx(waiting)
    total = float(reasons.effects.sum()) + waiting
    assert total == pytest.approx(float(mass[answer].mean()))
    probability = float(model.log_probabilities(reasons.scores[None])[0, answer].exp())
    assert probability == pytest.approx(total, abs=20 * LEAST_MASS)


def test_weaker_paths_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model, query = build(), queries_of([(0, 0, 3)])
    whole = model.reasons(query, 4, WORLD.graph)
    monkeypatch.setattr(tgap_reasons, "MOST_PATHS", 30)
    part = model.reasons(query, 4, WORLD.graph)
    assert len(part.effects) == 30 < len(whole.effects)
    assert [name for name, _ in part.others] == ["weaker paths"]
    told = float(part.effects.sum()) + sum(effect for _, effect in part.others)
    assert told == pytest.approx(float(whole.effects.sum()))


def test_as_a_change_it_is_what_is_left_of_all_other_paths() -> None:
    model, query = build(), queries_of([(0, 0, 3)])
    reasons = model.reasons(query, 4, WORLD.graph)
    assert reasons.measure == "part of probability"
    changes = reasons.as_changes(4)
    assert (changes.measure, changes.others) == ("change of probability", ())
    whole = float(reasons.scores.exp()[4])
    for part, change in zip(reasons.effects.tolist(), changes.effects.tolist(), strict=True):
        assert change == pytest.approx(whole - (whole - part) / (1 - part))
    alone = replace(reasons, effects=torch.tensor([1.0]), scores=torch.tensor([0.0]))
    assert float(alone.as_changes(0).effects) == pytest.approx(1)
