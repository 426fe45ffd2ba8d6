"""Who may ask, and how much."""

import json
from collections.abc import Iterator

import pytest

from small_server import Here, problem_of, serving
from targcn.runs.run import Run

TOKEN = "a long secret"


@pytest.fixture(scope="module")
def guarded(runs: dict[str, Run]) -> Iterator[Here]:
    alone = {"copy": runs["copy"]}
    origins, names = ("https://example.org",), ("graph.example.org",)
    with serving(alone, token=TOKEN, origins=origins, names=names) as started:
        yield started


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_foreign_hosts_are_refused(here: Here, host: str) -> None:
    problem_of(here.ask("GET", "/api/runs", headers={"Host": host}), 400)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:1234", "[::1]:80", "LOCALHOST.", "10.0.0.1"]
)
def test_own_hosts_are_not(here: Here, host: str) -> None:
    assert here.ask("GET", "/api/runs", headers={"Host": host}).status == 200


def test_pages_of_other_addresses_may_not_ask(here: Here, guarded: Here) -> None:
    for origin in ("https://evil.example", "null", "http://localhost:1"):
        problem_of(here.ask("GET", "/api/runs", headers={"Origin": origin}), 403)
    own = here.ask("GET", "/api/runs", headers={"Origin": f"http://127.0.0.1:{here.port}"})
    assert own.status == 200
    assert "access-control-allow-origin" not in own.headers
    asked = {"Origin": "https://example.org", "Authorization": f"Bearer {TOKEN}"}
    allowed = guarded.ask("GET", "/api/runs", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    wanted = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    before = guarded.ask("OPTIONS", "/api/predict", headers=wanted)
    assert before.status == 200
    assert "POST" in before.headers["access-control-allow-methods"]


def test_the_token(guarded: Here) -> None:
    for wrong in ("", "Bearer", "Bearer a long secre", "Bearer é", f"Basic {TOKEN}"):
        headers = {"Authorization": wrong.encode().decode("latin-1")}
        answer = guarded.ask("GET", "/api/runs", headers=headers)
        assert problem_of(answer, 401)["title"] == "Unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/", "/openapi.json", "/metrics", "/page/x", "/api/runs"):
        problem_of(guarded.ask("GET", path), 401)
    assert guarded.ask("GET", "/health").status == 200
    right = {"Authorization": f"bearer {TOKEN}"}
    assert guarded.ask("GET", "/api/runs", headers=right).status == 200
    named = right | {"Host": "graph.example.org"}
    assert guarded.ask("GET", "/api/runs", headers=named).status == 200


def test_a_browser_gets_a_cookie_for_the_token(guarded: Here) -> None:
    problem_of(guarded.ask("GET", "/?token=wrong"), 401)
    answer = guarded.ask("GET", "/?view=ask&token=a%20long%20secret&s=a%26b")
    assert answer.status == 303
    assert answer.headers["location"] == "/?view=ask&s=a%26b"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    kept = {"Cookie": cookie.partition(";")[0]}
    assert guarded.ask("GET", "/api/runs", headers=kept).status == 200
    problem_of(guarded.ask("GET", "/api/runs", headers={"Cookie": "targcn=x; ="}), 401)


def test_large_bodies_are_refused(here: Here) -> None:
    large = b" " * 1_000_001
    problem_of(here.ask("POST", "/api/predict", large), 413)
    connection = here.connect()
    parts = iter([b" " * 100_000] * 11)
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    connection.request("POST", "/api/predict", parts, headers, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["detail"].startswith("a request may have 1,000,000 bytes")
    connection.close()


@pytest.mark.parametrize("path", ["/", "/api/runs", "/nothing", "/metrics", "/page/app.js"])
def test_every_answer_is_safe(here: Here, path: str) -> None:
    headers = here.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
