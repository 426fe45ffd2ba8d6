"""Questions for relations and times, against counting one by one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from fake_model import FakeModel, fake_run, few_values
from oracle import World, checked, worlds
from targcn.errors import InputError
from targcn.evaluation import candidates as module
from targcn.evaluation.candidates import (
    SMOOTHING,
    Kind,
    relation_prior,
)
from targcn.graph.queries import FactColumns
from targcn.graph.temporal_graph import TemporalGraph
from targcn.runs.evaluate import evaluate

kinds = st.sampled_from(module.KINDS)


def candidate_ids(world: World, kind: Kind) -> list[int]:
    if kind == "relation":
        return list(range(world.num_relations))
    return sorted({fact[3] for fact in world.facts})


def put_in(fact: oracle.Fact, kind: Kind, candidate: int) -> oracle.Fact:
    subject, relation, object_, time = fact
    if kind == "relation":
        return subject, candidate, object_, time
    return subject, relation, object_, candidate


def known_to(world: World, fact: oracle.Fact, kind: Kind, which: str) -> set[int]:
    """The candidates that make a fact which is known; under the static filter at any time."""
    ids = candidate_ids(world, kind)
    if which == "raw":
        return set()
    if which == "static":
        pairs = {(s, r, o) for s, r, o, _ in world.facts}
        return {n for n, one in enumerate(ids) if put_in(fact, kind, one)[:3] in pairs}
    return {n for n, one in enumerate(ids) if put_in(fact, kind, one) in set(world.facts)}


@checked
@given(worlds(min_facts=1), kinds)
def test_ranks_and_errors_are_those_of_counting(world: World, kind: Kind) -> None:
    report = evaluate(
        fake_run(world.dataset, FakeModel(few_values)), ask=kind, context="train", device="cpu"
    )
    ids = candidate_ids(world, kind)
    filters = ["raw", "time-aware"] if kind == "time" else ["raw", "static", "time-aware"]
    assert list(report.metrics) == filters
    for which in filters:
        ranks, errors = [], []
        for fact in world.test:
            rows = []
            for one in ids:
                s, r, o, t = put_in(fact, kind, one)
                rows.append(few_values(oracle.queries_of([(s, r, t)]), world.num_entities)[0, o])
            row = [float(score) for score in rows]
            target = ids.index(fact[1] if kind == "relation" else fact[3])
            known = known_to(world, fact, kind, which)
            ranks.append(oracle.rank(row, target, known, "mean"))
            left = [n for n in range(len(ids)) if n == target or n not in known]
            best = max(left, key=lambda number: (row[number], -number))
            errors.append(abs(ids[best] - ids[target]))
        figures = report.metrics[which][kind]
        assert figures["mean_rank"] == pytest.approx(sum(ranks) / len(ranks))
        if kind == "time":
            assert figures["mean_absolute_error"] == pytest.approx(sum(errors) / len(errors))


@checked
@given(worlds(min_facts=1), st.booleans())
def test_the_prior_counts_what_may_be_seen(world: World, past_only: bool) -> None:
    graph = TemporalGraph.of_context(world.dataset, "train", past_only)
    asked = FactColumns.of(world.dataset.test)
    found = relation_prior(asked, graph).exp()
    for row, (subject, _, _, time) in zip(found.tolist(), world.test, strict=True):
        seen = [fact for fact in world.train if not past_only or fact[3] < time]
        shares = [1 + sum(fact[1] == r for fact in seen) for r in range(world.num_relations)]
        own = [sum(fact[:2] == (subject, r) for fact in seen) for r in range(world.num_relations)]
        expected = [
            (mine + SMOOTHING * share / sum(shares)) / (sum(own) + SMOOTHING)
            for mine, share in zip(own, shares, strict=True)
        ]
        assert row == pytest.approx(expected)
        assert sum(row) == pytest.approx(1)


def test_some_facts_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(5, 3, [(n % 5, n % 3, n * n % 5, n % 7) for n in range(30)])
    run = fake_run(world.dataset, FakeModel(few_values))
    how: Any = {"ask": "time", "context": "train", "device": "cpu"}
    assert evaluate(run, queries=4, **how).num_queries == 4
    assert evaluate(run, queries=4, **how) == evaluate(run, queries=4, **how)
    assert evaluate(run, queries=99, **how) == evaluate(run, **how)
    with pytest.raises(InputError, match="queries is 0; at least 1 was expected"):
        evaluate(run, queries=0, **how)
    with pytest.raises(InputError, match="queries means nothing where ask is"):
        evaluate(run, queries=4, device="cpu")
    with pytest.raises(InputError, match="ask 'place' is unknown; choose one of entity, relation"):
        evaluate(run, ask="place", device="cpu")  # type: ignore[arg-type]
