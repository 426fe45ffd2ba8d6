"""The API against its own description, and against what nobody should send."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks

from small_server import Here, problem_of

# What a request may be answered with, whatever it holds.
FINE = {200, 202, 204, 400, 401, 403, 404, 405, 408, 413, 415, 422, 503, 504}
MANGLED = 1_000


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
        if operation.path.endswith("/events"):
            continue  # a stream, which test_jobs_api reads
        statuses = _check(here, operation, schemathesis.GenerationMode.POSITIVE)
        assert statuses & {200, 202, 204} or "{job}" in operation.path, operation.label
        if operation.body or len(list(operation.iter_parameters())):
            _check(here, operation, schemathesis.GenerationMode.NEGATIVE)


WORDS = {"subject": "plain", "relation": "r0", "object": None, "time": "1970-01-09"}
FACT = WORDS | {"object": ".."}


def _make_real(case: Any) -> None:
    """Put names that are there into a request that fits the description."""
    for where in (case.query, case.path_parameters):
        where.update({key: "evidence" for key in where if key == "run"})
        where.update({key: "plain" for key in where if key == "name"})
        where.update({key: "1970-01-05" for key in where if key in ("from", "to")})
    if not isinstance(case.body, dict):
        return
    for key, value in {"run": "evidence", "questions": [WORDS], "question": WORDS}.items():
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


def bodies(draw: random.Random) -> Iterator[bytes]:
    """Bodies that were right once."""
    question = {"subject": "plain", "relation": "r0", "object": None, "time": "1970-01-09"}
    values = [None, True, -1, 1e308, 10**30, "", "?", "\x00", "\ud800", [], {}, [[[]]], "é" * 5000]
    while True:
        body: dict[str, Any] = {"run": "copy", "questions": [dict(question)], "top": 3}
        kind = draw.randrange(5)
        if kind == 0:
            body[draw.choice(list(body))] = draw.choice(values)
        elif kind == 1:
            body["questions"][0][draw.choice(list(question))] = draw.choice(values)
        elif kind == 2:
            body["questions"] = [draw.choice(values) for _ in range(draw.randrange(4))]
        text = json.dumps(body).encode()
        if kind == 3:
            cut = bytearray(text)
            for _ in range(draw.randrange(1, 6)):
                cut[draw.randrange(len(cut))] = draw.randrange(256)
            text = bytes(cut)
        elif kind == 4:
            text = text[: draw.randrange(len(text))] + b"[" * draw.choice([0, 5, 100_000])
        yield text


def test_mangled_bodies(here: Here) -> None:
    """None of them is a failure of the server, and it goes on answering."""
    draw = random.Random(11)
    connection = here.connect()
    headers = {"Content-Type": "application/json"}
    paths = ("/api/predict", "/api/explain", "/api/what-if", "/api/missing")
    seen = set()
    for number, body in zip(range(MANGLED), bodies(draw), strict=False):
        connection.request("POST", paths[number % 2 * (number % 4)], body, headers)
        answer = connection.getresponse()
        answer.read()
        seen.add(answer.status)
    connection.close()
    assert seen <= FINE
    assert {200, 400, 422} <= seen
    assert here.ask("GET", "/health").status == 200


def test_any_question_has_an_answer(here: Here) -> None:
    """Times of any distance and names of any kind: an answer or a sentence."""
    text = st.one_of(st.sampled_from(["plain", "..", "?", "", "r0", "r1"]), st.text(max_size=8))
    times = st.one_of(
        st.integers(-(10**19), 10**19),
        st.dates().map(str),
        st.sampled_from(["0001-01-01", "9999-12-31T23:59:59", "1970-01-09", "-5", "1e9", "99999"]),
        st.text(max_size=12),
    )
    question = st.fixed_dictionaries(
        {"subject": text, "relation": text, "object": text, "time": st.none() | times}
    )

    @given(question, st.sampled_from(["evidence", "copy"]), st.booleans(), st.booleans())
    @settings(max_examples=150, deadline=None, database=None, derandomize=True)
    def check(asked: dict[str, Any], run: str, hide_known: bool, why: bool) -> None:
        body = {"run": run, "questions": [asked], "hide_known": hide_known, "why": why, "top": 3}
        answer = here.ask("POST", "/api/predict", body)
        assert answer.status in (200, 400, 422), (asked, answer.body)
        assert answer.status == 200 or answer.json["detail"]

    check()


def test_the_page_is_served_and_no_other_file(here: Here) -> None:
    page = here.ask("GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', page.body.decode())
    assert "page/app.js" in named
    for address in named:
        assert here.ask("GET", f"/{address}").status == 200
    script = here.ask("GET", "/page/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    again = here.ask("GET", "/page/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    for path in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "app.js%00", ""):
        problem_of(here.ask("GET", f"/page/{path}"), 404)
