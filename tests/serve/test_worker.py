"""The thread of a run: batches, limits, and a clean end."""

import asyncio
import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pytest

from targcn.serve import worker as module
from targcn.serve.problems import ProblemError
from targcn.serve.worker import Worker


class Doubler:
    """Doubles numbers when it is let, and remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[Hashable, list[Any]]] = []
        self.may = threading.Event()

    def __call__(self, kind: Hashable, contents: Sequence[Any]) -> list[Any]:
        assert self.may.wait(10)
        self.batches.append((kind, list(contents)))
        return [2 * number for number in contents]


@pytest.fixture
def doubler() -> Doubler:
    return Doubler()


@pytest.fixture
def worker(doubler: Doubler) -> Iterator[Worker]:
    made = Worker("test", doubler, most_waiting=10)
    yield made
    doubler.may.set()
    made.stop()


def test_what_waits_is_done_as_one_batch(worker: Worker, doubler: Doubler) -> None:
    first = worker.submit("a", 1)
    time.sleep(0.1)  # it is being done now
    tasks = [worker.submit(kind, number) for number, kind in enumerate("abab", 2)]
    alone = [worker.submit(None, number) for number in (10, 11)]
    doubler.may.set()
    assert first.result.result(10) == 2
    assert [task.result.result(10) for task in tasks + alone] == [4, 6, 8, 10, 20, 22]
    assert doubler.batches == [
        ("a", [1]),
        ("a", [2, 4]),
        ("b", [3, 5]),
        (None, [10]),
        (None, [11]),
    ]
    assert (worker.num_batches, worker.num_waiting) == (5, 0)


def test_requests_of_the_same_moment_join(
    worker: Worker, doubler: Doubler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_COLLECT", 10)
    monkeypatch.setattr(module, "MOST_AT_ONCE", 8)
    doubler.may.set()

    async def ask() -> list[int]:
        return await asyncio.gather(*(worker.run("a", number) for number in range(8)))

    assert asyncio.run(ask()) == [2 * number for number in range(8)]
    assert doubler.batches == [("a", list(range(8)))]


def test_too_much_is_refused(worker: Worker, doubler: Doubler) -> None:
    worker.submit("a", 1, size=9)
    with pytest.raises(ProblemError) as refused:
        worker.submit("a", 1, size=2)
    assert refused.value.status == 503
    assert refused.value.headers == {"Retry-After": "1"}
    worker.submit("a", 1, size=1)
    assert worker.num_refused == 1


def test_what_takes_too_long_is_given_up(
    worker: Worker, doubler: Doubler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_ANSWER", 0.2)
    worker.submit("b", 0)
    with pytest.raises(ProblemError, match="no answer within") as late:
        asyncio.run(worker.run("a", 1))
    assert late.value.status == 504
    doubler.may.set()
    assert worker.submit("a", 2).result.result(10) == 4
    # What nobody waits for any more is not done.
    assert [content for _, contents in doubler.batches for content in contents] == [0, 2]


def test_one_failure_leaves_the_others(doubler: Doubler) -> None:
    def divide(kind: Hashable, contents: Sequence[int]) -> list[float]:
        assert doubler.may.wait(10)
        return [1 / number for number in contents]

    worker = Worker("test", divide)
    tasks = [worker.submit("a", number) for number in (1, 0, 2)]
    doubler.may.set()
    assert tasks[0].result.result(10) == 1
    assert tasks[2].result.result(10) == 0.5
    with pytest.raises(ZeroDivisionError):
        tasks[1].result.result(10)
    worker.stop()


def test_stopping_finishes_what_waits(doubler: Doubler) -> None:
    worker = Worker("test", doubler)
    tasks = [worker.submit(None, number) for number in range(3)]
    threading.Timer(0.1, doubler.may.set).start()
    worker.stop()
    assert [task.result.result(0) for task in tasks] == [0, 2, 4]
    with pytest.raises(ProblemError, match="being stopped"):
        worker.submit(None, 1)
