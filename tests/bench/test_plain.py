"""The plain versions compute what the fast ones do."""

from typing import Any

import numpy as np
import pytest
import torch

from bench_results import FACTS, TINY
from oracle import World
from targcn.bench.generated_data import generate
from targcn.bench.plain import (
    PLAIN_MODELS,
    PlainTARGCN,
    PlainTNTComplEx,
    plain_known_answers,
    plain_ranks,
    sample_near,
)
from targcn.bench.untrained import make_untrained
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.graph.columns import Columns
from targcn.graph.neighbors import Sampling
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.runs.run import Run


def test_plain_ranks_are_the_evaluators_ranks() -> None:
    dataset = generate(TINY)
    made = make_untrained(dataset, "decayed-copy", None, {"scale": 2})
    evaluator = Evaluator(dataset, Setting("test", "train+valid"), torch.device("cpu"))
    fast = evaluator.ranks(made.model)
    scores = made.model(evaluator.queries, evaluator.graph).numpy()
    known = plain_known_answers(dataset.facts.columns, len(dataset.relations))
    queries = evaluator.queries
    columns = (queries.subjects, queries.relations, queries.times, evaluator.targets)
    rows = zip(scores, *(column.tolist() for column in columns), strict=True)
    slow = [plain_ranks(row, query, known) for row, *query in rows]
    assert len({tuple(ranks.values()) for ranks in slow}) > 20
    for which, ranks in fast.items():
        assert ranks.tolist() == [row[which] for row in slow]


# The weights of the plain TARGCN, and what TARGCN calls them.
NAMES = {name: name for name in ("entities", "relations")}
NAMES |= {name: f"time_encoding.{name}" for name in ("frequencies", "phases")}
NAMES |= {name: f"first.{name}" for name in ("f.weight", "f.bias", "W.weight", "W.bias")}


def test_the_plain_loop_has_the_same_loss() -> None:
    """Where all facts are sampled, both see the same."""
    dataset = World(12, 3, FACTS, cuts=(72, 72)).dataset
    made = make_untrained(dataset, "targcn", None, {"dim": 8})
    ours, facts = made.model, dataset.train
    loop = PlainTARGCN(dataset, made.recipe.settings)
    weights = ours.state_dict()
    loop.load_state_dict({name: weights[theirs] for name, theirs in NAMES.items()})
    queries, answers = queries_of(facts, 3)
    context = TemporalGraph.of_context(dataset, "train")
    sample = ours.sample(queries, answers, context, torch.zeros(len(queries), dtype=torch.int64))
    with torch.no_grad():
        mine = float(ours.loss(queries, answers, sample))
        theirs = float(loop.loss(queries.subjects, queries.relations, queries.times, answers))
    assert theirs == pytest.approx(mine, rel=1e-4)


@pytest.fixture
def tntcomplex() -> tuple[Run, Any]:
    """A run over times that leave gaps, and the plain version with its weights."""
    mixed = [FACTS[number * 7 % 72] for number in range(72)]
    facts = [(subject, relation, object_, time**2) for subject, relation, object_, time in mixed]
    dataset = World(12, 3, facts, cuts=(40, 50)).dataset
    settings = {"dim": 3, "factor_weight": 0.1, "time_weight": 0.2, "init_scale": 1.0}
    made = make_untrained(dataset, "tntcomplex", None, settings)
    simple = PlainTNTComplEx(dataset, made.recipe.settings)
    weights = made.model.state_dict()
    simple.load_state_dict(
        {name.replace(".rows", "") + ".weight": value.clone() for name, value in weights.items()}
    )
    return made, simple


def test_the_plain_tntcomplex_has_the_same_loss_and_gradient(tntcomplex: tuple[Run, Any]) -> None:
    ours, simple = tntcomplex[0].model, tntcomplex[1]
    queries, answers = queries_of(tntcomplex[0].dataset.train, 3)
    mine = ours.loss(queries, answers, Columns())
    theirs = simple.loss(queries.subjects, queries.relations, queries.times, answers)
    assert float(theirs.detach()) == pytest.approx(float(mine.detach()), rel=1e-5)
    mine.backward()
    theirs.backward()
    for weight, other in zip(ours.parameters(), simple.parameters(), strict=True):
        assert torch.allclose(weight.grad, other.grad.to_dense(), rtol=1e-4, atol=1e-6)


def test_the_plain_tntcomplex_has_the_same_scores_and_mrr(tntcomplex: tuple[Run, Any]) -> None:
    made, simple = tntcomplex
    evaluator = Evaluator(made.dataset, Setting("test", "train+valid"), torch.device("cpu"))
    queries, known = evaluator.queries, plain_known_answers(made.dataset.facts.columns, 3)
    columns = (queries.subjects, queries.relations, queries.times, evaluator.targets)
    with torch.no_grad():
        scores = simple.scores(*simple.factors(*columns[:3]))
        assert torch.allclose(scores, made.model(queries, evaluator.graph), rtol=1e-4, atol=1e-5)
    rows = zip(scores.numpy(), *(column.tolist() for column in columns), strict=True)
    ranks = [plain_ranks(row, query, known) for row, *query in rows]
    for which, sides in evaluator.evaluate(made.model, "tntcomplex").metrics.items():
        mrr = np.mean([1 / row[which] for row in ranks])
        assert sides["both"]["mrr"] == pytest.approx(mrr)


def test_what_the_plain_versions_cover() -> None:
    dataset = generate(TINY)
    for model, settings, covered in (
        ("targcn", {"dim": 4}, True),
        ("targcn", {"decoder": "complex", "dim": 4}, False),
        ("tntcomplex", {"dim": 4}, True),
        ("tntcomplex", {"dim": 4, "power": 4}, False),
    ):
        made = make_untrained(dataset, model, None, settings)
        assert PLAIN_MODELS[model].covers(made.recipe.settings) is covered


def test_the_plain_sample_is_of_the_near() -> None:
    random = np.random.default_rng(0)
    times = np.array([0] * 10 + [1000] * 10)
    for floor in (0.0, 1e-9):
        how = Sampling(5, decay=1.0, weight_floor=floor)
        assert set(sample_near(times, 1, how, random)) <= set(range(10))
    assert sorted(sample_near(times, 1, Sampling(50, decay=1.0), random)) == list(range(20))
