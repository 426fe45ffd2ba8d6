"""The thread of a run: batches, limits, and a clean end."""

import asyncio
import threading
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pytest

from targcn.serve.problems import ProblemError
from targcn.serve.worker import ALONE, Worker


class Doubler:
    """Doubles numbers when it is let, and remembers its batches; 0 is an error."""

    def __init__(self) -> None:
        self.batches: list[tuple[Hashable, list[Any]]] = []
        self.begun, self.may = threading.Event(), threading.Event()

    def __call__(self, kind: Hashable, contents: Sequence[Any]) -> list[Any]:
        self.begun.set()
        self.may.wait()
        self.batches.append((kind, list(contents)))
        return [2 * number // bool(number) for number in contents]


@pytest.fixture
def doubler() -> Iterator[Doubler]:
    doubler = Doubler()
    yield doubler
    doubler.may.set()


async def ask(worker: Worker, *tasks: tuple[Hashable, int]) -> list[Any]:
    """What comes of tasks that are asked for at the same moment."""
    asked = (worker.run(kind, number) for kind, number in tasks)
    return await asyncio.gather(*asked, return_exceptions=True)


def test_what_waits_is_done_as_one_batch(doubler: Doubler) -> None:
    worker = Worker("test", doubler)
    doubler.may.set()
    tasks = [*zip("ababa", range(1, 6), strict=True), (ALONE, 10), (ALONE, 11)]
    assert asyncio.run(ask(worker, *tasks)) == [2, 4, 6, 8, 10, 20, 22]
    assert doubler.batches == [("a", [1, 3, 5]), ("b", [2, 4]), (ALONE, [10]), (ALONE, [11])]
    # It goes on after it had nothing to do, and finishes before it ends.
    assert asyncio.run(ask(worker, ("a", 7))) == [14]
    worker.stop()


def test_one_failure_leaves_the_others(doubler: Doubler) -> None:
    doubler.may.set()
    first, error, last = asyncio.run(ask(Worker("test", doubler), ("a", 1), ("a", 0), ("a", 2)))
    assert (first, last) == (2, 4)
    assert isinstance(error, ZeroDivisionError)


def test_too_much_is_refused(doubler: Doubler) -> None:
    worker = Worker("test", doubler, most_waiting=10)

    async def check() -> None:
        first = asyncio.create_task(worker.run("a", 1, size=9))
        await asyncio.to_thread(doubler.begun.wait)
        with pytest.raises(ProblemError) as refused:
            await worker.run("a", 1, size=2)
        assert refused.value.problem.status == 503
        assert refused.value.headers == {"Retry-After": "1"}
        second = asyncio.create_task(worker.run("a", 2, size=1))
        doubler.may.set()
        assert await asyncio.gather(first, second) == [2, 4]

    asyncio.run(check())


def test_what_takes_too_long_is_given_up(doubler: Doubler) -> None:
    worker = Worker("test", doubler)

    async def check() -> None:
        first = asyncio.create_task(worker.run("b", 5))
        await asyncio.to_thread(doubler.begun.wait)
        worker.seconds_to_answer = 0
        with pytest.raises(ProblemError, match="no answer within") as late:
            await worker.run("a", 1)
        assert late.value.problem.status == 504
        worker.seconds_to_answer = 3_600
        last = asyncio.create_task(worker.run("a", 2))
        doubler.may.set()
        assert await asyncio.gather(first, last) == [10, 4]

    asyncio.run(check())
    # What nobody waits for any more is not done.
    assert [content for _, contents in doubler.batches for content in contents] == [5, 2]
