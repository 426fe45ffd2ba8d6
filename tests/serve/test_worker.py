"""The thread of a run: batches, limits, and a clean end."""

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import pytest

from targcn.serve.problems import ProblemError
from targcn.serve.worker import Worker


class Doubler:
    """Doubles numbers when it is let, and remembers its batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[Hashable, list[Any]]] = []
        self.begun, self.may = threading.Event(), threading.Event()

    def __call__(self, kind: Hashable, contents: Sequence[Any]) -> list[Any]:
        self.begun.set()
        self.may.wait()
        self.batches.append((kind, list(contents)))
        return [2 * number for number in contents]


@pytest.fixture
def doubler() -> Doubler:
    return Doubler()


@pytest.fixture
def make_worker(doubler: Doubler) -> Iterator[Callable[..., Worker]]:
    """What makes workers that double; they are stopped in the end."""
    made: list[Worker] = []

    def make(**limits: float) -> Worker:
        made.append(Worker("test", doubler, **limits))  # type: ignore[arg-type]
        return made[-1]

    yield make
    doubler.may.set()
    for worker in made:
        worker.stop()


def test_what_waits_is_done_as_one_batch(
    make_worker: Callable[..., Worker], doubler: Doubler
) -> None:
    worker = make_worker()
    first = worker.submit("a", 1)
    doubler.begun.wait()
    tasks = [worker.submit(kind, number) for number, kind in enumerate("abab", 2)]
    alone = [worker.submit(None, number) for number in (10, 11)]
    doubler.may.set()
    assert first.result.result() == 2
    assert [task.result.result() for task in tasks + alone] == [4, 6, 8, 10, 20, 22]
    assert doubler.batches == [
        ("a", [1]),
        ("a", [2, 4]),
        ("b", [3, 5]),
        (None, [10]),
        (None, [11]),
    ]
    assert (worker.num_batches, worker.num_waiting) == (5, 0)


def test_requests_of_the_same_moment_join(
    make_worker: Callable[..., Worker], doubler: Doubler
) -> None:
    worker = make_worker(most_at_once=8, seconds_to_collect=3_600)
    doubler.may.set()

    async def ask() -> list[int]:
        return await asyncio.gather(*(worker.run("a", number) for number in range(8)))

    assert asyncio.run(ask()) == [2 * number for number in range(8)]
    assert doubler.batches == [("a", list(range(8)))]


def test_too_much_is_refused(make_worker: Callable[..., Worker]) -> None:
    worker = make_worker(most_waiting=10)
    worker.submit("a", 1, size=9)
    with pytest.raises(ProblemError) as refused:
        worker.submit("a", 1, size=2)
    assert refused.value.status == 503
    assert refused.value.headers == {"Retry-After": "1"}
    worker.submit("a", 1, size=1)
    assert worker.num_refused == 1


def test_what_takes_too_long_is_given_up(
    make_worker: Callable[..., Worker], doubler: Doubler
) -> None:
    worker = make_worker(seconds_to_answer=0)
    worker.submit("b", 0)
    doubler.begun.wait()
    with pytest.raises(ProblemError, match="no answer within") as late:
        asyncio.run(worker.run("a", 1))
    assert late.value.status == 504
    doubler.may.set()
    assert worker.submit("a", 2).result.result() == 4
    # What nobody waits for any more is not done.
    assert [content for _, contents in doubler.batches for content in contents] == [0, 2]


def test_one_failure_leaves_the_others() -> None:
    def divide(kind: Hashable, contents: Sequence[int]) -> list[float]:
        return [1 / number for number in contents]

    worker = Worker("test", divide, most_at_once=3, seconds_to_collect=3_600)
    tasks = [worker.submit("a", number) for number in (1, 0, 2)]
    assert tasks[0].result.result() == 1
    assert tasks[2].result.result() == 0.5
    with pytest.raises(ZeroDivisionError):
        tasks[1].result.result()
    worker.stop()


def test_stopping_finishes_what_waits(doubler: Doubler) -> None:
    worker = Worker("test", doubler)
    tasks = [worker.submit(None, number) for number in range(3)]
    doubler.may.set()
    worker.stop()
    assert [task.result.result() for task in tasks] == [0, 2, 4]
    with pytest.raises(ProblemError, match="being stopped"):
        worker.submit(None, 1)
