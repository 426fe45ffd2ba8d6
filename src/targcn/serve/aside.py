"""What takes longer than an answer: missing facts and reports, each done by a thread."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal, TypeVar, get_args

from targcn.evaluation.ranking import Progress
from targcn.serve.problems import ProblemError
from targcn.serve.worker import SECONDS_TO_ANSWER

Kind = Literal["missing", "report"]
Found = TypeVar("Found")
# Pieces of work of a kind that are done or wait.
MOST_WAITING: Final = 4


class Aside:
    """Work that is done one piece after the other, while questions are answered."""

    def __init__(self, seconds: float = SECONDS_TO_ANSWER) -> None:
        self.seconds = seconds
        self._threads = {kind: ThreadPoolExecutor(1, kind) for kind in get_args(Kind)}
        self._waiting = Counter[Kind]()
        self._stopping = False

    async def run(self, kind: Kind, work: Callable[[Progress], Found]) -> Found:
        """What the work finds, unless it takes too long: it goes on, to be asked for again."""

        def progress(done: int, total: int) -> None:
            if self._stopping:
                raise ProblemError(503, "the server is being stopped")

        def begin() -> Found:
            progress(0, 1)
            return work(progress)

        if self._waiting[kind] >= MOST_WAITING:
            raise ProblemError(503, "too many ask for the like already; ask again in a moment")
        self._waiting[kind] += 1
        future = asyncio.wrap_future(self._threads[kind].submit(begin))
        future.add_done_callback(lambda _: self._waiting.subtract([kind]))
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            raise ProblemError(
                504, "this takes longer; it is being computed, ask again in a moment"
            ) from None

    def cancel(self) -> None:
        """Give up whatever is being done."""
        self._stopping = True

    def stop(self) -> None:
        self.cancel()
        for thread in self._threads.values():
            thread.shutdown()
