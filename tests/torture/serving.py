"""A server that is killed while it answers: it leaves its run as it was, and its port free."""

import json
import os
import random
import shutil
import signal
import socket
import time
from pathlib import Path
from typing import Any

from torture.material import QUESTION
from torture.processes import MOST_SECONDS, start

ASKED = {"subject": QUESTION[0], "relation": QUESTION[1], "time": QUESTION[3]}
BODY = {"run": "run", "questions": [ASKED] * 20, "why": True}


def serve_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Kill a server that answers and searches, then serve again and stop as it should."""
    folder = scratch / "run"
    shutil.copytree(base / "evidence", folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", str(folder), f"--port={port}", "--device=cpu"]
    for is_killed in (True, False):
        child, pipe = start(words)
        asked = [
            _send(port, "GET /api/runs", None),
            _send(port, "POST /api/missing", {"run": "run", "top": 50}),
            _send(port, "GET /api/report/run", None),
            *(_send(port, "POST /api/predict", BODY) for _ in range(rng.randrange(4))),
        ]
        if is_killed:
            time.sleep(rng.uniform(0, 0.3))
            os.kill(child, signal.SIGKILL)
        else:
            answers = [_status(one) for one in asked]
            os.kill(child, signal.SIGINT)
            if answers[:3] != [200, 202, 200] or set(answers[3:]) - {200}:
                return f"loss: serve: {answers}"
        code = _end(child)
        for one in asked:
            one.close()
        with open(pipe, "rb") as stream:
            said = stream.read().decode(errors="replace")
        if code != (-signal.SIGKILL if is_killed else 0):
            return f"crash: serve: {code}: {said[-300:]}"
    if sorted(scratch.iterdir()) != [folder] or _contents(folder) != _contents(base / "evidence"):
        return "loss: serve: it has written something"
    return "worked: 1"


def _send(port: int, what: str, body: Any) -> socket.socket:
    """A connection over which something was asked; its answer is not waited for."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{what} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    ends = time.monotonic() + MOST_SECONDS
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=MOST_SECONDS)
            connection.sendall(head.encode() + content)
            return connection
        except ConnectionError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.02)


def _status(connection: socket.socket) -> int:
    answer = b""
    while block := connection.recv(1 << 16):
        answer += block
    return int(answer.split()[1])


def _end(child: int) -> int:
    """The exit code of a process, which must end soon."""
    ends = time.monotonic() + MOST_SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def _contents(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}
