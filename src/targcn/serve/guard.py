"""What stands before the app: who may ask, and headers on every answer."""

import hmac
import ipaddress
import secrets
import socket
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from prometheus_client import Counter, Gauge, Histogram
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from targcn.serve.problems import ProblemError

REQUESTS: Final = Counter(
    "targcn_requests", "Requests, by address and status.", ("route", "status")
)
SECONDS: Final = Histogram(
    "targcn_request_seconds", "Seconds from a request to the end of its answer."
)
IN_FLIGHT: Final = Gauge("targcn_requests_in_flight", "Requests being answered now.")
MOST_BODY_BYTES: Final = 1_000_000
COOKIE: Final = "targcn"
# What says that the server lives; it tells nothing else, and needs no token.
OPEN_PATH: Final = "/health"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    host: str = "127.0.0.1"
    # Without one, only whoever is on this machine.
    token: str | None = None
    # Pages of other addresses that may ask.
    origins: tuple[str, ...] = ()
    # Names that this server is called by, besides addresses and this machine's own.
    names: tuple[str, ...] = ()


class Guard:
    """Refuses what is not allowed, before anything else looks at it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access
        names = (access.host, "localhost", socket.gethostname(), *access.names)
        self.names = {name.lower().rstrip(".") for name in names}
        # What a browser keeps instead of the token; good until the server stops.
        self.ticket = secrets.token_urlsafe()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                # Files of the page have a tag, by which a browser asks whether they changed.
                caching = {"Cache-Control": "no-cache" if "etag" in headers else "no-store"}
                for name, value in (HEADERS | caching).items():
                    headers.setdefault(name, value)
            await send(message)

        with IN_FLIGHT.track_inprogress():
            try:
                answer = self._refuse(Request(scope)) or self.app
                await answer(scope, limited(receive), send_with_headers)
            except ProblemError as problem:
                await problem.response()(scope, receive, send_with_headers)
            finally:
                # The pattern of an address: names of entities do not become labels.
                REQUESTS.labels(getattr(scope.get("route"), "path", "other"), status).inc()
                SECONDS.observe(time.perf_counter() - began)

    def _refuse(self, request: Request) -> Response | None:
        """The answer to a request that is not allowed, or that brings a token in its address."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_named(hosts[0]):
            raise ProblemError(
                400, "the Host header is not a name of this server; --allow-host adds one"
            )
        origin = request.headers.get("origin")
        allowed = (None, f"http://{hosts[0]}", f"https://{hosts[0]}", *self.access.origins)
        if origin not in allowed:
            raise ProblemError(403, "pages of other addresses may not ask; --allow-origin lets one")
        token = self.access.token
        if token is None or request.scope["path"] == OPEN_PATH:
            return None
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _is_same(given.strip(), token):
            return None
        if _is_same(request.cookies.get(COOKIE, ""), self.ticket):
            return None
        if request.method == "GET" and _is_same(request.query_params.get("token", ""), token):
            # From now on the browser shows a cookie; the token leaves the address bar.
            query = request.url.remove_query_params("token").query
            response = RedirectResponse(f"/?{query}", status_code=303)
            response.set_cookie(COOKIE, self.ticket, httponly=True, samesite="strict")
            return response
        raise ProblemError(401, "this server needs its token: send 'Authorization: Bearer TOKEN'")

    def _is_named(self, host: str) -> bool:
        """Whether a Host header names this server; a foreign name may have been rebound to it."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name.rstrip(".") in self.names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def limited(receive: Receive) -> Receive:
    """The messages of a request, whose body may have only so many bytes."""
    num_bytes = 0

    async def receive_some() -> Message:
        nonlocal num_bytes
        message = await receive()
        num_bytes += len(message.get("body", b""))
        if num_bytes > MOST_BODY_BYTES:
            raise HTTPException(
                413, f"a request may have {MOST_BODY_BYTES:,} bytes; ask in several"
            )
        return message

    return receive_some


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())
