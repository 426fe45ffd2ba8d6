"""Intervals from scores, and how they fit, against sets of ticks."""

from statistics import median_low
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from fake_model import FakeModel, fake_run, few_values
from oracle import OPEN, World, checked, interval_worlds
from targcn.evaluation.report import report_table
from targcn.evaluation.when import grow_intervals, overlaps, usual_lengths
from targcn.runs.evaluate import evaluate

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
    run = fake_run(world.dataset, FakeModel(few_values))
    how: Any = {"ask": "time", "context": "train", "device": "cpu"}
    report = evaluate(run, **how)
    ticks = world.dataset.timeline.ticks.tolist()
    values = []
    for s, r, o, first, last in world.test:
        asked = oracle.queries_of([(s, r, tick) for tick in ticks])
        scores = few_values(asked, world.num_entities)[:, o].tolist()
        if OPEN not in (first, last):
            values.append(fit(grown(scores, ticks, usual(world.train, r)), (first, last)))
    if not values:
        assert report.overlap is None
        return
    assert report.overlap is not None
    assert report.overlap.num_facts == len(values)
    found = [report.overlap.aeiou, report.overlap.gaeiou, report.overlap.giou, report.overlap.tac]
    assert found == pytest.approx(
        [sum(column) / len(values) for column in zip(*values, strict=True)]
    )
    assert f"aeIOU {report.overlap.aeiou:.3f}" in report_table(report).notes[-1]
    assert report.to_json()["overlap"]["aeiou"] == report.overlap.aeiou


@checked
@given(interval_worlds())
def test_ranks_and_errors_of_times_are_those_of_counting(world: World) -> None:
    """The first known tick is ranked; the error is the distance to the interval."""
    run = fake_run(world.dataset, FakeModel(few_values))
    how: Any = {"ask": "time", "context": "train", "device": "cpu"}
    figures = evaluate(run, **how).metrics["time-aware"]["time"]
    ticks = world.dataset.timeline.ticks.tolist()
    ranks, errors = [], []
    for fact in world.test:
        s, r, o, *ends = fact
        asked = oracle.queries_of([(s, r, tick) for tick in ticks])
        scores = few_values(asked, world.num_entities)[:, o].tolist()
        target = ticks.index(next((tick for tick in ends if tick != OPEN), ticks[0]))
        same = [one for one in world.facts if one[:3] == fact[:3]]
        known = {n for n, tick in enumerate(ticks) if any(oracle.holds(one, tick) for one in same)}
        ranks.append(oracle.rank(scores, target, known, "mean"))
        left = [n for n in range(len(ticks)) if n == target or n not in known]
        best = ticks[max(left, key=lambda number: (scores[number], -number))]
        errors.append(abs(best - oracle.moment(fact, best)))
    assert figures["mean_rank"] == pytest.approx(sum(ranks) / len(ranks))
    assert figures["mean_absolute_error"] == pytest.approx(sum(errors) / len(errors))


@checked
@given(interval_worlds())
def test_ranks_of_relations_are_those_at_the_first_known_tick(world: World) -> None:
    run = fake_run(world.dataset, FakeModel(few_values))
    how: Any = {"ask": "relation", "context": "train", "device": "cpu"}
    found = evaluate(run, **how).metrics["time-aware"]["relation"]["mean_rank"]
    ranks = []
    for s, r, o, *ends in world.test:
        tick = next((tick for tick in ends if tick != OPEN), 0)
        asked = oracle.queries_of([(s, one, tick) for one in range(world.num_relations)])
        scores = few_values(asked, world.num_entities)[:, o].tolist()
        then = [one for one in world.facts if oracle.holds(one, tick)]
        known = {q for p, q, x, *_ in then if (p, x) == (s, o)}
        ranks.append(oracle.rank(scores, r, known, "mean"))
    assert found == pytest.approx(sum(ranks) / len(ranks))
