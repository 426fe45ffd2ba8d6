"""The addresses of what takes long: searches for missing facts, and reports."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from targcn.evaluation.ranking import Progress
from targcn.serve import schema
from targcn.serve.api import find_run, json_of
from targcn.serve.jobs import Job, Jobs
from targcn.serve.problems import RESPONSES
from targcn.serve.served_run import ServedRun

# A watched search is looked at so often; a quiet one sends a sign of life now and then.
SECONDS_BETWEEN_LOOKS: Final = 0.1
LOOKS_BETWEEN_SIGNS: Final = 100
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events: `progress` {done, total}; then `result` {rows} or `problem`",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
JobName = Annotated[str, Path(max_length=100)]


def make_router(runs: Mapping[str, ServedRun], jobs: Jobs) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["searches and reports"], responses=RESPONSES)

    @router.post("/missing", status_code=202, response_model=schema.Job)
    async def search_missing(body: schema.MissingBody) -> Response:
        """Search for the most probable facts that are not known; the events tell how it goes."""
        served = find_run(runs, body.run)
        await asyncio.to_thread(_require_known, served, body)
        return json_of({"job": jobs.start(partial(find_missing, served, body)).name}, 202)

    @router.get(
        "/missing/{job}/events", response_class=StreamingResponse, responses=RESPONSES | EVENTS
    )
    async def watch(job: JobName) -> StreamingResponse:
        """How far a search is, and in the end what it found, as server-sent events."""
        return StreamingResponse(_events(jobs.find(job)), media_type="text/event-stream")

    @router.delete("/missing/{job}", status_code=204)
    async def cancel(job: JobName) -> Response:
        """Cancel a search."""
        jobs.find(job).cancelled = True
        return Response(status_code=204)

    @router.get("/report/{run}", response_model=schema.Report)
    async def report(run: Annotated[str, Path(max_length=2_000)]) -> Response:
        """The figures of a run under all three filters; those of test are computed once."""
        served = find_run(runs, run)
        of_test = await jobs.report(served.compute_report)
        reports = [*served.kept_reports, *([of_test] if of_test else [])]
        measured = [one["calibration"] for one in reports if one.get("calibration")]
        content = {
            "run": served.name,
            "reports": reports,
            "trace": served.trace,
            "calibration": measured[-1] if measured else None,
        }
        return json_of(content)

    return router


def find_missing(served: ServedRun, body: schema.MissingBody, progress: Progress) -> dict[str, Any]:
    """The most probable facts that are not known; asked of a model of its own."""
    found = served.copy_predictor().missing(
        time=body.time, relation=body.relation, entity=body.entity, top=body.top, progress=progress
    )
    return {"rows": found.to_dicts()}


def _require_known(served: ServedRun, body: schema.MissingBody) -> None:
    dataset = served.dataset
    if body.time is not None:
        dataset.timeline.tick(body.time)
    if body.relation is not None:
        dataset.relations.find(body.relation)
    if body.entity is not None:
        dataset.entities.find(body.entity)


async def _events(job: Job) -> AsyncIterator[bytes]:
    told, num_looks = None, 0
    while not job.is_finished:
        if job.done is not None and job.done != told:
            told = job.done
            yield _event("progress", {"done": told[0], "total": told[1]})
        num_looks += 1
        if num_looks % LOOKS_BETWEEN_SIGNS == 0:
            yield b": still searching\n\n"
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    if job.problem is not None:
        yield _event("problem", job.problem.content())
    else:
        yield _event("result", job.result)


def _event(name: str, content: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + to_json(content) + b"\n\n"
