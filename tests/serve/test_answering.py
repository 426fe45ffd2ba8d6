"""Rows for a server are those of `predict_many`."""

import itertools
import random

import pytest

from oracle import World
from small_runs import untrained
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.runs.run import Run
from targcn.serve import answering
from targcn.serve.answering import HowToAnswer, answer, ask


def some_questions(predictor: Predictor, places: tuple[str, ...], count: int) -> list[Question]:
    draw, dataset = random.Random(7), predictor.dataset
    questions = []
    for number in range(count):
        split = draw.choice(["train", "test"])
        words = dict(
            zip(
                ("subject", "relation", "object", "time"),
                dataset.named(split, draw.randrange(len(dataset.splits[split]))),
                strict=True,
            )
        )
        place = places[number % len(places)]
        questions.append(Question(**words | ({} if place == "fact" else {place: None})))
    return questions


@pytest.mark.parametrize(
    ("name", "top", "hide_known"),
    list(itertools.product(["evidence", "copy"], [1, 4, 30], [False, True])),
)
def test_rows_are_those_of_predict_many(
    runs: dict[str, Run], name: str, top: int, hide_known: bool
) -> None:
    predictor = Predictor(runs[name], device="cpu")
    questions = some_questions(predictor, ("object", "subject", "relation", "time"), 60)
    asked = [ask(question, predictor) for question in questions]
    answers = answer(predictor, asked, HowToAnswer(top, hide_known))
    frame = predictor.predict_many(questions, top=top, hide_known=hide_known)
    for number, found in enumerate(answers, 1):
        expected = frame.filter(frame["question"] == number).to_dicts()
        assert [row["answer"] for row in found["rows"]] == [row["answer"] for row in expected]
        for row, wanted in zip(found["rows"], expected, strict=True):
            assert row["rank"] == wanted["rank"]
            assert row["tied"] == wanted["tied"]
            assert row["asked"] == wanted["asked"]
            assert row["score"] == pytest.approx(wanted["score"], abs=1e-5)
            assert row["probability"] == pytest.approx(wanted["probability"], abs=1e-6)
            assert row["known"] == wanted["known"]


@pytest.mark.parametrize("hide_known", [False, True])
def test_facts_are_hidden_one_at_a_time(runs: dict[str, Run], hide_known: bool) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    questions = some_questions(predictor, ("fact",), 12)
    asked = [ask(question, predictor) for question in questions]
    answers = answer(predictor, asked, HowToAnswer(hide_known=hide_known))
    for question, found in zip(questions, answers, strict=True):
        alone = predictor.predict_many([question], hide_known=hide_known)
        assert [row["asked"] for row in found["rows"]] == ["object", "subject"]
        assert [row["rank"] for row in found["rows"]] == alone["rank"].to_list()
        assert [row["score"] for row in found["rows"]] == pytest.approx(alone["score"].to_list())
    together = predictor.predict_many(questions, hide_known=hide_known)
    scores = [row["score"] for found in answers for row in found["rows"]]
    assert scores != pytest.approx(together["score"].to_list())


def test_what_is_said_about_answers(runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    later = ask(Question("angstrom", "R1", None, "1999-01-01"), predictor)
    (found,) = answer(predictor, [later], HowToAnswer(2, why=True))
    assert found["question"] == {
        "subject": "Ångström",
        "relation": "r1",
        "object": None,
        "time": "1999-01-01",
    }
    assert found["forecast"]
    assert found["note"].startswith("A forecast: 1999-01-01 is ")
    best = found["rows"][0]
    why = predictor.explain("Ångström", "r1", best["answer"], "1999-01-01", top=1)
    assert why.reasons
    assert why.reasons[0].facts[0].subject in best["why"]
    nothing = Predictor(runs["copy"], "train", "cpu")
    unknown = ask(Question("plain", "r0", None, "1970-01-02"), nothing)
    (found,) = answer(nothing, [unknown], HowToAnswer(1, why=True))
    assert found["note"] is None or "Every entity has the same score" in found["note"]
    assert found["rows"][0]["why"] is None


def test_an_explained_interval_can_be_left_out() -> None:
    facts = [(0, 0, 1 + n % 3, n % 7, n % 7 + 3) for n in range(21)]
    dataset = World(5, 1, facts, cuts=(15, 18)).dataset
    predictor = Predictor(untrained(dataset, "evidence"))
    words = (*dataset.named("test", 0)[:3], dataset.question_time("test", 0))
    found = answering.explain(predictor, *words, "object", 20)
    lasting = [fact for one in found["reasons"] for fact in one["facts"] if fact["lasts"]]
    assert lasting
    for fact in lasting:
        assert fact["when"] != fact["time"]
        gone = (fact["subject"], fact["relation"], fact["object"], fact["time"])
        assert len(predictor.what_if([(*words[:2], None, words[3])], without=[gone]))
