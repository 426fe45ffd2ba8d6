"""What the page and scripts ask, and the API against its own description."""

from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks

from small_server import FACTS, NAMES, Here, problem_of
from targcn.inference.predictor import Predictor
from targcn.runs.run import Run
from targcn.serve.api import MOST_COMPARED
from targcn.serve.served_run import MOST_WORK

QUESTION = {"subject": "plain", "relation": "r0", "object": None, "time": "1970-01-09"}
FACT = QUESTION | {"object": ".."}


def test_runs(here: Here) -> None:
    evidence, copy = here.ask("GET", "/api/runs").json["runs"]
    assert evidence["name"] == "evidence"
    assert evidence["asks"] == ["subject", "relation", "object", "time", "fact"]
    assert evidence["has_probabilities"]
    assert evidence["gives_reasons"]
    assert not copy["has_probabilities"]
    assert not copy["gives_reasons"]
    assert sum(evidence["histogram"]["facts"]) == evidence["num_facts"] == len(FACTS)
    assert evidence["histogram"]["ticks"] == list(range(31))
    assert evidence["histogram"]["labels"][:2] == ["1970-01-01", "1970-01-02"]
    for example in evidence["examples"]:
        body = {"run": "evidence", "questions": [example]}
        (found,) = here.ask("POST", "/api/predict", body).json["answers"]
        assert "then" in {row["known"] for row in found["rows"]}
    assert {one["relation"] for one in evidence["examples"]} == {"r0", "r1"}


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_found(here: Here, name: str) -> None:
    found = here.ask("GET", f"/api/names?run=copy&q={quote(name, safe='')}").json["names"]
    assert found[0]["name"] == name
    answer = here.ask("GET", f"/api/entities/{quote(name, safe='')}?run=copy")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["name"] == name
    assert answer.json["total"] == found[0]["num_facts"]


def test_names_that_are_not_there(here: Here) -> None:
    found = here.ask("GET", "/api/names?run=copy&q=plane").json["names"]
    assert [one["name"] for one in found] == ["plain"]
    missing = problem_of(here.ask("GET", "/api/entities/plane?run=copy"), 404)
    assert missing["suggestions"] == ["plain"]
    other = problem_of(here.ask("GET", "/api/names?run=other"), 404)
    assert other["suggestions"] == ["evidence", "copy"]
    problem_of(here.ask("GET", "/api/names?run=copy&kind=planet"), 400)
    problem_of(here.ask("GET", "/api/names"), 400)


def test_predict(here: Here, runs: dict[str, Run]) -> None:
    body = {"run": "evidence", "questions": [QUESTION], "top": 3}
    (answer,) = here.ask("POST", "/api/predict", body).json["answers"]
    assert answer["question"] == QUESTION
    expected = Predictor(runs["evidence"], device="cpu").predict(*QUESTION.values(), top=3)
    assert [row["answer"] for row in answer["rows"]] == expected["answer"].to_list()
    shares = [row["probability"] for row in answer["rows"]]
    assert shares == pytest.approx(expected["probability"].to_list())


def test_a_question_that_cannot_be_asked(here: Here) -> None:
    wrong = QUESTION | {"subject": "plane"}
    body = {"run": "copy", "questions": [wrong]}
    problem = problem_of(here.ask("POST", "/api/predict", body), 422)
    assert problem["detail"] == "entity 'plane' is not in this graph; did you mean 'plain'?"
    assert problem["suggestions"] == ["plain"]
    late = {"run": "copy", "questions": [QUESTION | {"time": "soon"}]}
    assert "is not a date" in problem_of(here.ask("POST", "/api/predict", late), 422)["detail"]
    open_twice = {"run": "copy", "questions": [{"subject": "plain", "time": 1}]}
    assert (
        "leave one place open"
        in problem_of(here.ask("POST", "/api/predict", open_twice), 422)["detail"]
    )
    text = here.ask("POST", "/api/predict", b"{}", {"Content-Type": "text/plain"})
    assert "send a JSON object, with the header" in problem_of(text, 400)["detail"]


def test_wrong_questions_among_several(here: Here) -> None:
    several = [QUESTION, QUESTION | {"subject": "plane"}, QUESTION | {"relation": "?"}, QUESTION]
    found = here.ask("POST", "/api/predict", {"run": "copy", "questions": several}).json["answers"]
    assert [one["asked"] for one in found] == ["object", None, None, "object"]
    assert found[1]["suggestions"] == ["plain"]
    assert found[2]["error"].startswith("leave one place open")
    for one, other in zip(found[0]["rows"], found[3]["rows"], strict=True):
        assert one == other | {"true": pytest.approx(other["true"])}
    wrong = {"run": "copy", "questions": [QUESTION | {"subject": "plane"}] * 1000}
    found = here.ask("POST", "/api/predict", wrong).json["answers"]
    assert sum(bool(one["suggestions"]) for one in found) == MOST_COMPARED
    assert all(one["error"] for one in found)


@pytest.mark.parametrize(
    ("words", "cost", "why"),
    [
        ({"object": "..", "time": None}, 31, False),
        ({"object": "..", "time": "1970-01-09"}, 100, False),
        ({"object": None, "time": "1970-01-09"}, 110, True),
    ],
)
def test_too_much_at_once_is_refused(
    here: Here, words: dict[str, str | None], cost: int, why: bool
) -> None:
    most = MOST_WORK // cost
    body = {"run": "copy", "why": why, "questions": [QUESTION | words] * min(most + 1, 1000)}
    answer = here.ask("POST", "/api/predict", body)
    assert "ask fewer at once" in problem_of(answer, 422)["detail"]
    few = body | {"questions": body["questions"][:3]}  # type: ignore[index]
    assert here.ask("POST", "/api/predict", few).status == 200


def test_explain(here: Here, runs: dict[str, Run]) -> None:
    words = {"subject": "plain", "relation": "r0", "object": "..", "time": "1970-01-09"}
    found = here.ask("POST", "/api/explain", {"run": "evidence", "top": 4, **words}).json
    expected = Predictor(runs["evidence"], device="cpu").explain(*words.values(), top=4)
    assert found["score"] == pytest.approx(expected.score)
    assert found["tick"] == 8
    for reason, wanted in zip(found["reasons"], expected.reasons, strict=True):
        assert reason["effect"] == pytest.approx(wanted.effect)
        for fact, dated in zip(reason["facts"], wanted.facts, strict=True):
            assert (fact["subject"], fact["time"]) == (dated.subject, dated.time)
            assert fact["tick"] == (None if dated.delta is None else 8 + dated.delta)
    problem = problem_of(here.ask("POST", "/api/explain", {"run": "copy", **words}), 422)
    assert "does not say what single facts do" in problem["detail"]


def test_judge(here: Here, runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    known = dict(zip(QUESTION, predictor.dataset.named("train", 3), strict=True))
    for words, is_known in ((known, True), (FACT | {"time": "1970-01-21"}, False)):
        found = here.ask("POST", "/api/judge", {"run": "evidence", **words}).json
        expected = predictor.judge(*words.values())
        assert found["text"] == str(expected)
        assert found["is_known"] is expected.is_known is is_known
        assert found["probability"] == pytest.approx(expected.probability)
        assert found["presumed"] == pytest.approx(expected.presumed)
        assert [sign["text"] for sign in found["signs"]] == [sign.text for sign in expected.signs]
        # The answer to a question is as probable, whoever is asked; what is known is certain.
        body = {"run": "evidence", "questions": [words | {"object": None}], "top": 9}
        [answer] = here.ask("POST", "/api/predict", body).json["answers"]
        [row] = [row for row in answer["rows"] if row["answer"] == words["object"]]
        assert row["true"] == (1 if is_known else pytest.approx(expected.probability))
    wrong = problem_of(
        here.ask("POST", "/api/judge", {"run": "copy", **FACT, "subject": "plane"}), 422
    )
    assert (wrong["suggestions"], wrong["field"]) == (["plain"], "subject")
    open_place = {"run": "copy", **FACT, "object": "?"}
    assert "leave no place" in problem_of(here.ask("POST", "/api/judge", open_place), 422)["detail"]


def test_what_if(here: Here, runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    subject, relation, object_, time = predictor.dataset.named("train", 3)
    question = {"subject": subject, "relation": relation, "time": time}
    fact = question | {"object": object_}
    body = {"run": "evidence", "question": question, "without": [fact], "top": 3}
    rows = here.ask("POST", "/api/what-if", body).json["rows"]
    asked = [(subject, relation, None, time)]
    expected = predictor.what_if(asked, without=[(subject, relation, object_, time)], top=3)
    assert [row["answer"] for row in rows] == expected["answer"].to_list()
    after = [row["probability_after"] for row in rows]
    assert after == pytest.approx(expected["probability_after"].to_list())
    problem_of(here.ask("POST", "/api/what-if", {"run": "evidence", "question": question}), 422)
    unknown = body | {"without": [fact | {"subject": "plane"}]}
    problem = problem_of(here.ask("POST", "/api/what-if", unknown), 422)
    assert problem["suggestions"] == ["plain"]


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"\xff\xfe", b'{"run":"\\ud800"}'])
def test_wrong_forms(here: Here, body: bytes) -> None:
    assert problem_of(here.ask("POST", "/api/predict", body), 400)["detail"]


# What a request may be answered with, whatever it holds.
FINE = {200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 503, 504}


@pytest.fixture(scope="module")
def description(here: Here) -> Any:
    found = here.ask("GET", "/openapi.json").json
    assert found["openapi"].startswith("3.1")
    load_all_checks()
    return schemathesis.openapi.from_dict(found)


def test_every_address_keeps_its_word(here: Here, description: Any) -> None:
    """Requests that fit the description and ones that do not; every answer fits it."""
    operations = [found.ok() for found in description.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:
        statuses = _check(here, operation, schemathesis.GenerationMode.POSITIVE)
        assert 200 in statuses, operation.label
        if operation.body or len(list(operation.iter_parameters())):
            _check(here, operation, schemathesis.GenerationMode.NEGATIVE)


def _make_real(case: Any) -> None:
    """Put names that are there into a request that fits the description."""
    for where in (case.query, case.path_parameters):
        where.update({key: "evidence" for key in where if key == "run"})
        where.update({key: "plain" for key in where if key == "name"})
        where.update({key: "1970-01-05" for key in where if key in ("from", "to")})
    if not isinstance(case.body, dict):
        return
    for key, value in {"run": "evidence", "questions": [QUESTION], "question": QUESTION}.items():
        if key in case.body:
            case.body[key] = value
    if "question" in case.body:
        case.body |= {"without": [], "given": [FACT | {"time": "1970-01-11"}]}
    elif "subject" in case.body:
        case.body |= FACT
    elif "questions" not in case.body:
        case.body |= {"time": "1970-01-05", "relation": "r1", "entity": None}


def _check(here: Here, operation: Any, mode: schemathesis.GenerationMode) -> set[int]:
    """The statuses of the answers, all of which fit the description."""
    seen = set()

    @given(case=operation.as_strategy(generation_mode=mode), is_real=st.booleans())
    @settings(
        max_examples=12,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Any, is_real: bool) -> None:
        if is_real and mode == schemathesis.GenerationMode.POSITIVE:
            _make_real(case)
        answer = case.call(base_url=f"http://127.0.0.1:{here.port}")
        seen.add(answer.status_code)
        assert answer.status_code in FINE, (answer.status_code, answer.text)
        # A question may fit the description and yet be about names that are not there.
        case.validate_response(answer, excluded_checks=[CHECKS.get_one("positive_data_acceptance")])

    check()
    return seen
