"""The documentation comes from the package, and nothing else does."""

import re

import pytest

from small_server import Here, problem_of
from targcn.serve.static_files import read_folder


def test_the_documentation(here: Here) -> None:
    page = here.ask("GET", "/docs")
    assert page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert "/docs_page/docs.js" in named
    for address in named:
        # No file of another server, and every file is there; the page is built elsewhere.
        assert address.startswith("/")
        if address != "/":
            assert here.ask("GET", address).status == 200
    script = here.ask("GET", "/docs_page/docs.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert b"http:" not in script.body + page.body
    assert b"https:" not in script.body + page.body
    again = here.ask("GET", "/docs_page/docs.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "docs.js%00", ""]
)
def test_no_other_file_is_read(here: Here, path: str) -> None:
    problem_of(here.ask("GET", f"/docs_page/{path}"), 404)


def test_a_folder_that_is_not_there() -> None:
    assert read_folder("nothing") == {}
