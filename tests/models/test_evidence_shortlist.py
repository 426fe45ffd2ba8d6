"""Answers from a shortlist against those from the scores of all entities."""

import pytest
import torch

import targcn
from oracle import queries_of
from small_training import DATA
from targcn.inference.predictor import Predictor
from targcn.models.base import NO_ENTITY
from targcn.models.evidence_shortlist import ShortlistOfPrior

from .test_evidence import NARROW, QUERIES, WORLD, build


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even few entities are too many, but two of them and one of the others are looked at."""
    monkeypatch.setattr(ShortlistOfPrior, "FROM", 0)
    monkeypatch.setattr(ShortlistOfPrior, "LISTED", 2)
    monkeypatch.setattr(ShortlistOfPrior, "SAMPLED", 1)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("more", [{}, {"against": True}, {"prior_dim": 0}])
def test_a_listed_entity_has_its_score_and_stands_once(more: dict[str, object]) -> None:
    model = build(WORLD, **NARROW, **more)
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
    monkeypatch.setattr(ShortlistOfPrior, "FROM", 0)
    monkeypatch.setattr(ShortlistOfPrior, "LISTED", 1)
    monkeypatch.setattr(ShortlistOfPrior, "SAMPLED", 3)
    model = build(WORLD, **NARROW)
    listed = model.shortlist_of_prior.of(model, 1)
    assert listed.log_weights.exp().sum().round() == WORLD.num_entities
    with torch.no_grad():
        model.prior_bias[5] = 1000.0
    assert model.shortlist_of_prior.of(model, 1).entities[0] == 5


@pytest.mark.parametrize("hide_known", [False, True])
def test_a_predictor_answers_from_it(short: None, hide_known: bool, monkeypatch) -> None:
    run = targcn.fit(DATA, "evidence", epochs=2)
    facts = [
        (*DATA.named("test", place)[:2], None, DATA.named("test", place)[3]) for place in (0, 1)
    ]
    likely = Predictor(run).predict_many(facts, top=3, hide_known=hide_known)
    monkeypatch.setattr(ShortlistOfPrior, "FROM", 10**9)
    every = Predictor(run).predict_many(facts, top=3, hide_known=hide_known)
    assert likely.columns == every.columns
    # What is in both has the same score, and the best of all has evidence.
    both = likely.join(every, on=["question", "answer"])
    assert both.height >= likely.height / 2
    assert (both["score"] - both["score_right"]).abs().max() < 1e-5
    assert (both["known"] == both["known_right"]).all()
