"""The app: all addresses behind the guard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Response

from targcn import __version__
from targcn.serve import api, inference_protocol, jobs_api, schema, static_files
from targcn.serve.guard import Access, Guard
from targcn.serve.jobs import Jobs
from targcn.serve.metrics import MEDIA_TYPE, Metrics
from targcn.serve.problems import show_problems
from targcn.serve.served_run import ServedRun

DESCRIPTION = """Ask the runs of targcn: who, whom, how, when; why; and what if.

Names may be written without capital letters and accents, dates in any form. Errors are problem
details (RFC 9457): their detail is a sentence, their suggestions are similar names.
"""


@dataclass(frozen=True, eq=False)
class Service:
    """The runs that are served, and what they have done."""

    runs: Mapping[str, ServedRun]
    metrics: Metrics = field(default_factory=Metrics)
    jobs: Jobs = field(default_factory=Jobs)

    def stop(self) -> None:
        """Finish what waits."""
        self.jobs.stop()
        for run in self.runs.values():
            run.worker.stop()


def make_app(service: Service, access: Access) -> Guard:
    """The app that answers for some runs."""
    app = FastAPI(
        title="targcn", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None
    )
    show_problems(app)
    app.include_router(api.make_router(service.runs))
    app.include_router(jobs_api.make_router(service.runs, service.jobs))
    app.include_router(inference_protocol.make_router(service.runs))
    app.include_router(static_files.make_router())

    @app.get("/metrics", tags=["server"], response_class=Response, responses=api.RESPONSES)
    async def metrics() -> Response:
        """What the server has done so far, in Prometheus' text form."""
        return Response(service.metrics.in_text(service.runs.values()), media_type=MEDIA_TYPE)

    _describe_problems(app)
    return Guard(app, access, service.metrics)


def _describe_problems(app: FastAPI) -> None:
    """Let the description of the API say what a problem looks like."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        found = describe()
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault("Problem", schema.Problem.model_json_schema())
        return found

    app.openapi = openapi  # type: ignore[method-assign]
