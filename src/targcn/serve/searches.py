"""What takes long: searches for missing facts, which can be watched and cancelled, and reports."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from targcn.evaluation.ranking import Progress
from targcn.inference.missing import what_to_ask
from targcn.serve.api import MissingBody, find_run, json_of
from targcn.serve.problems import RESPONSES, ProblemError, problem_of
from targcn.serve.served_run import RunReport, ServedRun
from targcn.serve.worker import SECONDS_TO_ANSWER

# Searches that run or wait, and those whose results are kept.
MOST_WAITING: Final = 4
MOST_KEPT: Final = 32
SECONDS_TO_SEARCH: Final = 600.0
SECONDS_BETWEEN_EVENTS: Final = 0.2
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events: `progress` {done, total}; then `result` {rows} or `problem`",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
JobName = Annotated[str, Path(max_length=100)]
# Does a search, telling how far it is.
Work = Callable[[Progress], object]


@dataclass(eq=False)
class Search:
    """How far a search is; its future has what it found, or what went wrong, in the end."""

    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    done: tuple[int, int] | None = None
    cancelled: bool = False
    future: Future[object] = field(init=False)

    def run(self, work: Work, seconds: float = SECONDS_TO_SEARCH) -> object:
        due = time.monotonic() + seconds

        def progress(done: int, total: int) -> None:
            if self.cancelled:
                raise ProblemError(410, "the search was cancelled")
            if time.monotonic() >= due:
                raise ProblemError(
                    504,
                    f"the search did not end within {seconds:.0f} seconds; choose a time, a "
                    "relation or an entity",
                )
            self.done = done, total

        return work(progress)

    async def events(self) -> AsyncIterator[bytes]:
        while not self.future.done():
            if self.done is None:
                yield b": waiting\n\n"
            else:
                yield _event("progress", {"done": self.done[0], "total": self.done[1]})
            await asyncio.sleep(SECONDS_BETWEEN_EVENTS)
        if (error := self.future.exception()) is None:
            yield _event("result", self.future.result())
            return
        problem = problem_of(error, "GET").problem
        if problem.status == 500:
            logging.getLogger(__name__).error("a search failed", exc_info=error)
        yield _event("problem", problem)


class Searches:
    """Searches, done one after the other by a thread, and reports, by another."""

    def __init__(self, seconds_to_report: float = SECONDS_TO_ANSWER) -> None:
        self.seconds_to_report = seconds_to_report
        self._kept: dict[str, Search] = {}
        self._threads = ThreadPoolExecutor(1, "searches"), ThreadPoolExecutor(1, "reports")
        self._stopping = False

    def start(self, work: Work) -> Search:
        """Put a search into the queue; refused if too many wait already."""
        finished = [name for name, search in self._kept.items() if search.future.done()]
        if len(self._kept) - len(finished) >= MOST_WAITING:
            raise ProblemError(503, "too many searches are waiting already; try again later")
        for name in finished[: max(len(self._kept) + 1 - MOST_KEPT, 0)]:
            del self._kept[name]
        search = Search()
        self._kept[search.name] = search
        search.future = self._threads[0].submit(search.run, work)
        return search

    def find(self, name: str) -> Search:
        if name not in self._kept:
            raise ProblemError(404, "there is no such search; searches of long ago are forgotten")
        return self._kept[name]

    async def report(self, served: ServedRun) -> RunReport:
        """A report, unless it takes too long; then it is there when asked for again."""

        def progress(done: int, total: int) -> None:
            if self._stopping:
                raise ProblemError(503, "the server is being stopped")

        computing = self._threads[1].submit(served.report, progress)
        try:
            async with asyncio.timeout(self.seconds_to_report):
                return await asyncio.wrap_future(computing)
        except TimeoutError:
            raise ProblemError(
                504, "the report takes longer; it is being computed, ask again in a moment"
            ) from None

    def cancel(self) -> None:
        """Give up whatever is being searched or computed."""
        self._stopping = True
        for search in self._kept.values():
            search.cancelled = True

    def stop(self) -> None:
        self.cancel()
        for thread in self._threads:
            thread.shutdown()


def make_router(runs: Mapping[str, ServedRun], searches: Searches) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["searches and reports"], responses=RESPONSES)

    @router.post("/missing", status_code=202, response_model=dict[Literal["job"], str])
    async def search_missing(body: MissingBody) -> Response:
        """Search for the most probable facts that are not known; the events tell how it goes."""
        served = find_run(runs, body.run)
        about = body.time, body.relation, body.entity
        await asyncio.to_thread(what_to_ask, served.predictor, *about)

        def work(progress: Progress) -> object:
            wanted = body.model_dump(exclude={"run"})
            facts = served.copy_predictor().missing(**wanted, progress=progress)
            return {"rows": facts.to_dicts()}

        return json_of({"job": searches.start(work).name}, 202)

    @router.get(
        "/missing/{job}/events", response_class=StreamingResponse, responses=RESPONSES | EVENTS
    )
    async def watch(job: JobName) -> StreamingResponse:
        """How far a search is, and in the end what it found, as server-sent events."""
        return StreamingResponse(searches.find(job).events(), media_type="text/event-stream")

    @router.delete("/missing/{job}", status_code=204)
    async def cancel(job: JobName) -> None:
        """Cancel a search."""
        searches.find(job).cancelled = True

    @router.get("/report/{run}", response_model=RunReport)
    async def report(run: Annotated[str, Path(max_length=2_000)]) -> Response:
        """The figures of a run under all three filters; those of test are computed once."""
        return json_of(await searches.report(find_run(runs, run)))

    return router


def _event(name: str, content: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + to_json(content) + b"\n\n"
