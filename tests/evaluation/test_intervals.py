"""Ticks that intervals are asked at, intervals from scores, and how they fit: against loops."""

from dataclasses import replace
from statistics import median_low
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from fake_model import FakeModel, fake_run, few_values, report_of
from oracle import (
    OPEN,
    Fact,
    Query,
    World,
    checked,
    first_tick,
    holds,
    interval_worlds,
    known_at,
    last_tick,
    worlds,
)
from targcn.errors import InputError
from targcn.evaluation import evaluator as evaluator_module
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.intervals import (
    Ticks,
    grow_intervals,
    interval_queries,
    overlaps,
    usual_lengths,
)
from targcn.evaluation.ranking import TIES, Ties
from targcn.evaluation.report import Protocol, Report, Setting, report_table
from targcn.facts.dataset import Facts
from targcn.runs.evaluate import evaluate


def evaluator_of(world: World, **how: Any) -> Evaluator:
    return Evaluator(world.dataset, Setting("test", "train", **how), torch.device("cpu"))


def report(world: World, **options: Any) -> Report:
    model = FakeModel(few_values)
    return evaluate(fake_run(world.dataset, model), context="train", device="cpu", **options)


def ticks_of(world: World, fact: Fact, most: int) -> list[int]:
    """The ticks of the data that a fact holds at; so many of them, evenly spread, if more."""
    of_data = sorted({tick for one in world.facts for tick in one[3:] if tick != OPEN})
    all_of_them = [tick for tick in of_data if holds(fact, tick)]
    if len(all_of_them) <= most:
        return all_of_them
    return [all_of_them[n * (len(all_of_them) - 1) // (most - 1)] for n in range(most)]


def rank_at(world: World, query: Query, target: int, known: set[int], ties: Ties) -> float:
    scores = few_values(oracle.queries_of([query]), world.num_entities)[0].tolist()
    return oracle.rank(scores, target, known, ties)


def scores_of(world: World, queries: list[Query], entity: int) -> list[float]:
    return few_values(oracle.queries_of(queries), world.num_entities)[:, entity].tolist()


def asked_of(world: World) -> list[tuple[Fact, int, int, int]]:
    """Each fact of test with the subject, relation and target of its queries: objects first."""
    there = [(fact, fact[0], fact[1], fact[2]) for fact in world.test]
    return there + [(fact, fact[2], fact[1] + world.num_relations, fact[0]) for fact in world.test]


@pytest.mark.parametrize("ties", TIES)
@checked
@given(interval_worlds(), st.sampled_from([2, 3, 100]))
def test_enumerated_ranks_are_means_over_ticks(ties: Ties, world: World, most: int) -> None:
    evaluator = evaluator_of(world, ties=ties, most_ticks=most)
    model: Any = FakeModel(few_values)
    found = evaluator.ranks(model)
    for number, (fact, s, r, target) in enumerate(asked_of(world)):
        ticks = ticks_of(world, fact, most)
        everything = oracle.with_reciprocals(world.facts, world.num_relations)
        ever = {one[2] for one in everything if one[:2] == (s, r)}
        for which in FILTERS:
            ranks = []
            for tick in ticks:
                true = {"raw": set(), "static": ever, "time-aware": known_at(world, (s, r, tick))}
                ranks.append(rank_at(world, (s, r, tick), target, true[which], ties))
            assert float(found[which][number]) == pytest.approx(sum(ranks) / len(ranks), abs=1e-12)


@checked
@given(interval_worlds())
def test_identical_asks_once_and_knows_the_same_interval(world: World) -> None:
    evaluator = evaluator_of(world, intervals="identical")
    model: Any = FakeModel(few_values)
    found = evaluator.ranks(model)["time-aware"].tolist()
    assert sum(model.batches) == 2 * len(world.test)
    for number, (fact, s, r, target) in enumerate(asked_of(world)):
        known = {
            other[2]
            for other in oracle.with_reciprocals(world.facts, world.num_relations)
            if (*other[:2], first_tick(other), last_tick(other))
            == (s, r, first_tick(fact), last_tick(fact))
        }
        tick = next((tick for tick in fact[3:] if tick != OPEN), 0)
        assert found[number] == rank_at(world, (s, r, tick), target, known, "mean")


@checked
@given(worlds(min_facts=1))
def test_one_tick_gives_exactly_the_figures_of_points(points: World) -> None:
    world = replace(points, facts=[(*fact, fact[3]) for fact in points.facts])
    expected = report_of(points, few_values, context="train")
    protocols: tuple[Protocol, ...] = ("enumerate-time", "identical")
    for protocol in protocols:
        lasting = report(world, intervals=protocol)
        assert lasting.metrics == expected.metrics
        assert lasting.mrr_interval == expected.mrr_interval
        assert lasting.by_relation == expected.by_relation
    for ask in ("relation", "time"):
        how: Any = {"ask": ask, "context": "train"}
        expected = report_of(points, few_values, **how)
        assert report(world, ask=ask).metrics == expected.metrics


WORLD = World(
    4, 1, [(0, 0, 1, 0, 5), (0, 0, 2, 3, OPEN), (1, 0, 3, OPEN, 9), (0, 0, 3, 1, 4)], cuts=(1, 2)
)


def test_ticks_are_evenly_spread_with_the_first_and_the_last() -> None:
    facts = Facts.of([0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 2, OPEN], [9, 2, OPEN])
    queries, _ = interval_queries(facts, 1)
    dataset = World(2, 1, [(0, 0, 1, n, n) for n in range(10)]).dataset
    ticks = Ticks.of(queries, dataset, 4)
    assert ticks.counts.tolist() == 2 * [4, 1, 4]
    rows, numbers = torch.tensor([0, 0, 0, 0, 1, 2, 2]), torch.tensor([0, 1, 2, 3, 0, 0, 3])
    assert ticks.pick(rows, numbers).tolist() == [0, 3, 6, 9, 2, 0, 9]
    assert ticks.num_thinned == 4


def test_every_figure_names_how_intervals_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    enumerated = report(WORLD)
    assert "intervals enumerate-time (at most 100 ticks a fact)" in report_table(enumerated).title
    assert enumerated.to_json()["intervals"] == "enumerate-time"
    assert enumerated.to_json()["most_ticks"] == 100
    assert enumerated.notes == ()
    identical = report(WORLD, intervals="identical")
    assert report_table(identical).title.endswith("mean rank on ties, intervals identical")
    assert "most_ticks" not in identical.to_json()
    assert report(WORLD, ask="time").to_json()["intervals"] == "first-tick"
    monkeypatch.setattr(evaluator_module, "MOST_TICKS", 3)
    assert report(WORLD).notes == (
        "1 of 2 facts hold at more than 3 ticks of the data, and were asked at 3 of them, evenly "
        "spread",
    )


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (True, {"intervals": "identical"}, "no facts with a beginning and an end; leave out int"),
        (False, {"intervals": "both"}, "intervals 'both' is unknown; choose one of enumerate-time"),
        (
            False,
            {"intervals": "identical", "ask": "time"},
            "intervals means nothing",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    points: bool, options: dict[str, str], message: str
) -> None:
    facts = [fact[:4] for fact in WORLD.facts] if points else WORLD.facts
    dataset = replace(WORLD, facts=facts).dataset
    run = fake_run(dataset, FakeModel(few_values))
    with pytest.raises(InputError, match=message):
        evaluate(run, context="train", device="cpu", **options)  # type: ignore[arg-type]


# --- when did it hold ---------------------------------------------------------------

spans = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


def grown(scores: list[float], ticks: list[int], length: int) -> tuple[int, int]:
    """One step after another, to times as good as the best or within the length."""
    best = max(scores)
    left = right = scores.index(max(scores))
    while True:
        steps = []
        if right + 1 < len(ticks) and (
            scores[right + 1] == best or ticks[right + 1] - ticks[left] + 1 <= length
        ):
            steps.append((scores[right + 1], left, right + 1))
        if left > 0 and (scores[left - 1] == best or ticks[right] - ticks[left - 1] + 1 <= length):
            steps.append((scores[left - 1], left - 1, right))
        if not steps:
            return ticks[left], ticks[right]
        # The first of the best: to the right, if both are as good.
        _, left, right = max(steps, key=lambda step: step[0])


def fit(found: tuple[int, int], true: tuple[int, int]) -> list[float]:
    """The definitions, over sets of ticks."""
    mine, its = (set(range(first, last + 1)) for first, last in (found, true))
    hull = set(range(min(mine | its), max(mine | its) + 1))
    both, empty = mine & its, hull - mine - its
    gap = max(min(mine), min(its)) - min(max(mine), max(its))
    return [
        max(1, len(both)) / len(hull),
        len(both) / len(hull) if both else 1 / ((1 + gap) * len(hull)),
        (1 + len(both) / len(mine | its) - len(empty) / len(hull)) / 2,
        (1 / (1 + abs(found[0] - true[0])) + 1 / (1 + abs(found[1] - true[1]))) / 2,
    ]


def usual(facts: list[oracle.Fact], relation: int) -> int:
    bounded = [fact for fact in facts if OPEN not in fact[3:]]
    own = [last - first + 1 for _, r, _, first, last in bounded if r == relation]
    return median_low(own or [last - first + 1 for *_, first, last in bounded] or [1])


@checked
@given(spans, spans)
def test_overlaps_are_those_of_sets(found: list[int], true: list[int]) -> None:
    values = overlaps(*(torch.tensor([tick]) for tick in (*found, *true)))
    assert values[:, 0].tolist() == pytest.approx(fit((found[0], found[1]), (true[0], true[1])))


@checked
@given(st.data())
def test_intervals_grow_step_by_step(data: st.DataObject) -> None:
    ticks = sorted(data.draw(st.sets(st.integers(0, 30), min_size=1, max_size=12)))
    values = st.lists(st.integers(0, 4), min_size=len(ticks), max_size=len(ticks))
    rows = data.draw(st.lists(st.tuples(values, st.integers(1, 25)), min_size=1, max_size=5))
    scores = torch.tensor([row for row, _ in rows], dtype=torch.float64)
    lengths = torch.tensor([length for _, length in rows])
    firsts, lasts = grow_intervals(scores, torch.tensor(ticks), lengths)
    for row, (own, length) in enumerate(rows):
        expected = grown([float(value) for value in own], ticks, length)
        assert (int(firsts[row]), int(lasts[row])) == expected


@checked
@given(interval_worlds())
def test_usual_lengths_are_medians_of_facts_with_both_ends(world: World) -> None:
    found = usual_lengths(world.dataset.facts, world.num_relations).tolist()
    assert found == [usual(world.facts, relation) for relation in range(world.num_relations)]


@checked
@given(interval_worlds())
def test_a_report_has_the_mean_over_facts_with_both_ends(world: World) -> None:
    times, ticks = report(world, ask="time"), world.dataset.timeline.ticks.tolist()
    values = []
    for s, r, o, first, last in world.test:
        scores = scores_of(world, [(s, r, tick) for tick in ticks], o)
        if OPEN not in (first, last):
            values.append(fit(grown(scores, ticks, usual(world.train, r)), (first, last)))
    overlap = times.overlap
    if not values:
        assert overlap is None
        return
    means = [sum(column) / len(values) for column in zip(*values, strict=True)]
    assert overlap is not None
    assert overlap.num_facts == len(values)
    assert [overlap.aeiou, overlap.gaeiou, overlap.giou, overlap.tac] == pytest.approx(means)
    assert f"aeIOU {overlap.aeiou:.3f}" in report_table(times).notes[-1]
    assert times.to_json()["overlap"]["aeiou"] == overlap.aeiou


@checked
@given(interval_worlds())
def test_ranks_and_errors_of_times_are_those_of_counting(world: World) -> None:
    """The first known tick is ranked; the error is the distance to the interval."""
    figures = report(world, ask="time").metrics["time-aware"]["time"]
    ticks = world.dataset.timeline.ticks.tolist()
    ranks, errors = [], []
    for fact in world.test:
        s, r, o, *ends = fact
        scores = scores_of(world, [(s, r, tick) for tick in ticks], o)
        target = ticks.index(next((tick for tick in ends if tick != OPEN), ticks[0]))
        same = [other for other in world.facts if other[:3] == fact[:3]]
        known = {n for n, tick in enumerate(ticks) if any(holds(other, tick) for other in same)}
        ranks.append(oracle.rank(scores, target, known, "mean"))
        left = [n for n in range(len(ticks)) if n == target or n not in known]
        best = ticks[max(left, key=lambda number: (scores[number], -number))]
        errors.append(abs(best - oracle.moment(fact, best)))
    assert figures["mean_rank"] == pytest.approx(sum(ranks) / len(ranks))
    assert figures["mean_absolute_error"] == pytest.approx(sum(errors) / len(errors))


@checked
@given(interval_worlds())
def test_ranks_of_relations_are_those_at_the_first_known_tick(world: World) -> None:
    figures = report(world, ask="relation").metrics["time-aware"]["relation"]
    ranks = []
    for s, r, o, *ends in world.test:
        tick = next((tick for tick in ends if tick != OPEN), 0)
        scores = scores_of(world, [(s, p, tick) for p in range(world.num_relations)], o)
        then = [fact for fact in world.facts if holds(fact, tick)]
        known = {q for p, q, x, *_ in then if (p, x) == (s, o)}
        ranks.append(oracle.rank(scores, r, known, "mean"))
    assert figures["mean_rank"] == pytest.approx(sum(ranks) / len(ranks))
