"""The thread of a run: it does all work of its model, and answers like requests as one batch."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client import Counter, Gauge

from targcn.serve.problems import ProblemError

QUESTIONS: Final = Counter(
    "targcn_questions", "Questions answered; explanations and what-ifs count as one.", ("run",)
)
BATCHES: Final = Counter("targcn_batches", "Batches in which they were answered.", ("run",))
REFUSED: Final = Counter(
    "targcn_refused", "Requests refused because too many questions waited.", ("run",)
)
WAITING: Final = Gauge(
    "targcn_questions_waiting", "Questions that wait or are being answered.", ("run",)
)
# A request waits so long for others to join it; then whatever has come is answered.
SECONDS_TO_COLLECT: Final = 0.003
# Questions answered at once, and those that may wait in all.
MOST_AT_ONCE: Final = 256
MOST_WAITING: Final = 5_000
# How long a request waits for its answer.
SECONDS_TO_ANSWER: Final = 30.0
# The kind of tasks that are done one by one.
ALONE: Final = None


@dataclass(frozen=True, eq=False)
class Task:
    """Something to do for a number of questions; tasks of the same kind are done together."""

    kind: Hashable
    content: Any
    size: int
    result: "asyncio.Future[Any]"


# Does tasks of one kind, given their contents: a result for each.
Do = Callable[[Hashable, Sequence[Any]], Sequence[Any]]


class Worker:
    """One thread, and a queue of bounded length before it, which the event loop keeps."""

    def __init__(
        self,
        name: str,
        do: Do,
        most_waiting: int = MOST_WAITING,
        seconds_to_answer: float = SECONDS_TO_ANSWER,
    ) -> None:
        self.name, self.do = name, do
        self.most_waiting, self.seconds_to_answer = most_waiting, seconds_to_answer
        self._tasks: deque[Task] = deque()
        self._size = 0
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"run {name}")

    async def run(self, kind: Hashable, content: Any, size: int = 1) -> Any:
        """Have something done; refused if too much waits already, given up if it takes too long."""
        if self._size and self._size + size > self.most_waiting:
            REFUSED.labels(self.name).inc()
            raise ProblemError(503, "too many questions are waiting already; ask again in a moment")
        task = Task(kind, content, size, asyncio.get_running_loop().create_future())
        self._tasks.append(task)
        self._count(size)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(self.seconds_to_answer):
                return await task.result
        except TimeoutError:
            raise ProblemError(
                504,
                f"there was no answer within {self.seconds_to_answer:.0f} seconds; ask for less",
            ) from None

    def stop(self) -> None:
        """End, after what is being done."""
        self._thread.shutdown()

    async def _work(self) -> None:
        await asyncio.sleep(SECONDS_TO_COLLECT)
        while self._tasks:
            batch = self._next_batch()
            # A request that was given up is not answered.
            wanted = [task for task in batch if not task.result.done()]
            contents = [task.content for task in wanted]
            loop = asyncio.get_running_loop()
            results = await loop.run_in_executor(self._thread, self._try, batch[0].kind, contents)
            self._count(-sum(task.size for task in batch))
            BATCHES.labels(self.name).inc()
            QUESTIONS.labels(self.name).inc(sum(task.size for task in wanted))
            for task, result in zip(wanted, results, strict=True):
                if task.result.done():
                    continue
                if isinstance(result, Exception):
                    task.result.set_exception(result)
                else:
                    task.result.set_result(result)

    def _count(self, size: int) -> None:
        self._size += size
        WAITING.labels(self.name).set(self._size)

    def _try(self, kind: Hashable, contents: Sequence[Any]) -> Sequence[Any]:
        """The result of each task, or its error; what fails together is done one by one."""
        try:
            return self.do(kind, contents) if contents else []
        except Exception as error:
            if len(contents) == 1:
                return [error]
            return [result for content in contents for result in self._try(kind, [content])]

    def _next_batch(self) -> list[Task]:
        """The next tasks that can be done together."""
        kind, batch, size = self._tasks[0].kind, list[Task](), 0
        for task in list(self._tasks):
            if task.kind == kind and size < MOST_AT_ONCE and not (batch and kind is ALONE):
                batch.append(task)
                size += task.size
                self._tasks.remove(task)
        return batch
