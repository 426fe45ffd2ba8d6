"""What went wrong, for programs: problem details (RFC 9457) with the library's own sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from targcn.errors import InputError

MEDIA_TYPE: Final = "application/problem+json"
HEADERS: Final[dict[int, dict[str, str]]] = {
    401: {"WWW-Authenticate": "Bearer"},
    # After so many seconds a refused request may be sent again.
    503: {"Retry-After": "1"},
}


@dataclass(frozen=True)
class Problem:
    """Problem details (RFC 9457); the field is the part of a question that is wrong, if one is."""

    type: str
    title: str
    status: int
    detail: str
    suggestions: tuple[str, ...]
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
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        title = HTTPStatus(status).phrase
        self.problem = Problem("about:blank", title, status, detail, tuple(suggestions), field)
        self.headers = headers or HEADERS.get(status)

    @classmethod
    def of(cls, error: InputError, status: int = 422) -> "ProblemError":
        return cls(status, str(error), error.suggestions, error.field)

    def response(self) -> Response:
        content, status = to_json(self.problem), self.problem.status
        return Response(content, status, headers=self.headers, media_type=MEDIA_TYPE)


def show_problems(app: FastAPI) -> None:
    """Let an app answer every error with problem details."""
    kinds = (ProblemError, InputError, RequestValidationError, HTTPException, Exception)
    for kind in kinds:
        app.add_exception_handler(
            kind, lambda request, error: problem_of(error, request.method).response()
        )


def problem_of(error: BaseException, method: str) -> ProblemError:
    """An error of a request as it is sent."""
    match error:
        case ProblemError():
            return error
        case InputError():
            return ProblemError.of(error)
        case RequestValidationError():
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            detail = f"{place}: {first['msg']}"
            if first["type"] == "model_attributes_type":
                # What other types of content hold is not read.
                detail = "send a JSON object, with the header 'Content-Type: application/json'"
            return ProblemError(400, detail, field=place)
        case HTTPException():
            detail = str(error.detail)
            if error.status_code in (404, 405):
                detail = f"{method} does nothing at this address; /openapi.json says what does"
            return ProblemError(error.status_code, detail, headers=error.headers)
    return ProblemError(500, "the server failed; its log says why")
