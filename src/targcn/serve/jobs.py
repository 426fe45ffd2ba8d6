"""Work that takes minutes: searches for missing facts, which can be watched and cancelled."""

import logging
import secrets
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.serve.problems import ProblemError
from targcn.serve.worker import SECONDS_TO_ANSWER, Worker

# Searches that run or wait, and those whose results are kept.
MOST_WAITING: Final = 4
MOST_KEPT: Final = 32
SECONDS_TO_SEARCH: Final = 600.0


class CancelledError(Exception):
    """Nobody wants the result any more."""


@dataclass(eq=False)
class Job:
    """A search: how far it is, and in the end what it found or what went wrong."""

    work: Callable[[Progress], object]
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    done: tuple[int, int] | None = None
    result: object = None
    problem: ProblemError | None = None
    cancelled: bool = False

    @property
    def is_finished(self) -> bool:
        return self.result is not None or self.problem is not None

    def run(self, seconds: float = SECONDS_TO_SEARCH) -> None:
        due = time.monotonic() + seconds

        def progress(done: int, total: int) -> None:
            if self.cancelled:
                raise CancelledError
            if time.monotonic() >= due:
                raise TimeoutError
            self.done = done, total

        try:
            progress(0, 0)
            self.done = None
            self.result = self.work(progress)
        except CancelledError:
            self.problem = ProblemError(410, "the search was cancelled")
        except TimeoutError:
            self.problem = ProblemError(
                504,
                f"the search did not end within {seconds:.0f} seconds; choose a time, a relation "
                "or an entity",
            )
        except InputError as error:
            self.problem = ProblemError.of(error)
        except Exception:
            logging.getLogger(__name__).exception("a search failed")
            self.problem = ProblemError(500, "the search failed; the server's log says why")


class Jobs:
    """Searches, done one after the other by a thread, and reports, by another."""

    def __init__(self, seconds_to_answer: float = SECONDS_TO_ANSWER) -> None:
        self._kept: dict[str, Job] = {}
        self._searches = Worker("searches", _do, MOST_WAITING)
        self._reports = Worker("reports", _do, MOST_WAITING, seconds_to_answer=seconds_to_answer)
        self._stopping = False

    def start(self, work: Callable[[Progress], object]) -> Job:
        """Put a search into the queue; refused if too many wait already."""
        job = Job(work)
        self._searches.submit(None, job.run)
        self._kept[job.name] = job
        finished = [name for name, kept in self._kept.items() if kept.is_finished]
        for name in finished[: max(len(self._kept) - MOST_KEPT, 0)]:
            del self._kept[name]
        return job

    def find(self, name: str) -> Job:
        if name not in self._kept:
            raise ProblemError(404, "there is no such search; searches of long ago are forgotten")
        return self._kept[name]

    async def report(self, compute: Callable[[Progress], Any]) -> Any:
        """What is computed, unless it takes too long; then it is there when asked for again."""
        try:
            return await self._reports.run(None, lambda: compute(self._unless_stopping))
        except CancelledError:
            raise ProblemError(503, "the server is being stopped") from None

    def cancel_all(self) -> None:
        self._stopping = True
        for job in self._kept.values():
            job.cancelled = True

    def stop(self) -> None:
        self.cancel_all()
        self._searches.stop()
        self._reports.stop()

    def _unless_stopping(self, done: int, total: int) -> None:
        if self._stopping:
            raise CancelledError


def _do(kind: Hashable, works: Sequence[Callable[[], Any]]) -> list[Any]:
    return [work() for work in works]
