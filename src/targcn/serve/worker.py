"""The thread of a run: it does all work of its model, and answers like requests as one batch."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

from targcn.serve.problems import ProblemError

# A request waits so long for others to join it; then whatever has come is answered.
SECONDS_TO_COLLECT: Final = 0.003
# Questions answered at once, and those that may wait in all.
MOST_AT_ONCE: Final = 256
MOST_WAITING: Final = 5_000
# How long a request waits for its answer.
SECONDS_TO_ANSWER: Final = 30.0


@dataclass(eq=False)
class Task:
    """Something to do; tasks of the same kind are done together."""

    kind: Hashable
    content: Any
    size: int
    result: "Future[Any]" = field(default_factory=Future)
    came: float = field(default_factory=time.monotonic)


# Does tasks of one kind, given their contents: a result for each, or the error of each.
Do = Callable[[Hashable, Sequence[Any]], Sequence[Any]]


class Worker:
    """One thread, and a queue of bounded length before it."""

    def __init__(
        self,
        name: str,
        do: Do,
        most_waiting: int = MOST_WAITING,
        most_at_once: int = MOST_AT_ONCE,
        seconds_to_collect: float = SECONDS_TO_COLLECT,
        seconds_to_answer: float = SECONDS_TO_ANSWER,
    ) -> None:
        self.do = do
        self.most_waiting, self.most_at_once = most_waiting, most_at_once
        self.seconds_to_collect = seconds_to_collect
        self.seconds_to_answer = seconds_to_answer
        # What was done so far, for those who watch.
        self.num_batches = self.num_refused = 0
        self._tasks: deque[Task] = deque()
        self._size = 0
        self._stopping = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=f"run {name}", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """How much waits, or is being done."""
        return self._size

    async def run(self, kind: Hashable, content: Any, size: int = 1) -> Any:
        """Have something done; refused if too much waits already, given up if it takes too long."""
        task = self.submit(kind, content, size)
        try:
            async with asyncio.timeout(self.seconds_to_answer):
                return await asyncio.wrap_future(task.result)
        except TimeoutError:
            raise ProblemError(
                504,
                f"there was no answer within {self.seconds_to_answer:.0f} seconds; ask for less",
            ) from None

    def submit(self, kind: Hashable, content: Any, size: int = 1) -> Task:
        task = Task(kind, content, size)
        with self._changed:
            if self._stopping:
                raise ProblemError(503, "the server is being stopped")
            if self._size and self._size + size > self.most_waiting:
                self.num_refused += 1
                raise ProblemError(
                    503, "too many questions are waiting already; ask again in a moment"
                )
            self._tasks.append(task)
            self._size += size
            self._changed.notify()
        return task

    def stop(self) -> None:
        """Finish what waits, then end."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next_batch():
            # A request that was given up is not answered.
            wanted = [task for task in batch if task.result.set_running_or_notify_cancel()]
            results = self._try(batch[0].kind, [task.content for task in wanted])
            with self._changed:
                self._size -= sum(task.size for task in batch)
                self.num_batches += 1
            for task, result in zip(wanted, results, strict=True):
                if isinstance(result, Exception):
                    task.result.set_exception(result)
                else:
                    task.result.set_result(result)

    def _try(self, kind: Hashable, contents: Sequence[Any]) -> Sequence[Any]:
        """The result of each task, or its error; what fails together is done one by one."""
        try:
            return self.do(kind, contents)
        except Exception as error:
            if len(contents) == 1:
                return [error]
            return [result for content in contents for result in self._try(kind, [content])]

    def _next_batch(self) -> list[Task]:
        """The next tasks that can be done together; none once the worker is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._tasks or self._stopping)
            if not self._tasks:
                return []
            due = self._tasks[0].came + self.seconds_to_collect
            self._changed.wait_for(
                lambda: self._stopping or self._size >= self.most_at_once,
                max(due - time.monotonic(), 0),
            )
            batch = [self._tasks.popleft()]
            size, kind = batch[0].size, batch[0].kind
            others: list[Task] = []
            while self._tasks and size < self.most_at_once:
                task = self._tasks.popleft()
                if task.kind == kind and kind is not None:
                    batch.append(task)
                    size += task.size
                else:
                    others.append(task)
            self._tasks.extendleft(reversed(others))
        return batch
