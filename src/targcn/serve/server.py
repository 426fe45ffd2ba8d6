"""The server: a socket, an event loop, and a clean end."""

import asyncio
import logging
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from targcn.errors import InputError
from targcn.serve.app import Service, make_app
from targcn.serve.guard import Access

# A connection has so long to send the head of a request, and a head so many bytes.
SECONDS_FOR_HEAD: Final = 10.0
MOST_HEAD_BYTES: Final = 65_536
SECONDS_BETWEEN_REQUESTS: Final = 15
SECONDS_TO_FINISH: Final = 30
BACKLOG: Final = 2_048


class Protocol(HttpToolsProtocol):
    """HTTP for clients that are neither slow nor endless."""

    _due: Any = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        if self._due is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._due is not None and self._head_bytes > MOST_HEAD_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._forget_head()
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._due = self.loop.call_later(SECONDS_FOR_HEAD, self.transport.close)

    def _forget_head(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


class Server(uvicorn.Server):
    """Serves until it is told to stop; then it finishes what is running."""

    def __init__(self, service: Service, access: Access, told: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                make_app(service, access),
                http=Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=SECONDS_BETWEEN_REQUESTS,
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
            )
        )
        self.service, self.told = service, told
        # What clients do wrong is answered, not logged.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop cleanly; at a second signal, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Searches may take minutes; all else is finished.
        self.service.jobs.cancel_all()
        await super().shutdown(sockets)
        await asyncio.to_thread(self.service.stop)


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to listen at."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OverflowError:
        raise InputError(f"port {port} is not between 0 and 65,535") from None
    except OSError as error:
        why = error.strerror or error
        raise InputError(
            f"cannot listen at port {port} of {host}: {why}; choose another with --port or --host"
        ) from None
    return found


def address_of(listening: socket.socket, host: str) -> str:
    """What to write into a browser."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
