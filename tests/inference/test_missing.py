"""The most probable facts that are not known, against asking for every fact."""

import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
import torch

import oracle
from oracle import World
from targcn.errors import InputError
from targcn.inference import missing as module
from targcn.inference.missing import missing_table
from targcn.inference.predictor import Predictor
from targcn.training.fit import fit

FACTS = [(n % 6, n % 2, n * n % 7, n * 5 % 8) for n in range(60)]
WORLD = World(7, 2, FACTS, cuts=(40, 50))
KEYS = ["subject", "relation", "object", "time"]


@pytest.fixture(scope="module", params=["evidence", "distmult", "decayed-copy"])
def predictor(request: pytest.FixtureRequest) -> Predictor:
    small = {"epochs": 2, "device": "cpu"} if request.param != "decayed-copy" else {}
    if request.param == "evidence":
        small |= {"dim": 4, "prior_dim": 4, "batch_size": 16}
    return Predictor(fit(WORLD.dataset, request.param, **small))


def values_of(predictor: Predictor, query: oracle.Query) -> list[float]:
    with torch.inference_mode():
        scores = predictor.model(oracle.queries_of([query]), predictor.graph)
    logs = predictor.run.log_probabilities(scores)
    row: list[float] = (scores if logs is None else logs.exp())[0].tolist()
    return row


def everything(predictor: Predictor, least: float) -> Iterator[tuple[oracle.Fact, float, float]]:
    """Every fact that is not known, of a subject and a relation that were seen together."""
    known = set(WORLD.facts)
    times = sorted({fact[3] for fact in WORLD.facts})
    for subject, relation in sorted({fact[:2] for fact in WORLD.facts}):
        for time in times:
            row = values_of(predictor, (subject, relation, time))
            for object_ in range(7):
                back = values_of(predictor, (object_, relation + 2, time))[subject]
                fact = (subject, relation, object_, time)
                if fact not in known and min(row[object_], back) > least:
                    yield fact, row[object_], back


@pytest.mark.parametrize("top", [1, 10, 5000])
def test_the_best_of_all_facts_are_found(predictor: Predictor, top: int) -> None:
    kind = "probability" if predictor.has_probabilities else "score"
    least = module.LEAST_PROBABILITY if kind == "probability" else -math.inf
    expected = {fact: values for fact, *values in everything(predictor, least)}
    frame = predictor.missing(top=top)
    smaller = sorted((min(values) for values in expected.values()), reverse=True)[:top]
    assert frame[kind].to_list() == pytest.approx(smaller, rel=1e-5)
    assert frame["rank"].to_list() == list(range(1, len(smaller) + 1))
    for row in frame.to_dicts():
        subject, relation, object_ = (int(row[key][1:]) for key in KEYS[:3])
        fact = (subject, relation, object_, predictor.dataset.timeline.tick(row["time"]))
        values = row[f"object_{kind}"], row[f"subject_{kind}"]
        assert values == pytest.approx(expected[fact], rel=1e-5)
    assert frame.select(KEYS).n_unique() == frame.height


def test_the_size_of_a_batch_does_not_matter(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = predictor.missing(top=9)
    monkeypatch.setattr(module, "rows_at_once", lambda width, device: 3)
    done: list[tuple[int, int]] = []
    alone = predictor.missing(top=9, progress=lambda *counts: done.append(counts))
    kind = "probability" if predictor.has_probabilities else "score"
    assert alone[kind].to_list() == pytest.approx(together[kind].to_list())
    assert done[-1] == (done[-1][1], done[-1][1])


def test_what_is_asked_can_be_chosen(predictor: Predictor) -> None:
    every = predictor.missing(top=5000)
    when = every["time"][0]
    for choice, column in (("time", "time"), ("relation", "relation")):
        chosen: Any = every[column][0]
        found = predictor.missing(top=5000, **{choice: chosen})
        expected = every.filter(pl.col(column) == chosen)
        assert set(found.select(KEYS).rows()) == set(expected.select(KEYS).rows())
    of_entity = predictor.missing(entity="E3", time=when, top=5000)
    facts = of_entity.select(KEYS).rows()
    assert len(set(facts)) == len(facts)
    assert all("e3" in (fact[0], fact[2]) for fact in facts)
    mine = every.filter((pl.col("subject") == "e3") & (pl.col("time") == when))
    assert set(mine.select(KEYS).rows()) <= set(facts)


def test_reasons_are_given_where_the_model_has_any(predictor: Predictor) -> None:
    frame = predictor.missing(top=5)
    if not predictor.gives_reasons:
        assert frame["reason"].null_count() == frame.height
        return
    row = frame.row(0, named=True)
    words = [row[key] for key in KEYS]
    end = "object" if row["object_probability"] <= row["subject_probability"] else "subject"
    why = predictor.explain(*words, asked=end, top=1)  # type: ignore[arg-type]
    assert row["reason"].startswith(f"{why.reasons[0].facts[0].subject} — ")
    assert row["probability"] == pytest.approx(why.probability)


def test_a_pair_that_was_never_seen_is_refused(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="top is 0; at least 1 was"):
        predictor.missing(top=0)
    lonely = World(3, 2, [(0, 0, 1, 0), (0, 1, 1, 2), (0, 0, 1, 3)], cuts=(3, 3)).dataset
    with pytest.raises(InputError, match="the context holds no such pair"):
        Predictor(fit(lonely, "seen")).missing(entity="e2")


def test_the_table_for_people(predictor: Predictor) -> None:
    found = predictor.missing(top=2)
    table = missing_table(found, "title")
    assert table.labels[:5] == ["rank", *KEYS]
    assert len(table.cells()) == 2
    assert table.notes == ()
    why = ["no missing fact has a probability of 0.01 or more from both of its ends"]
    notes = missing_table(found.clear(), "title").notes
    assert list(notes) == (why if "probability" in found.columns else [])
