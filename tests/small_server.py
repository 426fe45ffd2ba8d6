"""A server in a thread of this process, on small runs, and what asks it."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any

from oracle import World
from small_runs import FACTS
from targcn.facts.vocabulary import Vocabulary
from targcn.runs.run import Run
from targcn.serve.aside import Aside
from targcn.serve.guard import Access
from targcn.serve.served_run import ServedRun
from targcn.serve.server import Server, open_socket
from targcn.training.fit import fit
from targcn.truth.truth import fit_judge

# Seconds that an answer may take; the machine may be busy with something else.
PATIENCE = 3_600.0
# Whatever people call their entities.
NAMES = [
    "Ångström",
    "<script>alert(1)</script>",
    "a/b?c#d%20",
    "\x1b[31mred\x1b[0m",
    "שלום ‮abc",
    'O\'Neill "Bo"',
    "..",
    "Zoë Ångström",
    "plain",
]


def small_runs() -> dict[str, Run]:
    world = World(9, 2, FACTS, cuts=(100, 130)).dataset
    dataset = replace(world, entities=Vocabulary("entity", sorted(NAMES)))
    # A server learns what is true before it starts; once will do.
    judge = fit_judge(dataset, "all")
    small = {"epochs": 1, "dim": 4, "prior_dim": 4, "facts": 8, "device": "cpu"}
    runs = {
        "evidence": fit(dataset, "evidence", **small),
        "copy": fit(dataset, "decayed-copy", scale=2),
    }
    return {name: replace(run, judge=judge) for name, run in runs.items()}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Here:
    """A server that runs."""

    port: int
    server: Server

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request of its own connection; a body that is not bytes becomes JSON."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        with closing(self.connect()) as connection:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())


@contextmanager
def serving(runs: Mapping[str, Run], **access: Any) -> Iterator[Here]:
    """Serve runs on a free port, then stop."""
    served = {name: ServedRun(name, run, device="cpu") for name, run in runs.items()}
    for run in served.values():
        run.worker.seconds_to_answer = PATIENCE
    with open_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        server = Server(served, Access(**access), Aside(PATIENCE))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield Here(port, server)
        finally:
            server.should_exit = True
            thread.join()


def problem_of(answer: Answer, status: int) -> dict[str, Any]:
    """The problem details that an answer must have."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    content: dict[str, Any] = answer.json
    assert content["status"] == status
    assert content.keys() == {"type", "title", "status", "detail", "suggestions", "field"}
    return content
