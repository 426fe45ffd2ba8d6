"""Rows for a server are those of `predict_many`."""

import random

import pytest

from oracle import World
from small_runs import untrained
from targcn.inference.predictor import Predictor
from targcn.inference.questions import PLACES, Question
from targcn.runs.run import Run
from targcn.serve.answering import HowToAnswer, answer


def some_questions(predictor: Predictor, places: tuple[str, ...], count: int) -> list[Question]:
    draw, dataset = random.Random(7), predictor.dataset
    questions = []
    for number in range(count):
        split = draw.choice(["train", "test"])
        fact = dataset.named(split, draw.randrange(len(dataset.splits[split])))
        words = dict(zip(PLACES, fact, strict=True))
        place = places[number % len(places)]
        questions.append(Question(**words | ({} if place == "fact" else {place: None})))
    return questions


@pytest.mark.parametrize(("name", "hide_known"), [("evidence", False), ("copy", True)])
def test_rows_are_those_of_predict_many(runs: dict[str, Run], name: str, hide_known: bool) -> None:
    predictor = Predictor(runs[name], device="cpu")
    questions = some_questions(predictor, ("object", "subject", "relation", "time"), 40)
    answers = answer(predictor, questions, HowToAnswer(4, hide_known))
    rows = [(number, row) for number, found in enumerate(answers, 1) for row in found.rows]
    expected = predictor.predict_many(questions, top=4, hide_known=hide_known).to_dicts()
    for (number, row), wanted in zip(rows, expected, strict=True):
        assert {"question": number} | row == wanted | {"why": None}


def test_facts_are_hidden_one_at_a_time(runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    questions = some_questions(predictor, ("fact",), 12)
    answers = answer(predictor, questions, HowToAnswer())
    for question, found in zip(questions, answers, strict=True):
        alone = predictor.predict_many([question])
        assert [row["asked"] for row in found.rows] == ["object", "subject"]
        assert [row["score"] for row in found.rows] == pytest.approx(alone["score"].to_list())
    together = predictor.predict_many(questions)
    scores = [row["score"] for found in answers for row in found.rows]
    assert scores != pytest.approx(together["score"].to_list())


def test_what_is_said_about_answers(runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    later = Question("angstrom", "R1", None, "1999-01-01")
    (found,) = answer(predictor, [later], HowToAnswer(2, why=True))
    assert found.question == Question("Ångström", "r1", None, "1999-01-01")
    assert found.forecast
    assert (found.note or "").startswith("A forecast: 1999-01-01 is ")
    best = found.rows[0]
    why = predictor.explain("Ångström", "r1", best["answer"], "1999-01-01", top=1)
    assert why.reasons[0].facts[0].subject in (best["why"] or "")


def test_an_explained_interval_can_be_left_out() -> None:
    facts = [(0, 0, 1 + n % 3, n % 7, n % 7 + 3) for n in range(21)]
    dataset = World(5, 1, facts, cuts=(15, 18)).dataset
    predictor = Predictor(untrained(dataset, "evidence"))
    words = (*dataset.named("test", 0)[:3], dataset.timeline.label(dataset.test.times[0]))
    explained = predictor.explain(*words)
    lasting = [fact for reason in explained.reasons for fact in reason.facts if fact.lasts]
    assert lasting
    for fact in lasting:
        assert fact.when != fact.time
        gone = (fact.subject, fact.relation, fact.object, fact.time or "")
        assert len(predictor.what_if([(*words[:2], None, words[3])], without=[gone]))
