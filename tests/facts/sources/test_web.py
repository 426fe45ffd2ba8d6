"""Tables downloaded from a real HTTP server on loopback."""

import gzip
import http.server
import shutil
import threading
from types import SimpleNamespace

import pytest

from small_tables import CSV, FRAME, ROWS, complaint, read_table
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources import web

CONTENT = {
    "/facts.csv": CSV.encode(),
    "/facts.jsonl.gz": gzip.compress(FRAME.write_ndjson().encode()),
    "/export": FRAME.write_ndjson().encode(),
    "/Zo%C3%AB%20facts.csv": CSV.encode(),
    "/latin.csv": CSV.encode("latin-1"),
    "/": CSV.encode(),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/facts.csv")
            self.end_headers()
        elif path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"subject")
        elif path in CONTENT:
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT[path])))
            self.end_headers()
            self.wfile.write(CONTENT[path])
        else:
            self.send_error(404)

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def server():
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize(
    "path",
    [
        "facts.csv",
        "facts.csv?token=7#top",
        "facts.jsonl.gz",
        "export",
        "Zoë facts.csv",
        "",
        "moved",
    ],
)
def test_an_address_gives_its_rows(server, path):
    assert read_table(f"{server}/{path}").rows() == ROWS


def test_the_name_is_in_the_address(server):
    assert open_dataset(f"{server}/facts.jsonl.gz?a=b").name == "facts"


def test_options_are_those_of_the_file(server):
    options = ReadOptions(encoding="latin-1", where="relation = 'meets'")
    assert read_table(f"{server}/latin.csv", options).rows() == [ROWS[1]]


def test_what_cannot_be_downloaded(server, monkeypatch):
    assert complaint(f"{server}/other.csv?token=secret") == (
        f"cannot download {server}/other.csv: the server answered 404 Not Found"
    )
    assert "the answer stopped after 7 of 1000 bytes" in complaint(f"{server}/short")
    assert "cannot download http://127.0.0.1:1/x.csv: " in complaint("http://127.0.0.1:1/x.csv")


def test_a_file_too_large_for_the_disk(server, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10))
    assert f"{server}/facts.csv needs more than the 0.0 GB" in complaint(f"{server}/facts.csv")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://[x/facts.csv", "the address cannot be read: "),
        ("http:///facts.csv", "cannot download http:///facts.csv: "),
        ("http://me:secret@localhost/x.csv", "is given with a user; download the file yourself"),
    ],
)
def test_what_is_no_address(address, expected):
    sentence = complaint(address)
    assert expected in sentence
    assert "secret" not in sentence


def test_progress_is_told_of_every_block(server, monkeypatch):
    told = []

    class Progress:
        def __enter__(self):
            return lambda *what: told.append(what)

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(web, "download_progress", Progress)
    read_table(f"{server}/facts.csv")
    assert told == [("facts.csv", len(CSV.encode()), len(CSV.encode()))]
