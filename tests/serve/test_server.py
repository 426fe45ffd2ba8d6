"""Crowds, slow clients, and a clean end."""

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from typing import Any

import pytest

from small_server import Here, serving
from targcn.errors import InputError
from targcn.runs.run import Run
from targcn.serve import guard, server
from targcn.serve import worker as worker_module
from targcn.serve.server import address_of, open_socket

HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def question(number: int) -> dict[str, Any]:
    words = {"subject": ["plain", "..", "Ångström"][number % 3], "relation": f"r{number % 2}"}
    body = words | {"object": None, "time": f"1970-01-{number % 30 + 1:02}"}
    return {"run": "evidence", "questions": [body]}


def hold(here: Here) -> threading.Event:
    """Let no question be answered before this event."""
    worker, may = here.service.runs["copy"].worker, threading.Event()
    do = worker.do

    def wait_and_do(*what: Any) -> Any:
        assert may.wait(60)
        return do(*what)

    worker.do = wait_and_do
    return may


async def send(port: int, body: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = json.dumps(body).encode()
    writer.write(HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content)
    head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), answer, headers


def test_64_connections_get_what_one_gets(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "SECONDS_TO_COLLECT", 0.2)
    run = here.service.runs["evidence"]
    every = {"run": "evidence", "questions": [question(n)["questions"][0] for n in range(64)]}
    alone = here.ask("POST", "/api/predict", every).json["answers"]
    before = run.num_questions, run.worker.num_batches

    async def ask_all() -> list[tuple[int, bytes, dict[str, str]]]:
        return await asyncio.gather(*(send(here.port, question(number)) for number in range(64)))

    for (status, answer, _), expected in zip(asyncio.run(ask_all()), alone, strict=True):
        assert status == 200
        for found, wanted in zip(
            json.loads(answer)["answers"][0]["rows"], expected["rows"], strict=True
        ):
            assert found["answer"] == wanted["answer"]
            assert found["score"] == pytest.approx(wanted["score"], abs=1e-5)
    assert run.num_questions - before[0] == 64
    assert run.worker.num_batches - before[1] < 32


def test_a_crowd_is_refused_and_the_server_goes_on(runs: dict[str, Run]) -> None:
    with serving({"copy": runs["copy"]}) as here:
        may = hold(here)
        body = question(1) | {"run": "copy"}

        async def ask_all() -> list[tuple[int, bytes, dict[str, str]]]:
            answers = []
            for answer in asyncio.as_completed([send(here.port, body) for _ in range(1000)]):
                answers.append(await answer)
                if len(answers) == 1000 - guard.MOST_REQUESTS:
                    may.set()
            return answers

        answers = asyncio.run(ask_all())
        counts = Counter(status for status, _, _ in answers)
        assert counts == {200: guard.MOST_REQUESTS, 503: 1000 - guard.MOST_REQUESTS}
        for status, answer, headers in answers:
            if status == 503:
                assert headers["retry-after"] == "1"
                assert json.loads(answer)["title"] == "Service Unavailable"
        begin = time.monotonic()
        assert here.ask("POST", "/api/predict", body).status == 200
        assert time.monotonic() - begin < 5


def test_slow_heads_are_cut_off(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS_FOR_HEAD", 0.5)
    with (
        closing(socket.create_connection(("127.0.0.1", here.port), 10)) as slow,
        closing(socket.create_connection(("127.0.0.1", here.port), 10)) as silent,
    ):
        begin = time.monotonic()
        with suppress(OSError):
            for byte in HEAD * 10:
                slow.sendall(bytes([byte]))
                time.sleep(0.02)
                assert here.ask("GET", "/v2/health/live").status == 200
            pytest.fail("a slow client was let to the end")
        assert time.monotonic() - begin < 5
        assert silent.recv(10) == b""


def test_slow_bodies_are_cut_off(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SECONDS_FOR_BODY", 0.5)
    with closing(socket.create_connection(("127.0.0.1", here.port), 10)) as slow:
        slow.sendall(HEAD + b"Content-Length: 100\r\n\r\n")
        for _ in range(4):
            slow.sendall(b"{")
            time.sleep(0.1)
            assert here.ask("GET", "/v2/health/live").status == 200
        answer = slow.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"the body did not arrive" in answer


def test_clients_that_do_not_read_are_cut_off(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_READ", 0.3)
    with closing(socket.socket()) as deaf:
        # Little is kept on the way.
        here.server.servers[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", here.port))
        deaf.settimeout(20)
        with suppress(ConnectionError):
            # The server stops to read when nobody reads what it writes, then ends the connection.
            while True:
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
    assert here.ask("GET", "/v2/health/live").status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000, 431),
        (b"hello\r\n\r\n", 400),
        (b"GET /" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ],
)
def test_what_is_no_request(here: Here, sent: bytes, status: int) -> None:
    with closing(socket.create_connection(("127.0.0.1", here.port), 10)) as connection:
        connection.sendall(sent)
        answer = connection.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["status"] == status


def test_stopping_finishes_what_is_running(runs: dict[str, Run]) -> None:
    answers: list[int] = []
    with serving({"copy": runs["copy"]}) as here:
        may = hold(here)
        body = question(1) | {"run": "copy"}
        asking = threading.Thread(
            target=lambda: answers.append(here.ask("POST", "/api/predict", body).status)
        )
        asking.start()
        while not here.service.runs["copy"].worker.num_waiting:
            time.sleep(0.01)
        threading.Timer(0.3, may.set).start()
    asking.join()
    assert answers == [200]
    with pytest.raises(ConnectionRefusedError):
        here.ask("GET", "/v2/health/live")


def test_small_answers_are_sent_at_once(here: Here) -> None:
    """Or else each waits until the one before is acknowledged."""
    with closing(here.connect()) as connection:
        connection.request("GET", "/v2/health/live")
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
