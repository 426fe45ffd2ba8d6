"""Many connections, a clean end, and sockets."""

import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from small_server import Here, problem_of, serving
from targcn.errors import InputError
from targcn.runs.run import Run
from targcn.serve.server import address_of, open_socket


def question(number: int) -> dict[str, Any]:
    words = {"subject": ["plain", "..", "Ångström"][number % 3], "relation": f"r{number % 2}"}
    return words | {"object": None, "time": f"1970-01-{number % 30 + 1:02}"}


def test_many_connections_get_what_one_gets(here: Here) -> None:
    bodies = [{"run": "evidence", "questions": [question(number)]} for number in range(32)]
    together = {"run": "evidence", "questions": [question(number) for number in range(32)]}
    alone = here.ask("POST", "/api/predict", together).json["answers"]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda body: here.ask("POST", "/api/predict", body), bodies))
    for answer, expected in zip(answers, alone, strict=True):
        assert answer.status == 200
        for found, wanted in zip(answer.json["answers"][0]["rows"], expected["rows"], strict=True):
            assert found["answer"] == wanted["answer"]
            assert found["score"] == pytest.approx(wanted["score"], abs=1e-5)


def test_stopping_finishes_what_is_running(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopping = threading.Event(), threading.Event()
    answers: list[int] = []
    with serving({"copy": runs["copy"]}) as here:
        worker, work = here.server.runs["copy"].worker, here.server.work
        do, cancel = worker.do, work.cancel

        def wait_and_do(*what: Any) -> Any:
            begun.set()
            stopping.wait()
            return do(*what)

        def stop() -> None:
            stopping.set()
            cancel()

        monkeypatch.setattr(worker, "do", wait_and_do)
        monkeypatch.setattr(work, "cancel", stop)
        body = {"run": "copy", "questions": [question(1)]}
        asking = threading.Thread(
            target=lambda: answers.append(here.ask("POST", "/api/predict", body).status)
        )
        asking.start()
        begun.wait()
    asking.join()
    assert answers == [200]
    with pytest.raises(ConnectionRefusedError):
        here.ask("GET", "/health")


def test_small_answers_are_sent_at_once(here: Here) -> None:
    """Or else each waits until the one before is acknowledged."""
    with closing(here.connect()) as connection:
        connection.request("GET", "/health")
        connection.getresponse().read()
        for served in here.server.server_state.connections:
            accepted = served.transport.get_extra_info("socket")  # type: ignore[union-attr]
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_sockets() -> None:
    with open_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert address_of(listening, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        assert address_of(listening, "0.0.0.0") == f"http://localhost:{port}/"
        assert address_of(listening, "::1") == f"http://[::1]:{port}/"
        with pytest.raises(InputError, match="Address already in use; choose another"):
            open_socket("127.0.0.1", port)
    with pytest.raises(InputError, match="65,535"):
        open_socket("127.0.0.1", 70_000)
    with pytest.raises(InputError, match="cannot listen"):
        open_socket("no.such.host.invalid", 0)


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


def test_what_is_counted(here: Here) -> None:
    here.ask("GET", "/nothing/at/all")
    body = {"run": "copy", "questions": [{"subject": "plain", "relation": "r0", "time": "1970"}]}
    here.ask("POST", "/api/predict", body)
    answer = here.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }
    # Addresses that clients think up do not become labels.
    assert values["targcn_requests_total", "other", "404"] >= 1
    assert values["targcn_requests_total", "/api/predict", "200"] >= 1
    assert values["targcn_questions_total", "copy"] >= 1
    assert values["targcn_questions_waiting", "copy"] >= 0
    assert values["targcn_request_seconds_count",] >= 2
    assert values["targcn_requests_in_flight",] >= 1
