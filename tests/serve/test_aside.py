"""Missing facts and reports, which take longer than an answer."""

import asyncio
import json
import threading
from typing import Any

import pytest

from small_server import Answer, Here, problem_of, serving
from targcn.inference.missing import MissingFilter, describe_presumed, find_missing, missing
from targcn.inference.predictor import Predictor
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.serve.aside import MOST_WAITING, Aside, Kind
from targcn.serve.problems import ProblemError
from targcn.serve.served_run import MOST_KEPT, ServedRun
from targcn.truth.training import PRESUMED

KINDS: tuple[Kind, ...] = ("missing", "report")


def test_missing_facts(here: Here, runs: dict[str, Run]) -> None:
    predictor = Predictor(runs["evidence"], device="cpu")
    for wanted in (
        {"relation": "R1", "top": 5, "at_least": 0.01, "presume": 0.05},
        {"time": "1970-01-09", "entity": "plain", "at_least": 0.001},
        {"with_mirrors": False},
    ):
        found = here.ask("POST", "/api/missing", {"run": "evidence", **wanted})
        assert found.status == 200
        expected = missing(predictor, **wanted).to_dicts()  # type: ignore[arg-type]
        assert found.json["rows"] == json.loads(json.dumps(expected))
        assert expected or "with_mirrors" in wanted
        truth = predictor.truth.presuming(wanted.get("presume", PRESUMED))  # type: ignore[arg-type]
        assert found.json["presumed"] == describe_presumed(truth)


def test_missing_facts_of_what_is_not_there(here: Here) -> None:
    def ask(**wanted: object) -> Answer:
        return here.ask("POST", "/api/missing", {"run": "evidence", **wanted})

    assert problem_of(ask(entity="plane"), 422)["suggestions"] == ["plain"]
    assert "is not in this graph" in problem_of(ask(relation="planet"), 422)["detail"]
    assert "is not a date" in problem_of(ask(time="soon"), 422)["detail"]
    problem_of(ask(run="other"), 404)
    for wrong in ({"top": 0}, {"at_least": 1.5}, {"presume": 0}, {"presume": 0.2}, {"score": 1}):
        problem_of(ask(**wrong), 400)


def test_what_was_found_is_kept(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told to ask again need not wait for all of it again."""
    tops = []

    def count_and_search(predictor: Predictor, wanted: MissingFilter, **how: Any) -> Any:
        tops.append(wanted.top)
        return find_missing(predictor, wanted, **how)

    monkeypatch.setattr("targcn.serve.served_run.find_missing", count_and_search)
    served = ServedRun("copy", runs["copy"], device="cpu")
    ask = [*range(1, MOST_KEPT + 1), MOST_KEPT, 1, MOST_KEPT + 1, 2, 1]
    for top in ask:
        wanted = MissingFilter(presume=0.1, time="1970-01-09", top=top)
        served.missing(wanted, lambda done, total: None)
    # The oldest was forgotten for one more, and again for the next.
    assert tops == [*range(1, MOST_KEPT + 1), MOST_KEPT + 1, 1]
    served.worker.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_at_once(kind: Kind) -> None:
    async def ask() -> None:
        work, free = Aside(), threading.Event()
        asked = [
            asyncio.create_task(work.run(kind, lambda _: free.wait())) for _ in range(MOST_WAITING)
        ]
        await asyncio.sleep(0)  # until each of them waits
        with pytest.raises(ProblemError, match="too many ask") as refused:
            await work.run(kind, lambda _: "never")
        assert refused.value.problem.status == 503
        # The other kind has a thread of its own.
        other = next(one for one in KINDS if one != kind)
        assert await work.run(other, lambda _: "at once") == "at once"
        free.set()
        assert await asyncio.gather(*asked) == [True] * MOST_WAITING
        assert await work.run(kind, lambda _: "again") == "again"
        work.stop()

    asyncio.run(ask())


def test_what_takes_too_long_goes_on() -> None:
    async def ask() -> None:
        work, free, found = Aside(seconds=0.01), threading.Event(), threading.Event()

        def find(progress: object) -> None:
            free.wait()
            found.set()

        with pytest.raises(ProblemError, match="ask again in a moment") as late:
            await work.run("missing", find)
        assert late.value.problem.status == 504
        free.set()
        work.stop()
        assert found.is_set()

    asyncio.run(ask())


def test_what_fails(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ServedRun, "missing", lambda *_: 1 / 0)
    with serving({"copy": runs["copy"]}) as here:
        problem_of(here.ask("POST", "/api/missing", {"run": "copy"}), 500)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_it_does_not_keep_the_server_from_stopping(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """Neither what is being done nor what waits for it."""
    begun, waiting = threading.Semaphore(0), threading.Event()
    run = Aside.run

    async def run_and_tell(work: Aside, *what: Any) -> Any:
        begun.release()
        return await run(work, *what)

    def go_on(served: ServedRun, *what: Any) -> None:
        waiting.set()
        while True:
            what[-1](1, 2)

    monkeypatch.setattr(Aside, "run", run_and_tell)
    monkeypatch.setattr(ServedRun, kind, go_on)
    answers: list[Answer] = []
    request = {
        "missing": ("POST", "/api/missing", {"run": "copy"}),
        "report": ("GET", "/api/report/copy"),
    }[kind]
    with serving({"copy": runs["copy"]}) as here:
        asking = [
            threading.Thread(target=lambda: answers.append(here.ask(*request)))  # type: ignore[arg-type]
            for _ in range(2)
        ]
        for thread in asking:
            thread.start()
            begun.acquire()
        waiting.wait()
    for thread in asking:
        thread.join()
    assert len(answers) == 2
    for answer in answers:
        assert "being stopped" in problem_of(answer, 503)["detail"]


def test_a_report(here: Here, runs: dict[str, Run]) -> None:
    found = here.ask("GET", "/api/report/evidence").json
    expected = json.loads(json.dumps(evaluate(runs["evidence"], device="cpu").to_json()))
    assert found["reports"] == [expected]
    assert found["calibration"] == expected["calibration"]
    assert here.ask("GET", "/api/report/evidence").json == found
    assert here.ask("GET", "/api/report/copy").json["calibration"] is None
    problem_of(here.ask("GET", "/api/report/other"), 404)
