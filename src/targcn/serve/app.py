"""The app: all addresses behind the guard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from mimetypes import add_type
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST

from targcn import __version__
from targcn.serve import api, jobs_api
from targcn.serve.guard import Access, Guard
from targcn.serve.jobs import Jobs
from targcn.serve.metrics import Metrics
from targcn.serve.problems import RESPONSES, show_problems
from targcn.serve.served_run import ServedRun

DESCRIPTION = """Ask the runs of targcn: who, whom, how, when; why; and what if.

Names may be written without capital letters and accents, dates in any form. Errors are problem
details (RFC 9457): their detail is a sentence, their suggestions are similar names.
"""
PAGE = Path(str(files("targcn.serve") / "page"))


@dataclass(frozen=True, eq=False)
class Service:
    """The runs that are served, and their searches."""

    runs: Mapping[str, ServedRun]
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
    metrics = Metrics(service.runs.values())
    show_problems(app)
    app.include_router(api.make_router(service.runs))
    app.include_router(jobs_api.make_router(service.runs, service.jobs))

    @app.get("/health", tags=["server"], responses=RESPONSES)
    async def health() -> dict[str, str]:
        """That the server runs; all runs are loaded before it starts."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=Response, responses=RESPONSES)
    def show_metrics() -> Response:
        """What the server has done so far, in Prometheus' text form."""
        return Response(metrics.in_text(), media_type=CONTENT_TYPE_LATEST)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    # Some systems know another name for it, which browsers refuse.
    add_type("text/javascript", ".js")
    app.mount("/page", StaticFiles(directory=PAGE))
    return Guard(app, access, metrics)
