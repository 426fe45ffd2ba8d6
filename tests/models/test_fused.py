"""The fused model against the sum of its members' log-probabilities, written out."""

import math
from copy import deepcopy
from typing import Any

import pytest
import torch

from oracle import World, queries_of
from small_training import create
from targcn.errors import InputError
from targcn.models.fused import Fused, FusedSettings
from targcn.models.reasons import Reasons

WORLD = World(5, 2, [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)], cuts=(20, 25))
QUERIES = queries_of([(0, 0, 3), (1, 1, 3), (4, 3, 9)])


def members() -> dict[str, Any]:
    torch.manual_seed(1)
    built: dict[str, dict[str, Any]] = {"distmult": {"init_scale": 1}, "targcn": {"neighbors": 3}}
    return {name: create(name, WORLD.dataset, {"dim": 4, **built[name]}) for name in built}


def fused(weights: dict[str, float]) -> tuple[Fused, dict[str, Any]]:
    models = members()
    return Fused(FusedSettings(weights), WORLD.dataset, models).eval(), models


def test_the_score_is_the_weighted_sum_of_log_probabilities() -> None:
    model, models = fused({"targcn": 0.3, "distmult": 0.7})
    found = model(QUERIES, WORLD.graph).detach()
    rows = {name: one(QUERIES, WORLD.graph).tolist() for name, one in models.items()}
    for row in range(len(QUERIES)):
        for entity in range(5):
            expected = 0.0
            for name, weight in (("distmult", 0.7), ("targcn", 0.3)):
                total = sum(math.exp(score) for score in rows[name][row])
                expected += weight * math.log(math.exp(rows[name][row][entity]) / total)
            assert float(found[row, entity]) == pytest.approx(expected, abs=1e-5)
    logs = model.log_probabilities(found)
    assert logs is not None
    assert logs.exp().sum(1).tolist() == pytest.approx([1, 1, 1])


def test_it_reads_the_context_if_a_member_does() -> None:
    models = members()
    static = {"distmult": models["distmult"], "other": deepcopy(models["distmult"])}
    settings = FusedSettings({"distmult": 1.0, "other": 1.0})
    assert not Fused(settings, WORLD.dataset, static).reads_context
    assert fused({"distmult": 1.0, "targcn": 1.0})[0].reads_context


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": -1.0, "b": 2.0}, "the weight of a is -1.0; 0 or more was expected"),
        ({"a": "much", "b": 2.0}, "the weight of a is 'much'; 0 or more"),
        ({"a": math.nan}, "the weight of a is nan"),
        ({"a": 0.0, "b": 0.0}, "all weights are 0"),
    ],
)
def test_weights_that_mean_nothing(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FusedSettings(weights)


# --- reasons -------------------------------------------------------------------------------


def test_reasons_are_those_of_the_members_weighted() -> None:
    model, models = fused({"distmult": 0.25, "targcn": 0.75})
    query = QUERIES[slice(0, 1)]
    own = models["targcn"].reasons(query, 1, WORLD.graph)
    found = model.reasons(query, 1, WORLD.graph)

    def rows(reasons: Reasons, weight: float) -> dict[tuple[int, ...], float]:
        facts = zip(*(column[:, 0].tolist() for column in reasons.tensors()[:4]), strict=True)
        effects = [weight * effect for effect in reasons.effects.tolist()]
        return dict(zip(facts, effects, strict=True))

    assert len(own.effects) == 3
    assert rows(found, 1) == pytest.approx(rows(own, 0.75))
    # The query's own fact is hidden from the member that could see it.
    expected = 0.25 * models["distmult"](query, WORLD.graph).log_softmax(1)[0]
    expected += 0.75 * own.scores.log_softmax(0)
    assert found.scores.tolist() == pytest.approx(expected.tolist())
    shares = sum(part.weight * math.log(part.probability) for part in found.parts)
    assert [part.name for part in found.parts] == ["distmult", "targcn"]
    assert shares == pytest.approx(float(found.scores[1]), abs=1e-5)


def test_a_fact_that_two_members_use_counts_once_with_both_effects() -> None:
    model, models = fused({"distmult": 0.25, "targcn": 0.75})
    models["distmult"].reasons = models["targcn"].reasons
    found = model.reasons(QUERIES[slice(0, 1)], 1, WORLD.graph)
    own = models["targcn"].reasons(QUERIES[slice(0, 1)], 1, WORLD.graph)
    assert sorted(found.effects.tolist()) == pytest.approx(sorted(own.effects.tolist()))


def test_the_evidence_of_a_member_is_left_out_piece_by_piece() -> None:
    # Paths start with every fact, whatever its weight.
    sizes = {"dim": 4, "first_facts": 60}
    models = {name: create("evidence", WORLD.dataset, sizes) for name in ("one", "two")}
    model = Fused(FusedSettings({"one": 0.25, "two": 0.75}), WORLD.dataset, models)
    found = model.reasons(QUERIES[slice(2, 3)], 2, WORLD.graph)
    own = {name: one.reasons(QUERIES[slice(2, 3)], 2, WORLD.graph) for name, one in models.items()}
    assert found.weights is None
    # Both members use the same pieces, of which each is there once.
    assert len(found.effects) == len(own["one"].effects) == len(own["two"].effects) > 3
    expected = 0.25 * own["one"].as_changes(2).effects.sum()
    expected += 0.75 * own["two"].as_changes(2).effects.sum()
    torch.testing.assert_close(found.effects.sum(), expected)


def test_every_member_that_counts_is_compiled() -> None:
    model, models = fused({"distmult": 1.0, "targcn": 0.0})
    compiled: list[str] = []

    def note(name: str) -> Any:
        return lambda: compiled.append(name)

    for name, one in models.items():
        one.compile_scores = note(name)
    model.compile_scores()
    assert compiled == ["distmult"]
