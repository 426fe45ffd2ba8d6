"""The page and the documentation: files of the package, read once when the server starts."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type

from fastapi import APIRouter, Request, Response

from targcn.serve.problems import ProblemError


@dataclass(frozen=True)
class File:
    content: bytes
    media_type: str
    tag: str

    def response(self, request: Request) -> Response:
        """The file; or only the word that it is still the one the browser has."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def read_folder(name: str) -> dict[str, File]:
    """All files of a folder of this package, by their paths in it."""
    found: dict[str, File] = {}

    def read(folder: Traversable, prefix: str) -> None:
        for one in sorted(folder.iterdir(), key=lambda one: one.name):
            if one.is_dir():
                read(one, f"{prefix}{one.name}/")
            elif not one.name.endswith((".py", ".pyc")):
                content = one.read_bytes()
                kind = guess_type(one.name)[0] or "application/octet-stream"
                kind = "text/javascript" if one.name.endswith((".js", ".mjs")) else kind
                tag = f'"{sha256(content).hexdigest()[:16]}"'
                found[f"{prefix}{one.name}"] = File(content, kind, tag)

    root = files("targcn.serve") / name
    if root.is_dir():
        read(root, "")
    return found


def make_router() -> APIRouter:
    """The page at / and /page/, the documentation at /docs."""
    router = APIRouter(include_in_schema=False)
    for folder, address in (("page", "/"), ("docs_page", "/docs")):
        _add(router, read_folder(folder), folder, address)
    return router


def _add(router: APIRouter, found: dict[str, File], folder: str, address: str) -> None:
    def index(request: Request) -> Response:
        if "index.html" not in found:
            raise ProblemError(404, "this server has no page; /docs says what can be asked")
        return found["index.html"].response(request)

    def file(path: str, request: Request) -> Response:
        if path not in found:
            raise ProblemError(404, "there is no such file")
        return found[path].response(request)

    router.add_api_route(address, index, methods=["GET", "HEAD"])
    router.add_api_route(f"/{folder}/{{path:path}}", file, methods=["GET", "HEAD"])
