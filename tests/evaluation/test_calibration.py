"""Calibration errors, against their definition."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import oracle
from fake_model import FakeModel, fake_run, few_values
from oracle import World
from targcn.evaluation.calibration import Calibration
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.graph.queries import Queries
from targcn.runs.evaluate import evaluate

NUM_ENTITIES = 12
FACTS = [(n % 12, n % 3, n * n * 7 % 12, n % 40) for n in range(600)]
WORLD = World(NUM_ENTITIES, 3, FACTS, cuts=(1, 2))
INTERVALS = World(
    NUM_ENTITIES, 3, [(*fact[:3], n % 40, n % 40 + n % 5) for n, fact in enumerate(FACTS)], (1, 2)
)


class Softmax(FakeModel):
    has_probabilities = True

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        return scores.log_softmax(1)


def calibration(model: Any, world: World) -> Calibration:
    evaluator = Evaluator(world.dataset, Setting("test", "train"), torch.device("cpu"))
    fits = evaluator.evaluate(model, "fake").calibration
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


def test_the_error_is_that_of_its_definition() -> None:
    fits = calibration(Softmax(few_values), WORLD)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for row, answer in rows_of(WORLD):
        powers = [math.exp(score) for score in row]
        probability = max(powers) / sum(powers)
        number = min(int(probability * 10), 9)
        bins.setdefault(number, []).append((probability, row.index(max(row)) == answer))
    total = sum(map(len, bins.values()))
    error = 0.0
    for of_bin in bins.values():
        chances, hits = zip(*of_bin, strict=True)
        error += abs(sum(chances) - sum(hits)) / total
    assert fits.error == pytest.approx(error)
    assert [of_bin.num_queries for of_bin in fits.bins] == [len(bins[n]) for n in sorted(bins)]
    assert fits.num_queries == total == 2 * len(WORLD.test)


def test_a_fact_that_holds_over_an_interval_counts_at_its_own_tick_alone() -> None:
    fits = calibration(Softmax(few_values), INTERVALS)
    assert fits.num_queries == 2 * len(INTERVALS.test)


def test_a_model_without_probabilities_has_no_error() -> None:
    run = fake_run(WORLD.dataset, FakeModel(few_values))
    assert evaluate(run, device="cpu").calibration is None


def test_an_impossible_answer_does_not_decide_alone() -> None:
    def score(queries: Queries, num_entities: int) -> Tensor:
        scores = few_values(queries, num_entities)
        scores[:, 3] = -math.inf
        scores[queries.subjects == 1] = -math.inf
        scores[queries.subjects == 1, 2] = 1.0
        return scores

    assert 0 <= calibration(Softmax(score), WORLD).error <= 1
