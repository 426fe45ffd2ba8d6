"""The server: all addresses behind the guard, a socket, an event loop, and a clean end."""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping
from importlib.resources import files
from mimetypes import add_type
from pathlib import Path
from types import FrameType
from typing import Final

import torch
import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.cors import CORSMiddleware

from targcn import __version__
from targcn.errors import InputError
from targcn.serve.api import make_router
from targcn.serve.aside import Aside
from targcn.serve.guard import Access, Guard
from targcn.serve.problems import RESPONSES, show_problems
from targcn.serve.served_run import ServedRun

DESCRIPTION: Final = """Ask the runs of targcn: who, whom, how, when; why; and what if.

Names may be written without capital letters and accents, dates in any form. Errors are problem
details (RFC 9457): their detail is a sentence, their suggestions are similar names.
"""
PAGE: Final = Path(str(files("targcn.serve") / "page"))
# Requests and connections at the same time; uvicorn refuses more.
MOST_CONNECTIONS: Final = 2_000
SECONDS_BETWEEN_REQUESTS: Final = 15
SECONDS_TO_FINISH: Final = 30


def make_app(runs: Mapping[str, ServedRun], work: Aside, access: Access) -> CORSMiddleware:
    """The app that answers for some runs."""
    app = FastAPI(
        title="targcn", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None
    )
    show_problems(app)
    app.include_router(make_router(runs, work))

    @app.get("/health", tags=["server"], responses=RESPONSES)
    async def health() -> dict[str, str]:
        """That the server runs; all runs are loaded before it starts."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=Response, responses=RESPONSES)
    def show_metrics() -> Response:
        """What the server has done so far, in Prometheus' text form."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    # Some systems know another name for it, which browsers refuse.
    add_type("text/javascript", ".js")
    app.mount("/page", StaticFiles(directory=PAGE))
    return CORSMiddleware(
        Guard(app, access),
        allow_origins=access.origins,
        allow_methods=("GET", "POST"),
        allow_headers=("Authorization", "Content-Type"),
    )


class Server(uvicorn.Server):
    """Serves until it is stopped; then it finishes what is running."""

    def __init__(
        self, runs: Mapping[str, ServedRun], access: Access, work: Aside | None = None
    ) -> None:
        self.runs, self.work = runs, work or Aside()
        super().__init__(
            uvicorn.Config(
                make_app(runs, self.work, access),
                http="httptools",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=SECONDS_BETWEEN_REQUESTS,
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
            )
        )
        # What clients do wrong is answered, not logged.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop cleanly; at a second signal, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Reports and searches may take minutes; all else is finished.
        self.work.cancel()
        await super().shutdown(sockets)
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """Finish what is being done."""
        self.work.stop()
        for run in self.runs.values():
            run.worker.stop()


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to listen at.

    Whoever asks while runs are being loaded waits; and no other server takes the port.
    """
    if not 0 <= port <= 65_535:
        raise InputError(f"port {port} is not between 0 and 65,535")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2_048)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else getattr(error, "strerror", error)
        raise InputError(
            f"cannot listen at port {port} of {host}: {why}; choose another with --port or --host"
        ) from None
    # Or else each small answer waits until the one before is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def leave_a_core() -> None:
    """Keep one core free of torch, for the event loop; unless the user has said how many to use."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(torch.get_num_threads() - 1, 1))


def address_of(listening: socket.socket, host: str) -> str:
    """What to write into a browser."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
