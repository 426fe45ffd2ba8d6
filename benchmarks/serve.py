"""How many questions a server answers: one by one over many connections, in batches, in a crowd.

The server is a process of its own. What asks it shares the machine's cores. The model has its
initial weights, which changes no time.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from benchmarks.untrained import describe_run, make_untrained
from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.runs.store import save_run

BATCH: Final = 100
CONNECTIONS_OF_BATCHES: Final = 4
NAME: Final = "run"


def measure_serve(
    source: Dataset | Shape,
    *,
    model: str = "evidence",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    questions: int = 10_000,
    connections: int = 64,
    crowd: int = 1_000,
) -> measure.Result:
    """Questions per second, milliseconds per answer, errors, and what the server takes for them."""
    require_at_least(1, questions=questions, connections=connections, crowd=crowd)
    dataset, data = open_source(source)
    if not len(dataset.test):
        raise InputError(f"{dataset.name} has no facts in its test split to ask about")
    run = make_untrained(dataset, model, recipe, settings)
    bodies = [_body(dataset, number, 1) for number in range(questions)]
    batches = [_body(dataset, number, BATCH) for number in range(max(questions // BATCH, 1))]
    with tempfile.TemporaryDirectory() as folder:
        save_run(run, Path(folder) / NAME)
        with _serving(Path(folder) / NAME) as port:
            # Memory that the first answers take is not growth.
            asyncio.run(_ask(port, bodies[: 4 * connections], connections))
            asyncio.run(_ask(port, batches[:CONNECTIONS_OF_BATCHES], CONNECTIONS_OF_BATCHES))
            rows = [
                {
                    "what": f"single questions over {connections} connections",
                    **_load(port, bodies, connections, 1),
                },
                {
                    "what": f"batches of {BATCH} over {CONNECTIONS_OF_BATCHES} connections",
                    **_load(port, batches, CONNECTIONS_OF_BATCHES, BATCH),
                },
                {"what": f"{crowd:,} connections at once", **_crowd(port, bodies[0], crowd)},
            ]
    arguments = describe_run(run) | {"questions": questions}
    notes = (
        "what asks shares the cores with the server",
        "the run has its initial weights, which changes the answers but not the time they take",
    )
    return measure.Result("serve", arguments, data, torch.device("cpu"), rows, notes=notes)


def _body(dataset: Dataset, number: int, size: int) -> bytes:
    """A request with questions of the test split, for subjects and objects in turns."""
    questions = []
    for index in range(number * size, (number + 1) * size):
        position = index * 7919 % len(dataset.test)
        subject, relation, object_, _ = dataset.named("test", position)
        day = dataset.timeline.label(dataset.test.times[position])
        asked = {"object": object_} if index % 2 else {"subject": subject}
        questions.append({"relation": relation, "time": day} | asked)
    return json.dumps({"run": NAME, "questions": questions}).encode()


@contextmanager
def _serving(folder: Path) -> Iterator[int]:
    """The port of a server, which is a process of its own and stops in the end."""
    command = [sys.executable, "-m", "targcn", "serve", str(folder), "--port", "0"]
    # The process is to find this very package.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*command, "--device", "cpu"], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline()
        if not address:
            raise InputError(
                "the server did not start; where nothing is said above, start it alone"
            )
        try:
            yield int(address.split("/ ")[0].rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _load(port: int, bodies: Sequence[bytes], connections: int, size: int) -> measure.Row:
    """Ask over some connections, each of which asks again when it has its answer."""
    before = asyncio.run(_figures(port))
    begin = time.perf_counter()
    answers = asyncio.run(_ask(port, bodies, connections))
    seconds = time.perf_counter() - begin
    after = asyncio.run(_figures(port))
    times = sorted(taken for _, taken in answers)
    num_questions = len(bodies) * size
    used = after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]
    row: measure.Row = {
        "questions_per_second": num_questions / seconds,
        "p50_milliseconds": times[len(times) // 2] * 1e3,
        "p99_milliseconds": times[int(len(times) * 0.99)] * 1e3,
        "errors": sum(status != 200 for status, _ in answers),
        "server_milliseconds_per_question": used / num_questions * 1e3,
    }
    memory = "process_resident_memory_bytes"
    if memory in after:
        row["memory_growth_mb"] = (after[memory] - before[memory]) / 1e6
    return row


def _crowd(port: int, body: bytes, crowd: int) -> measure.Row:
    """Ask over many connections at once, then see how soon a question is answered again."""

    async def ask_alone() -> int:
        return (await _ask(port, [body], 1))[0][0]

    async def ask_all() -> list[int | BaseException]:
        return await asyncio.gather(*(ask_alone() for _ in range(crowd)), return_exceptions=True)

    counts = Counter(asyncio.run(ask_all()))
    begin = time.perf_counter()
    while asyncio.run(ask_alone()) != 200:
        time.sleep(0.05)
    return {
        "answered": counts[200],
        "refused": counts[503],
        "errors": crowd - counts[200] - counts[503],
        "seconds_until_answers": time.perf_counter() - begin,
    }


async def _ask(port: int, bodies: Sequence[bytes], connections: int) -> list[tuple[int, float]]:
    """The status of every answer, and the seconds it took."""
    waiting, answers = iter(bodies), []

    async def ask_in_turn() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in waiting:
            begin = time.perf_counter()
            writer.write(
                b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                b"\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )
            status, _, keeps = await _read(reader)
            answers.append((status, time.perf_counter() - begin))
            if not keeps:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    await asyncio.gather(*(ask_in_turn() for _ in range(min(connections, len(bodies)))))
    return answers


async def _read(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    """The status and the body of an answer, and whether the connection stays."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    headers = dict(line.split(b": ", 1) for line in lines if line)
    body = await reader.readexactly(int(headers[b"content-length"]))
    return int(first.split()[1]), body, headers.get(b"connection") != b"close"


async def _figures(port: int) -> dict[str, float]:
    """What the server says about itself, as far as it has no labels."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _, body, _ = await _read(reader)
    writer.close()
    lines = [line.split() for line in body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if "{" not in name}
