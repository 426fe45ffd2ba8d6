"""What stands before the app: who may ask, and how much; and headers on every answer."""

import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from targcn.serve.metrics import Metrics
from targcn.serve.problems import ProblemError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY_BYTES: Final = 1_000_000
TOO_LARGE: Final = f"a request may have {MOST_BODY_BYTES:,} bytes; ask in several"
# Requests answered at the same time; more are refused.
MOST_REQUESTS: Final = 256
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

    def __init__(
        self, app: App, access: Access, metrics: Metrics, most_requests: int = MOST_REQUESTS
    ) -> None:
        self.app, self.access, self.metrics = app, access, metrics
        self.most_requests, self.num_in_flight = most_requests, 0
        metrics.in_flight.set_function(lambda: self.num_in_flight)
        names = (access.host, "localhost", socket.gethostname(), *access.names)
        self.names = {name.lower().rstrip(".") for name in names}
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

        self.num_in_flight += 1
        try:
            answer = self._refuse(scope, headers) or self.app
            await answer(scope, limited(receive), send_with_headers)
        except ProblemError as problem:
            await problem.response()(scope, receive, send_with_headers)
        finally:
            self.num_in_flight -= 1
            self.metrics.requests.labels(_route_of(scope), status).inc()
            self.metrics.seconds.observe(time.perf_counter() - began)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is not allowed, or that brings a token in its address."""
        if self.num_in_flight > self.most_requests:
            raise ProblemError(503, "too many requests are being answered; ask again in a moment")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_named(hosts[0]):
            raise ProblemError(
                400, "the Host header is not a name of this server; --allow-host adds one"
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, hosts[0]):
            raise ProblemError(403, "pages of other addresses may not ask; --allow-origin lets one")
        if scope["method"] == "OPTIONS" and origin in self.access.origins:
            # A browser asks whether it may ask, without a token.
            return Response(status_code=204)
        if scope["method"] in ("POST", "PUT", "PATCH"):
            _require_json(headers)
        if self.access.token is None or scope["path"] == OPEN_PATH:
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

    def _is_named(self, host: str) -> bool:
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
        # Files of the page have a tag, by which a browser asks whether they changed.
        answer.setdefault("Cache-Control", "no-cache" if "etag" in answer else "no-store")
        origin = request.get("origin")
        if origin in self.access.origins:
            answer["Access-Control-Allow-Origin"] = origin
            answer["Access-Control-Allow-Methods"] = "GET, POST, DELETE"
            answer["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
            answer["Cross-Origin-Resource-Policy"] = "cross-origin"
            answer.add_vary_header("Origin")


def limited(receive: Receive) -> Receive:
    """The messages of a request, whose body may have only so many bytes."""
    num_bytes = 0

    async def receive_some() -> Message:
        nonlocal num_bytes
        message = await receive()
        num_bytes += len(message.get("body", b""))
        if num_bytes > MOST_BODY_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    return receive_some


def _require_json(headers: Headers) -> None:
    """Refuse what a form of any page could send, and at once what is too large."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ProblemError(415, "send JSON, with the header 'Content-Type: application/json'")
    if int(headers.get("content-length", "0")) > MOST_BODY_BYTES:
        raise ProblemError(413, TOO_LARGE)


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _route_of(scope: Scope) -> str:
    """The pattern of an address, not the address: names of entities do not become labels."""
    return str(getattr(scope.get("route"), "path", "other"))
