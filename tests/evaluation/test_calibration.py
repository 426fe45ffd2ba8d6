"""Temperatures and calibration errors, against their definitions."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import oracle
from fake_model import FakeModel, fake_run, few_values
from oracle import World
from targcn.evaluation.calibration import (
    Calibration,
    calibrate,
    fit_temperature,
    rank_and_calibrate,
)
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.graph.queries import Queries
from targcn.runs.evaluate import evaluate

NUM_ENTITIES = 12
FACTS = [(n % 12, n % 3, n * n * 7 % 12, n % 40) for n in range(600)]
WORLD = World(NUM_ENTITIES, 3, FACTS, cuts=(1, 2))


class Softmax(FakeModel):
    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        return scores.log_softmax(1)


def evaluator_of(world: World) -> Evaluator:
    return Evaluator(world.dataset, Setting("test", "train"), torch.device("cpu"))


def calibration(model: Any, temperature: float, evaluator: Evaluator) -> Calibration:
    fits = calibrate(model, temperature, evaluator)
    assert fits is not None
    return fits


def rows_of(world: World) -> list[tuple[list[float], int]]:
    """The scores of each query, without the other true answers, and its answer."""
    known = oracle.known_answers(world.facts, world.num_relations, "time-aware")
    asked = [((s, r, t), o) for s, r, o, t in world.test]
    asked += [((o, r + world.num_relations, t), s) for s, r, o, t in world.test]
    rows = []
    for query, answer in asked:
        row = few_values(oracle.queries_of([query]), NUM_ENTITIES)[0].tolist()
        others = known[query] - {answer}
        rows.append(([-math.inf if n in others else x for n, x in enumerate(row)], answer))
    return rows


def softmax(row: list[float], temperature: float) -> list[float]:
    powers = [math.exp(score / temperature) for score in row]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_the_error_is_that_of_its_definition(temperature: float) -> None:
    model: Any = Softmax(few_values)
    fits = calibration(model, temperature, evaluator_of(WORLD))
    bins: dict[int, list[tuple[float, bool]]] = {}
    for row, answer in rows_of(WORLD):
        probabilities = softmax(row, temperature)
        best = probabilities.index(max(probabilities))
        number = min(int(probabilities[best] * 10), 9)
        bins.setdefault(number, []).append((probabilities[best], best == answer))
    total = sum(map(len, bins.values()))
    error = 0.0
    for of_bin in bins.values():
        chances, hits = zip(*of_bin, strict=True)
        error += abs(sum(chances) - sum(hits)) / total
    assert fits.error_after == pytest.approx(error)
    assert [of_bin.num_queries for of_bin in fits.bins_after] == [
        len(bins[n]) for n in sorted(bins)
    ]
    assert fits.num_queries == total == 2 * len(WORLD.test)
    if temperature == 1:
        assert (fits.bins_before, fits.error_before) == (fits.bins_after, fits.error_after)


def test_the_temperature_is_the_likeliest() -> None:
    model: Any = Softmax(few_values)
    found = fit_temperature(model, evaluator_of(WORLD))

    def loss(temperature: float) -> float:
        return -sum(math.log(softmax(row, temperature)[o]) for row, o in rows_of(WORLD))

    tried = [2 ** (step / 20) for step in range(-80, 81)]
    # Between the quarters of a doubling that are tried, a parabola is close enough.
    assert loss(found) <= min(map(loss, tried)) * (1 + 1e-4)


@pytest.mark.parametrize("num_unreached", [0, 2])
@pytest.mark.parametrize("factor", [0.3, 1.0, 3.7])
def test_scores_that_are_too_large_or_small_are_put_right(
    factor: float, num_unreached: int
) -> None:
    """Answers are drawn with the probabilities of scores, which are then multiplied.

    A model may be unable to reach the answers to some queries; that is no matter of temperature.
    """
    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(40, 40, generator=generator)
    drawn = torch.multinomial(scores.softmax(1), 100, replacement=True, generator=generator)
    facts = [(s, 0, int(o), 100 * s + n) for s, row in enumerate(drawn) for n, o in enumerate(row)]
    world = World(40, 1, facts, cuts=(0, 0))
    evaluator = evaluator_of(world)
    half = len(world.test)
    evaluator.queries = evaluator.queries[slice(0, half)]
    evaluator.targets, evaluator.num_queries = evaluator.targets[:half], half
    given = factor * scores
    given[:num_unreached, :39] = given[:, 39:].mean() - 60
    model: Any = Softmax(lambda queries, _: given[queries.subjects])
    temperature = fit_temperature(model, evaluator)
    assert temperature == pytest.approx(factor, rel=0.05)
    fits = calibration(model, temperature, evaluator)
    assert fits.error_after < 0.03 + num_unreached / 40
    assert num_unreached or factor == 1 or fits.error_before > 3 * fits.error_after


INTERVALS = World(
    NUM_ENTITIES, 3, [(*fact[:3], n % 40, n % 40 + n % 5) for n, fact in enumerate(FACTS)], (1, 2)
)


@pytest.mark.parametrize("world", [WORLD, INTERVALS], ids=["points", "intervals"])
def test_ranks_and_calibration_are_of_the_same_scores(world: World) -> None:
    model: Any = Softmax(few_values)
    evaluator = evaluator_of(world)
    ranks, fits = rank_and_calibrate(model, 0.4, evaluator)
    num_asked = len(model.times)
    alone = evaluator.ranks(model)
    assert len(model.times) == 2 * num_asked
    assert all(ranks[which].equal(alone[which]) for which in alone)
    expected = calibration(model, 0.4, evaluator)
    assert fits is not None
    assert fits.num_queries == expected.num_queries == 2 * len(world.test)
    assert fits.error_before == pytest.approx(expected.error_before)
    assert fits.error_after == pytest.approx(expected.error_after)


def test_a_model_without_probabilities_has_no_temperature() -> None:
    model: Any = FakeModel(few_values)
    assert fit_temperature(model, evaluator_of(WORLD)) == 1
    assert calibrate(model, 1.0, evaluator_of(WORLD)) is None
    assert evaluate(fake_run(WORLD.dataset, model), device="cpu").calibration is None


def test_an_impossible_answer_does_not_decide_alone() -> None:
    def score(queries: Queries, num_entities: int) -> Tensor:
        scores = few_values(queries, num_entities)
        scores[:, 3] = -math.inf
        scores[queries.subjects == 1] = -math.inf
        scores[queries.subjects == 1, 2] = 1.0
        return scores

    model: Any = Softmax(score)
    assert 0 < fit_temperature(model, evaluator_of(WORLD)) < math.inf
    fits = calibration(model, 1.0, evaluator_of(WORLD))
    assert 0 <= fits.error_after <= 1
