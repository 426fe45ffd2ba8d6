"""Searches for missing facts, and reports."""

import json
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from small_server import Answer, Here, problem_of, serving
from targcn.inference.predictor import Predictor
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.serve.problems import ProblemError
from targcn.serve.searches import Search
from targcn.serve.served_run import ServedRun


def events_of(here: Here, job: str, meanwhile: Callable[[], None] = lambda: None) -> list[Any]:
    """The names and contents of all events; something is done once they are being watched."""
    with closing(here.connect()) as connection:
        connection.request("GET", f"/api/missing/{job}/events")
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
        meanwhile()
        events = [event.split("\n") for event in answer.read().decode().strip().split("\n\n")]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in (event for event in events if len(event) == 2)
    ]


def test_a_search(here: Here, runs: dict[str, Run]) -> None:
    body = {"run": "evidence", "relation": "R1", "top": 5}
    started = here.ask("POST", "/api/missing", body)
    assert started.status == 202
    *progress, (last, found) = events_of(here, started.json["job"])
    assert last == "result"
    assert {name for name, _ in progress} <= {"progress"}
    expected = Predictor(runs["evidence"], device="cpu").missing(relation="r1", top=5)
    assert found["rows"] == json.loads(json.dumps(expected.to_dicts()))
    # It can be asked for again.
    assert events_of(here, started.json["job"])[-1] == (last, found)
    problem_of(here.ask("GET", "/api/missing/unknown/events"), 404)
    wrong = here.ask("POST", "/api/missing", {"run": "evidence", "entity": "plane"})
    assert problem_of(wrong, 422)["suggestions"] == ["plain"]


@pytest.fixture
def slow_search(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Searches that go on until they are cancelled; the event says that one has begun."""
    begun = threading.Event()

    def search(predictor: Predictor, progress: Any, **how: object) -> None:
        begun.set()
        for number in count():
            progress(number, number)

    monkeypatch.setattr(Predictor, "missing", search)
    return begun


def test_a_search_is_cancelled(here: Here, slow_search: threading.Event) -> None:
    job = here.ask("POST", "/api/missing", {"run": "copy"}).json["job"]
    slow_search.wait()
    # Questions are answered meanwhile.
    question = {"subject": "plain", "relation": "r0", "time": "1970-01-09"}
    assert here.ask("POST", "/api/predict", {"run": "copy", "questions": [question]}).status == 200
    assert here.ask("DELETE", f"/api/missing/{job}").status == 204
    *_, (last, problem) = events_of(here, job)
    assert last == "problem"
    assert problem["detail"] == "the search was cancelled"
    problem_of(here.ask("DELETE", "/api/missing/unknown"), 404)


def test_a_search_that_takes_too_long() -> None:
    with pytest.raises(ProblemError, match="did not end within 0 seconds") as late:
        Search().run(lambda progress: progress(1, 2), seconds=0)
    assert late.value.problem.status == 504


def test_a_search_that_fails(
    here: Here, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Predictor, "missing", lambda *_, **how: 1 / 0)
    job = here.ask("POST", "/api/missing", {"run": "copy"}).json["job"]
    *_, (last, problem) = events_of(here, job)
    assert (last, problem["status"]) == ("problem", 500)
    assert "ZeroDivisionError" in caplog.text


def test_a_report_does_not_keep_the_server_from_stopping(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def compute(served: ServedRun, progress: Any) -> None:
        begun.set()
        while True:
            progress(1, 2)

    monkeypatch.setattr(ServedRun, "report", compute)
    answers: list[Answer] = []
    with serving({"copy": runs["copy"]}) as here:
        ask = threading.Thread(target=lambda: answers.append(here.ask("GET", "/api/report/copy")))
        ask.start()
        begun.wait()
    ask.join()
    assert "being stopped" in problem_of(answers[0], 503)["detail"]


def test_too_many_searches(here: Here, slow_search: threading.Event) -> None:
    answers = [here.ask("POST", "/api/missing", {"run": "copy"}) for _ in range(6)]
    assert [answer.status for answer in answers] == [202] * 4 + [503] * 2
    for answer in answers[:4]:
        here.ask("DELETE", f"/api/missing/{answer.json['job']}")
    *_, (last, _) = events_of(here, answers[3].json["job"])
    assert last == "problem"


def test_a_search_does_not_keep_the_server_from_stopping(
    runs: dict[str, Run], slow_search: threading.Event
) -> None:
    with serving({"copy": runs["copy"]}) as here:
        job = here.ask("POST", "/api/missing", {"run": "copy"}).json["job"]
        slow_search.wait()
        *_, (last, _) = events_of(here, job, lambda: setattr(here.server, "should_exit", True))
    assert last == "problem"


def test_a_report(here: Here, runs: dict[str, Run]) -> None:
    found = here.ask("GET", "/api/report/evidence").json
    expected = json.loads(json.dumps(evaluate(runs["evidence"], device="cpu").to_json()))
    assert found["reports"] == [expected]
    assert found["calibration"] == expected["calibration"]
    assert here.ask("GET", "/api/report/evidence").json == found
    assert here.ask("GET", "/api/report/copy").json["calibration"] is None
    problem_of(here.ask("GET", "/api/report/other"), 404)
