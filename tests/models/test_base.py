"""What the contract gives to models that do not say otherwise."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given

from oracle import (
    Query,
    World,
    checked,
    queries_of,
    with_reciprocals,
    worlds_with_another_future,
)
from small_training import create
from targcn.errors import InputError
from targcn.evaluation.filters import KnownAnswers
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import PerContext
from targcn.models.layers.losses import cross_entropy
from targcn.models.registry import MODELS, find_model

WORLD = World(3, 1, [(0, 0, 1, 0), (1, 0, 2, 4)], cuts=(2, 2))


def test_a_rule_has_no_probabilities_and_no_reasons() -> None:
    rule = create("seen", WORLD.dataset)
    assert rule.log_probabilities(torch.zeros(1, 3)) is None
    assert rule.reasons(queries_of([(0, 0, 0)]), 1, WORLD.graph) is None
    assert rule.rules(queries_of([(0, 0, 0)]), torch.tensor([1]), WORLD.graph, 1) is None
    assert rule.num_parameters == 0


def test_a_learners_probabilities_are_the_softmax_of_its_scores() -> None:
    learner = create("distmult", WORLD.dataset)
    scores = torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]])
    torch.testing.assert_close(learner.log_probabilities(scores).exp(), scores.softmax(1))
    assert learner.reasons(queries_of([(0, 0, 0)]), 1, WORLD.graph) is None
    assert learner.num_parameters == (3 + 2) * 100


# Models that always hide a query's own fact in training.
HIDES = ("evidence", "t-gap", "temp-gru", "temp-sa")


@pytest.mark.parametrize("name", [one for one in MODELS if find_model(one).can_filter_loss])
def test_a_filtered_loss_differs_by_what_the_softmax_leaves_out(name: str) -> None:
    """Whatever else is in the loss stays as it is."""
    facts = [(s, 0, o, t) for s in range(4) for o in range(5) for t in range(3) if (s + o + t) % 2]
    world = World(6, 1, facts, cuts=(len(facts), len(facts)))
    exact = {"targcn": {"strategy": "whole", "own_fact": "kept", "dropout": 0.0}}
    exact["de-simple"] = {"dropout": 0.0}
    exact |= {temp: {"negatives": 0} for temp in ("temp-gru", "temp-sa")}
    exact["t-gap"] = {"heads": 2}
    model = create(name, world.dataset, {"dim": 8} | exact.get(name, {})).double().train()
    both = with_reciprocals(facts, 1)
    queries = queries_of([(s, r, t) for s, r, _, t in both])
    answers = torch.tensor([o for _, _, o, _ in both])
    others = KnownAnswers.of(world.graph, "time-aware").others(queries, answers)
    sample = model.sample(queries, answers, world.graph, torch.zeros(len(both), dtype=torch.long))
    # What is scored is what is seen in training.
    scores = model.score(queries, sample) if name in HIDES else model(queries, world.graph)
    found = model.loss(queries, answers, sample, others) - model.loss(queries, answers, sample)
    with torch.no_grad():
        expected = cross_entropy(scores, answers, others) - cross_entropy(scores, answers)
    assert float(expected) < -0.1
    torch.testing.assert_close(found.detach(), expected)


PAST_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "targcn": [
        {"strategy": strategy, "neighbors": 2, "window": window, "steps": steps} | more
        for steps in (1, 2)
        for strategy, window, more in (
            ("near", 3, {}),
            ("near", 0, {"weight_floor": 1e-9, "search_range": 4}),
            ("whole", 0, {"time_encoding": "absolute"}),
        )
    ],
    "evidence": [
        {},
        {"facts": 4, "first_facts": 2, "second_facts": 3},
    ],
    "t-gap": [
        {"dim": 10},
        {"dim": 10, "subject_edges": 2, "core_nodes": 2, "node_edges": 2, "subgraph_edges": 2},
    ],
}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (name, settings)
        for name in MODELS
        if find_model(name).reads_context
        for settings in PAST_SETTINGS.get(name, [{}])
    ],
    ids=str,
)
@checked
@given(worlds_with_another_future())
def test_whatever_happens_later_a_score_stays_the_same_to_the_bit(
    name: str, settings: dict[str, Any], drawn: tuple[World, World, list[Query]]
) -> None:
    """Facts at the query's time and after it are added, left out and put in another order."""
    world, another, asked = drawn
    if name == "targcn":
        settings = settings | {"dim": 4}
    torch.manual_seed(0)
    model = create(name, world.dataset, settings).eval()
    queries = queries_of(asked)
    with torch.no_grad():
        one, other = (model(queries, graph) for graph in (world.past, another.past))
        assert torch.equal(one, other)
        for answer in range(min(world.num_entities, 2)):
            reasons = [
                model.reasons(queries[:1], answer, graph) for graph in (world.past, another.past)
            ]
            if reasons[0] is not None:
                assert (reasons[0].times < asked[0][2]).all()
                for ours, theirs in zip(*(found.tensors() for found in reasons), strict=True):
                    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", [one for one in MODELS if find_model(one).reads_context])
def test_what_happened_before_changes_a_score(name: str) -> None:
    world = World(4, 1, [(0, 0, 1, 3), (2, 0, 0, 4), (0, 0, 3, 5), (0, 0, 2, 9)])
    model = create(name, world.dataset).eval()
    with torch.no_grad():
        scores = [model(queries_of([(0, 0, time)]), world.past) for time in (3, 4, 5, 6, 9)]
    assert not any(torch.equal(one, other) for one, other in pairwise(scores[:-1]))
    assert name == "seen" or not torch.equal(scores[-2], scores[-1])


def test_an_index_is_built_again_only_for_another_context() -> None:
    built: list[TemporalGraph] = []
    index = PerContext(lambda context: built.append(context) or len(context))
    one, other = WORLD.graph, World(3, 1, []).graph
    assert [index.of(context) for context in (one, one, other, other, one)] == [4, 4, 0, 0, 4]
    assert built == [one, other, one]


def test_a_copy_does_not_take_the_index_along() -> None:
    index = PerContext(len)
    index.of(WORLD.graph)
    assert deepcopy(index).latest is None


def test_a_model_without_a_way_to_score_new_entities_says_so() -> None:
    wanted = "^this model has learned one vector per entity and can score no new ones"
    with pytest.raises(InputError, match=wanted):
        create("distmult", WORLD.dataset).add_entities(1)
