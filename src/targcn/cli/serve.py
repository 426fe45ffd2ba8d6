"""`targcn serve`: runs as a page and an API."""

import ipaddress
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from targcn.cli import options
from targcn.cli.options import load_folder
from targcn.config import require_libraries
from targcn.errors import InputError
from targcn.output.terminal import say, show


def serve_runs(
    run: options.RunFolder,
    /,
    *others: Annotated[Path, Parameter(help="More of them, of the same data or of others.")],
    host: str = "127.0.0.1",
    port: int = 8000,
    token: Annotated[str | None, Parameter(env_var="TARGCN_TOKEN")] = None,
    allow_origin: tuple[str, ...] = (),
    allow_host: tuple[str, ...] = (),
    context: options.Context = None,
    device: options.Device = "auto",
) -> None:
    """Serve runs: a page to ask, see why and try what-ifs, and an API for programs
    (/openapi.json).

    Only this machine can ask, unless there is a token. Ctrl+C stops the server; it
    finishes what is running.

    Args:
        host: The address to listen at; any but this machine's own needs a token.
        port: The port to listen at; 0 takes one that is free.
        token: What whoever asks must send, as 'Authorization: Bearer TOKEN', or once as
            ?token=TOKEN in a browser.
        allow_origin: Let the pages of this address ask too, like https://example.org; can be given
            several times.
        allow_host: A name that this server is called by behind a proxy; can be given several times.
    """
    require_libraries("serving", "serve", "fastapi", "httptools", "prometheus_client", "uvicorn")
    if token is not None and not token:
        raise InputError("the token is empty; give a long one that nobody guesses")
    if token is None and not _is_loopback(host):
        raise InputError(
            f"at {host} others could ask too: give a --token that they have to send, or leave out "
            "--host"
        )
    from targcn.serve.guard import Access
    from targcn.serve.served_run import ServedRun, name_runs
    from targcn.serve.server import Server, address_of, leave_a_core, open_socket

    with open_socket(host, port) as listening:
        leave_a_core()
        served = {}
        for name, folder in name_runs((run, *others)).items():
            served[name] = ServedRun(name, load_folder(folder), context, device, folder)
            say(f"{name}: {served[name].predictor.model_name}, {served[name].dataset.summary}")
        address = address_of(listening, host)

        access = Access(host, token, allow_origin, allow_host)
        server = Server(served, access)
        # Whoever asks now waits until the server runs.
        show(f"{address}   (Ctrl+C stops)")
        if token is not None:
            say("a browser needs the token once, as ?token=TOKEN behind this address")
        server.run([listening])
    say("stopped")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
