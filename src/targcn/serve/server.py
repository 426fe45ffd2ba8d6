"""The server: a socket, an event loop, and a clean end."""

import asyncio
import logging
import os
import socket
from types import FrameType
from typing import Final

import torch
import uvicorn

from targcn.errors import InputError
from targcn.serve.app import Service, make_app
from targcn.serve.guard import Access

# Connections that are open at the same time; the guard refuses requests long before.
MOST_CONNECTIONS: Final = 512
SECONDS_BETWEEN_REQUESTS: Final = 15
SECONDS_TO_FINISH: Final = 30
BACKLOG: Final = 2_048


class Server(uvicorn.Server):
    """Serves until it is stopped; then it finishes what is running."""

    def __init__(self, service: Service, access: Access) -> None:
        super().__init__(
            uvicorn.Config(
                make_app(service, access),
                http="httptools",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=SECONDS_BETWEEN_REQUESTS,
                timeout_graceful_shutdown=SECONDS_TO_FINISH,
            )
        )
        self.service = service
        # What clients do wrong is answered, not logged.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop cleanly; at a second signal, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

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
    listening = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # The event loop sends small answers at once only where it is told that this is TCP.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":
            # Elsewhere this would let two servers listen at one port.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
        return listening
    except UnicodeError:
        raise InputError(
            f"{host!r} is not the name of a host; choose another with --host"
        ) from None
    except OSError as error:
        if listening is not None:
            listening.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise InputError(
            f"cannot listen at port {port} of {host}: {why}; choose another with --port or --host"
        ) from None


def leave_a_core() -> None:
    """Keep one core free of torch, for the event loop; unless the user has said how many to use."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(torch.get_num_threads() - 1, 1))


def address_of(listening: socket.socket, host: str) -> str:
    """What to write into a browser."""
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
