"""The reasons and rules of the evidence model against evidence that is looked for fact by fact."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from oracle import Fact, Query, queries_of, with_reciprocals
from small_training import BUSY_WORLD, create
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models import evidence as evidence_module
from targcn.models import evidence_reasons
from targcn.models.evidence import Evidence
from targcn.models.reasons import NO_FACT, Reasons, Rules

WORLD = BUSY_WORLD
FACTS = WORLD.facts
Piece = tuple[tuple[Fact, ...], float]


def build(**settings: object) -> Evidence:
    """A model that looks at everything; no two classes of evidence have the same weight."""
    sizes = {"facts": 99, "first_facts": 99, "second_facts": 99}
    model = create("evidence", WORLD.dataset, {**sizes, "dim": 4, "prior_dim": 3, **settings})
    assert isinstance(model, Evidence)
    torch.manual_seed(1)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    return model.double().eval().requires_grad_(False)


def graph_of(facts: list[Fact], past_only: bool = False) -> TemporalGraph:
    return replace(replace(WORLD, facts=facts).graph, past_only=past_only)


def pieces(
    model: Evidence, facts: list[Fact], query: Query, answer: int, past_only: bool = False
) -> Iterator[Piece]:
    """Every piece of evidence for an answer: its facts and exp c."""
    s, r, t = query
    both = [fact for fact in with_reciprocals(facts, 2) if not past_only or fact[3] < t]

    def bucket(time: int) -> int:
        return int(model.time_buckets(torch.tensor(time - t)))

    own = [fact for fact in both if fact[0] == s]
    for fact in own:
        if fact[2] == answer:
            found = [torch.tensor([[side]]) for side in (fact[1], bucket(fact[3]))]
            yield (fact,), math.exp(model.fact_weights(torch.tensor([r]), *found))
    for one in own:
        for two in both:
            if two[0] == one[2] and two[2] == answer != s:
                sides = [torch.tensor([[side]]) for side in (one[1], bucket(one[3]))]
                ends = [torch.tensor([[[side]]]) for side in (two[1], bucket(two[3]))]
                weight = model.path_weights(torch.tensor([r]), *sides, *ends)
                yield (one, two), math.exp(float(weight))


def as_told(fact: Fact) -> Fact:
    s, r, o, t = fact
    return fact if r < 2 else (o, r - 2, s, t)


def pieces_in(reasons: Reasons) -> list[Piece]:
    assert reasons.weights is not None
    columns = (reasons.subjects, reasons.relations, reasons.objects, reasons.times)
    told = []
    for row, weight in enumerate(reasons.weights.tolist()):
        facts = zip(*(column[row].tolist() for column in columns), strict=True)
        told.append((tuple(fact for fact in facts if fact[1] != NO_FACT), weight))
    return sorted(told)


QUERIES = [((0, 0, 3), 4), ((2, 3, 11), 1), ((1, 1, -4), 1), ((3, 3, 30), 2), ((1, 0, 6), 3)]


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize(("query", "answer"), QUERIES)
def test_reasons_are_all_evidence_that_ends_in_the_answer(
    query: Query, answer: int, past_only: bool
) -> None:
    model, graph = build(), graph_of(FACTS, past_only)
    reasons = model.reasons(queries_of([query]), answer, graph)
    assert (*query[:2], answer, query[2]) not in with_reciprocals(FACTS, 2)
    expected = list(pieces(model, FACTS, query, answer, past_only))
    told = sorted((tuple(map(as_told, facts)), weight) for facts, weight in expected)
    found = pieces_in(reasons)
    assert [facts for facts, _ in found] == [facts for facts, _ in told]
    assert [weight for _, weight in found] == pytest.approx([weight for _, weight in told])
    if not past_only and query[2] > 0:
        assert {len(facts) for facts, _ in found} == {1, 2}


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize(("query", "answer"), [*QUERIES, ((0, 0, 3), 5), ((5, 0, 3), 5)])
@pytest.mark.parametrize("against", [False, True])
def test_the_parts_add_up_to_the_score(
    query: Query, answer: int, past_only: bool, against: bool
) -> None:
    model, graph = build(against=against), graph_of(FACTS, past_only)
    reasons = model.reasons(queries_of([query]), answer, graph)
    with torch.no_grad():
        scores = model(queries_of([query]), graph)[0]
    torch.testing.assert_close(reasons.scores, scores)
    total = float(reasons.effects.sum()) + sum(effect for _, effect in reasons.others)
    assert total == pytest.approx(float(scores[answer]), abs=1e-9)
    # Each piece has the share of the evidence that its weight is of all weights.
    assert reasons.weights is not None
    shares = reasons.effects / reasons.effects.sum()
    torch.testing.assert_close(shares, reasons.weights / reasons.weights.sum())


@pytest.mark.parametrize("own", [(1, 1, 3, 5), *FACTS[:12]])
@pytest.mark.parametrize("asks_subject", [False, True])
def test_the_queried_fact_is_no_reason(own: Fact, asks_subject: bool) -> None:
    model, (s, r, o, t) = build(), own
    query, answer = ((o, r + 2, t), s) if asks_subject else ((s, r, t), o)
    rest = [fact for fact in FACTS if fact != own]
    hidden = model.reasons(queries_of([query]), answer, graph_of(FACTS))
    removed = model.reasons(queries_of([query]), answer, graph_of(rest))
    assert [facts for facts, _ in pieces_in(hidden)] == [facts for facts, _ in pieces_in(removed)]
    torch.testing.assert_close(hidden.scores, removed.scores)


@pytest.mark.parametrize(("query", "answer"), QUERIES)
def test_leaving_out_a_piece_is_leaving_out_its_weight(query: Query, answer: int) -> None:
    model, graph = build(), graph_of(FACTS)
    reasons = model.reasons(queries_of([query]), answer, graph)
    assert reasons.weights is not None
    changes = reasons.as_changes(answer)
    assert (changes.weights, changes.others) == (None, ())
    prior = sum(effect for _, effect in reasons.others)
    for row, effect in enumerate(changes.effects.tolist()):
        rest = math.fsum([*reasons.weights[:row].tolist(), *reasons.weights[row + 1 :].tolist()])
        scores = reasons.scores.clone()
        scores[answer] = math.log1p(rest) + prior
        with_all, without = (float(one.softmax(0)[answer]) for one in (reasons.scores, scores))
        assert effect == pytest.approx(with_all - without, abs=1e-9)


def rules_of(model: Evidence, past_only: bool, top: int = 99999) -> Rules:
    """The rules in all queries of the world."""
    asked = with_reciprocals(list(dict.fromkeys(FACTS)), 2)
    queries, answers = queries_of([(s, r, t) for s, r, _, t in asked]), [fact[2] for fact in asked]
    done: list[tuple[int, int]] = []
    rules = model.rules(
        queries,
        torch.tensor(answers),
        graph_of(FACTS, past_only),
        top,
        lambda *progress: done.append(progress),
    )
    assert done[-1] == (len(asked), len(asked))
    return rules


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("at_once", [1, 1 << 18])
def test_rules_count_what_ended_in_true_answers(
    past_only: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(evidence_module.MOST_PIECES_AT_ONCE, "cpu", at_once)
    monkeypatch.setattr(evidence_reasons, "MOST_CODES_KEPT", at_once)
    model = build(time_unit=2.0)
    rules = rules_of(model, past_only)
    expected: Counter[tuple[int, tuple[tuple[int, int], ...], float]] = Counter()
    for s, r, o, t in with_reciprocals(list(dict.fromkeys(FACTS)), 2):
        rest = [fact for fact in FACTS if fact not in ((s, r, o, t), (o, r - 2, s, t))]
        for facts, weight in pieces(model, rest, (s, r, t), o, past_only):
            deltas = tuple((fact[1], fact[3] - t) for fact in facts)
            expected[r, deltas, round(weight, 9)] += 1
    # A rule is about ranges: what was counted one by one falls into one of them each.
    for row in zip(*(column.tolist() for column in rules.tensors()), strict=True):
        relation, found, first, last, weight, support = row
        steps = [step for step in zip(found, first, last, strict=True) if step[0] != NO_FACT]
        inside = [
            key
            for key in expected
            if key[0] == relation
            and [one for one, _ in key[1]] == [one for one, _, _ in steps]
            and all(
                low <= delta <= high
                for (_, delta), (_, low, high) in zip(key[1], steps, strict=True)
            )
        ]
        assert {key[2] for key in inside} == {round(weight, 9)}
        assert sum(expected.pop(key) for key in inside) == support
    assert not expected


def test_rules_that_gave_most_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    rules = rules_of(model, past_only=False)
    benefit = rules.support * rules.weights.log1p()
    assert len(benefit) > 100
    assert bool((benefit[:-1] >= benefit[1:]).all())
    monkeypatch.setattr(evidence_reasons, "MOST_RULES", 7)
    some = rules_of(model, past_only=False, top=20)
    torch.testing.assert_close(some.support * some.weights.log1p(), benefit[:20])
