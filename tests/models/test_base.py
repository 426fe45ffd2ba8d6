"""What the contract gives to models that do not say otherwise."""

from copy import deepcopy

import pytest
import torch

from oracle import World, queries_of
from small_training import create
from targcn.errors import InputError
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import PerContext

WORLD = World(3, 1, [(0, 0, 1, 0), (1, 0, 2, 4)], cuts=(2, 2))


def test_a_rule_has_no_probabilities_and_no_reasons() -> None:
    rule = create("seen", WORLD.dataset)
    assert rule.log_probabilities(torch.zeros(1, 3)) is None
    assert rule.reasons(queries_of([(0, 0, 0)]), 1, WORLD.graph) is None
    assert rule.num_parameters == 0


def test_a_learners_probabilities_are_the_softmax_of_its_scores() -> None:
    learner = create("distmult", WORLD.dataset)
    scores = torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]])
    torch.testing.assert_close(learner.log_probabilities(scores).exp(), scores.softmax(1))
    assert learner.reasons(queries_of([(0, 0, 0)]), 1, WORLD.graph) is None
    assert learner.num_parameters == (3 + 2) * 100


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
    with pytest.raises(InputError, match="DistMult has learned one vector per entity and can scor"):
        create("distmult", WORLD.dataset).add_entities(1)
