"""What went wrong, for programs: problem details (RFC 9457) with the library's own sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from targcn.errors import InputError

MEDIA_TYPE: Final = "application/problem+json"
# After so many seconds a refused request may be sent again.
RETRY_AFTER: Final = 1


@dataclass(frozen=True)
class Problem:
    """Problem details (RFC 9457); the field is the part of a question that is wrong, if one is."""

    type: str
    title: str
    status: int
    detail: str
    suggestions: list[str]
    field: str | None


# How the description of the API shows them.
RESPONSE: Final[dict[str, Any]] = {
    "description": "What was wrong",
    "content": {MEDIA_TYPE: {"schema": TypeAdapter(Problem).json_schema()}},
}
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {"4XX": RESPONSE, "5XX": RESPONSE}


class ProblemError(Exception):
    """An error as it is sent."""

    def __init__(
        self,
        status: int,
        detail: str,
        suggestions: Sequence[str] = (),
        field: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.suggestions = status, detail, suggestions
        self.field = field

    @classmethod
    def of(cls, error: InputError, status: int = 422) -> "ProblemError":
        return cls(status, str(error), error.suggestions, error.field)

    def content(self) -> Problem:
        suggestions = list(self.suggestions)
        return Problem("about:blank", self.title, self.status, self.detail, suggestions, self.field)

    @property
    def title(self) -> str:
        return HTTPStatus(self.status).phrase

    @property
    def headers(self) -> dict[str, str]:
        if self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            return {"Retry-After": str(RETRY_AFTER)}
        return {"WWW-Authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else {}

    def response(self) -> Response:
        return Response(
            to_json(self.content()), self.status, media_type=MEDIA_TYPE, headers=self.headers
        )


def show_problems(app: FastAPI) -> None:
    """Let an app answer every error with problem details."""

    def of_problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        return error.response()

    def of_input(request: Request, error: Exception) -> Response:
        assert isinstance(error, InputError)
        return ProblemError.of(error).response()

    def of_form(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return ProblemError(400, f"{place}: {first['msg']}", field=place).response()

    def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = ProblemError(error.status_code, _about(request, error)).response()
        response.headers.update(error.headers or {})
        return response

    def of_bug(request: Request, error: Exception) -> Response:
        return ProblemError(500, "the server failed; its log says why").response()

    app.add_exception_handler(ProblemError, of_problem)
    app.add_exception_handler(InputError, of_input)
    app.add_exception_handler(RequestValidationError, of_form)
    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, of_bug)


def _about(request: Request, error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return "there is nothing at this address; /openapi.json lists what there is"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} does nothing at this address; /openapi.json says what does"
    return str(error.detail)
