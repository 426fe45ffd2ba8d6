"""What stands before the app: who may ask, how much, how slowly; and headers on every answer."""

import asyncio
import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response

from targcn.serve.metrics import Metrics
from targcn.serve.problems import ProblemError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY_BYTES: Final = 1_000_000
SECONDS_FOR_BODY: Final = 15.0
# What is read of a body that is refused.
MOST_DISCARDED_BYTES: Final = 8_000_000
SECONDS_TO_DISCARD: Final = 2.0
# Requests answered at the same time; more are refused.
MOST_REQUESTS: Final = 256
COOKIE: Final = "targcn"
# What says that the server lives; it tells nothing else, and needs no token.
OPEN_PATHS: Final = ("/v2/health/live", "/v2/health/ready")
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

    def __init__(self, app: App, access: Access, metrics: Metrics) -> None:
        self.app, self.access, self.metrics = app, access, metrics
        own = (access.host, "localhost", socket.gethostname(), *access.names)
        self.names = {name.lower().rstrip(".") for name in own}
        # What a browser keeps instead of the token; good until the server stops.
        self.ticket = hmac.new(
            secrets.token_bytes(32), (access.token or "").encode(), "sha256"
        ).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began, headers = time.perf_counter(), Headers(scope=scope)
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._add_headers(MutableHeaders(scope=message), headers)
            await send(message)

        self.metrics.in_flight += 1
        body = RequestBody(headers, receive)
        try:
            refused = self._refuse(scope, headers)
            if refused is None:
                await body.read(scope["method"])
                await self.app(scope, body.receive, send_with_headers)
            else:
                await refused(scope, receive, send_with_headers)
        except ProblemError as problem:
            await body.discard()
            response = problem.response()
            response.headers["Connection"] = "close"
            await response(scope, receive, send_with_headers)
        except DisconnectedError:
            status = 499
        finally:
            self.metrics.in_flight -= 1
            self.metrics.count_request(_route_of(scope), status, time.perf_counter() - began)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is not allowed, or that brings a token in its address."""
        if self.metrics.in_flight > MOST_REQUESTS:
            raise ProblemError(503, "too many requests are being answered; ask again in a moment")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise ProblemError(
                400, "the Host header is not a name of this server; --allow-host adds one"
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, hosts[0]):
            raise ProblemError(403, "pages of other addresses may not ask; --allow-origin lets one")
        if scope["method"] == "OPTIONS" and origin in self.access.origins:
            # A browser asks whether it may ask, without a token.
            return Response(status_code=204)
        if self.access.token is None or scope["path"] in OPEN_PATHS:
            return None
        return self._check_token(scope, headers)

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return None
        if hmac.compare_digest(_cookie(headers).encode(), self.ticket.encode()):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] == "GET" and self._is_token(query.pop("token", [""])[0]):
            # From now on the browser shows a cookie; the token leaves the address bar.
            response = RedirectResponse(f"/?{urlencode(query, doseq=True)}", status_code=303)
            response.set_cookie(COOKIE, self.ticket, httponly=True, samesite="strict")
            return response
        raise ProblemError(401, "this server needs its token: send 'Authorization: Bearer TOKEN'")

    def _is_token(self, given: str) -> bool:
        token = (self.access.token or "").encode()
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token)

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server; a foreign name may have been rebound to it."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name.rstrip(".") in self.names:
            return True
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return False

    def _is_allowed(self, origin: str, host: str) -> bool:
        if origin in self.access.origins:
            return True
        return origin.partition("://")[2] == host and origin.startswith(("http://", "https://"))

    def _add_headers(self, answer: MutableHeaders, request: Headers) -> None:
        for name, value in HEADERS.items():
            answer.setdefault(name, value)
        answer.setdefault("Cache-Control", "no-store")
        origin = request.get("origin")
        if origin in self.access.origins:
            answer["Access-Control-Allow-Origin"] = origin
            answer["Access-Control-Allow-Methods"] = "GET, POST, DELETE"
            answer["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
            answer["Cross-Origin-Resource-Policy"] = "cross-origin"
            answer.add_vary_header("Origin")


class DisconnectedError(Exception):
    """The client has gone."""


class RequestBody:
    """The body of a request: of bounded size, read in bounded time."""

    def __init__(self, headers: Headers, receive: Receive) -> None:
        self.headers, self._receive = headers, receive
        self.size = int(headers.get("content-length", "0"))
        # Whether some of it is still to come.
        self.more = self.size > 0 or "transfer-encoding" in headers
        self._whole: list[Message] = []

    async def read(self, method: str) -> None:
        """Read all of it, or refuse it."""
        if method in ("GET", "HEAD", "OPTIONS", "DELETE"):
            if self.more:
                raise ProblemError(400, f"a {method} request has no body")
            return
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ProblemError(415, "send JSON, with the header 'Content-Type: application/json'")
        content = bytearray()
        try:
            async with asyncio.timeout(SECONDS_FOR_BODY):
                while self.more:
                    content += await self._next()
                    if max(self.size, len(content)) > MOST_BODY_BYTES:
                        raise ProblemError(
                            413, f"a request may have {MOST_BODY_BYTES:,} bytes; ask in several"
                        )
        except TimeoutError:
            seconds = f"{SECONDS_FOR_BODY:.0f} seconds"
            self.more = False
            raise ProblemError(
                408, f"the body did not arrive within {seconds}; send it faster"
            ) from None
        self._whole = [{"type": "http.request", "body": bytes(content), "more_body": False}]

    async def discard(self) -> None:
        """Let a refused client end its sentence: many listen only then."""
        num_bytes = 0
        with suppress(TimeoutError, DisconnectedError):
            async with asyncio.timeout(SECONDS_TO_DISCARD):
                while self.more and num_bytes < MOST_DISCARDED_BYTES:
                    num_bytes += len(await self._next())

    async def receive(self) -> Message:
        """The body for the app, as one message; then whatever comes."""
        return self._whole.pop() if self._whole else await self._receive()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        self.more = message.get("more_body", False)
        return bytes(message.get("body", b""))


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _route_of(scope: Scope) -> str:
    """The pattern of an address, not the address: names of entities do not become labels."""
    return str(getattr(scope.get("route"), "path", "other"))
