"""Scores of some entities against those of all, and drawn entities against what is expected."""

from typing import Any

import pytest
import torch

import targcn
from oracle import World, queries_of
from small_training import DATA
from targcn.inference.predictor import Predictor
from targcn.models import evidence_candidates
from targcn.models.base import NO_ENTITY
from targcn.models.evidence_candidates import draw_rivals, list_rivals

from .test_evidence import NARROW, QUERIES, WORLD, build

EMPTY = World(4, 1, [])


def shorten(patch: pytest.MonkeyPatch, listed: int, drawn: int) -> None:
    """Let not all of any number of entities be scored."""
    patch.setattr(evidence_candidates, "LEAST_ENTITIES", 0)
    patch.setattr(evidence_candidates, "NUM_LISTED", listed)
    patch.setattr(evidence_candidates, "NUM_DRAWN", drawn)


def test_every_draw_stands_for_as_many_as_it_was_rare() -> None:
    for world, count in ((WORLD, 9), (WORLD, 1), (EMPTY, 6)):
        weights, counts = torch.zeros(world.num_entities), torch.zeros(world.num_entities)
        expected = torch.zeros(world.num_entities)
        for seed in range(2000):
            drawn = draw_rivals(world.graph, count, torch.tensor([seed]))
            weights.index_add_(0, drawn.entities, drawn.log_weights.exp())
            counts.index_add_(0, drawn.entities, torch.ones(count))
            expected[drawn.entities] = (-drawn.log_weights).exp()
        is_drawn = counts > 0
        torch.testing.assert_close(counts[is_drawn] / 2000, expected[is_drawn], rtol=0.2, atol=0.05)
        # Each entity counts once on average, so that a sum over all is right on average.
        assert is_drawn.sum() >= world.num_entities - (count == 1)
        assert (weights[is_drawn] / 2000 - 1).abs().max() < 0.3


def test_the_draw_is_that_of_the_step_whatever_the_rows() -> None:
    one = draw_rivals(WORLD.graph, 5, torch.tensor([3, 3]))
    other = draw_rivals(WORLD.graph, 5, torch.tensor([3]))
    assert torch.equal(one.entities, other.entities)
    assert torch.equal(one[:1].entities, one.entities)
    assert not torch.equal(draw_rivals(WORLD.graph, 5, torch.tensor([4])).entities, one.entities)


@pytest.mark.parametrize("more", [{}, {"against": True}, {"prior_dim": 0}])
def test_a_listed_entity_has_its_score_and_stands_once(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    model = build(WORLD, **NARROW, **more)
    shorten(monkeypatch, listed=2, drawn=1)
    queries = queries_of(QUERIES)
    with torch.no_grad():
        scores, likely = model(queries, WORLD.graph), model.shortlist(queries, WORLD.graph, 1)
    assert likely is not None
    for row, (entities, values) in enumerate(zip(likely.entities, likely.scores, strict=True)):
        counts = (entities != NO_ENTITY) & (values > -torch.inf)
        named = entities[counts]
        assert len(named) == len(named.unique()) >= 2
        torch.testing.assert_close(values[counts], scores[row, named])


def test_a_sample_stands_for_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, listed=1, drawn=3)
    listed = list_rivals(build(WORLD, **NARROW), 1)
    assert listed.log_weights.exp().sum().round() == WORLD.num_entities
    assert (listed.log_weights > 0).sum() == 3


@pytest.mark.parametrize("hide_known", [False, True])
def test_a_predictor_answers_from_it(monkeypatch: pytest.MonkeyPatch, hide_known: bool) -> None:
    run = targcn.fit(DATA, "evidence", epochs=2)
    facts = [
        (*DATA.named("test", place)[:2], None, DATA.named("test", place)[3]) for place in (0, 1)
    ]
    every = Predictor(run).predict_many(facts, top=3, hide_known=hide_known)
    shorten(monkeypatch, listed=2, drawn=1)
    predictor = Predictor(run)
    likely = predictor.predict_many(facts, top=3, hide_known=hide_known)
    assert likely.columns == every.columns
    # What is in both has the same score, and the best of all has evidence.
    both = likely.join(every, on=["question", "answer"])
    assert both.height >= likely.height / 2
    assert (both["score"] - both["score_right"]).abs().max() < 1e-5
    assert (both["known"] == both["known_right"]).all()
    # Other weights list other entities.
    with torch.no_grad():
        predictor.model.prior_bias[5] = 1000.0
    assert set(predictor.predict_many(facts, top=1)["answer"]) == {DATA.entities[5]}
