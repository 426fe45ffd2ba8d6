"""The server: a socket, an event loop, and a clean end."""

import asyncio
import logging
import os
import socket
from asyncio import TimerHandle
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import torch
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from targcn.errors import InputError
from targcn.serve.app import Service, make_app
from targcn.serve.guard import Access
from targcn.serve.problems import ProblemError

# A connection has so long to send the head of a request, and a head so many bytes.
SECONDS_FOR_HEAD: Final = 10.0
MOST_HEAD_BYTES: Final = 65_536
# So long may a client leave an answer unread.
SECONDS_TO_READ: Final = 30.0
SECONDS_BETWEEN_REQUESTS: Final = 15
SECONDS_TO_FINISH: Final = 30
BACKLOG: Final = 2_048
MOST_FILES: Final = 8_192


class Protocol(HttpToolsProtocol):
    """HTTP for clients that are neither slow nor endless."""

    # When the head, and when the client's reading, takes too long.
    _due: TimerHandle | None = None
    _stalled: TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_stall()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        if self._due is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        too_long = self._due is not None and self._head_bytes > MOST_HEAD_BYTES
        if too_long and not self.transport.is_closing():
            self._refuse(ProblemError(431, f"a head may have {MOST_HEAD_BYTES:,} bytes"))

    def on_headers_complete(self) -> None:
        self._forget_head()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """The client reads too slowly; it has some time to go on."""
        super().pause_writing()
        self._forget_stall()
        self._stalled = self.loop.call_later(SECONDS_TO_READ, self.transport.abort)

    def resume_writing(self) -> None:
        self._forget_stall()
        super().resume_writing()

    def _forget_stall(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(ProblemError(400, "this is not a request that HTTP knows"))

    def _refuse(self, problem: ProblemError) -> None:
        response = problem.response()
        response.headers["Connection"] = "close"
        content = [b"HTTP/1.1 %d %s\r\n" % (problem.status, problem.title.encode())]
        content += [b"%s: %s\r\n" % header for header in response.raw_headers]
        self.transport.write(b"".join([*content, b"\r\n", bytes(response.body)]))
        self.transport.close()

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
                loop="asyncio",
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
        allow_many_connections()
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
    """The socket to listen at.

    Whoever asks while runs are being loaded waits; and no other server takes the port.
    """
    if not 0 <= port <= 65_535:
        raise InputError(f"port {port} is not between 0 and 65,535")
    found = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # The event loop sends small answers at once only where it is told that this is TCP.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":
            # Elsewhere this would let two servers listen at one port.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
        return found
    except UnicodeError:
        raise InputError(
            f"{host!r} is not the name of a host; choose another with --host"
        ) from None
    except OSError as error:
        if found is not None:
            found.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise InputError(
            f"cannot listen at port {port} of {host}: {why}; choose another with --port or --host"
        ) from None


def leave_a_core() -> None:
    """Keep one core free of torch, for the event loop; unless the user has said how many to use."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(torch.get_num_threads() - 1, 1))


def allow_many_connections() -> None:
    """Let this process hold as many files as a crowd of connections takes, where it may."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def address_of(listening: socket.socket, host: str) -> str:
    """What to write into a browser."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
