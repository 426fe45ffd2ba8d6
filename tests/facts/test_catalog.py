"""The benchmark catalogue, downloading from a real HTTP server on loopback."""

import hashlib
import http.server
import os
import re
import socket
import threading
from contextlib import nullcontext

import pytest

from targcn.errors import InputError
from targcn.facts import catalog
from targcn.facts.catalog import CATALOG, NamedSet
from targcn.facts.sources import copies

pytestmark = pytest.mark.slow

CONTENT = {
    "train.txt": "Zoë\tvisit\tBob\t2014-01-01\n".encode() * 60_000,
    "valid.txt": b"Ann\tvisit\tBob\t2014-01-02\n",
    "test.txt": b"Bob\tvisit\tAnn\t2014-01-03\n",
}


class Server(http.server.ThreadingHTTPServer):
    """Answers with CONTENT, unless `faults` has one waiting for that file."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults = {}
        self.requests = []
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        pass  # a client that gave up waiting is part of the tests

    def once(self, file_name, fault):
        self.faults[file_name] = [fault]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        file_name = self.path.removeprefix("/tiny/")
        self.server.requests.append(file_name)
        waiting = self.server.faults.get(file_name)
        fault = waiting.pop(0) if waiting else None
        body = CONTENT[file_name]
        if isinstance(fault, int):
            self.send_error(fault)
            return
        if fault == "slow":
            self.server.closing.wait()
        if fault == "drop":
            return
        if fault == "corrupt":
            body = body[:-2] + b"9\n"
        self.send_response(200)
        if fault != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "stall":
            self.wfile.write(body[:10])
            self.server.closing.wait()
        self.wfile.write(body[: len(body) // 2] if fault == "truncate" else body)

    def log_message(self, *arguments):
        pass


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("TARGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TARGCN_DATA", raising=False)


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


def set_at(port):
    files = {
        file_name: hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
        for file_name, body in CONTENT.items()
    }
    counts = (60_000, 1, 1), 3, 1, 3
    return NamedSet("tiny", "a set", "2014-01-01", *counts, f"http://127.0.0.1:{port}", files)


@pytest.fixture
def tiny(server):
    return set_at(server.server_port)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "données à moi" / "tiny"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(tiny, target, **options):
    """The sentence a failing download gives, once it is sure that nothing was left behind."""
    with pytest.raises(InputError) as caught:
        catalog.download(tiny, target, **options)
    assert not target.parent.exists() or list(target.parent.iterdir()) == []
    sentence = str(caught.value)
    assert "TARGCN_DATA" in sentence
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def watched_by(monkeypatch):
    """Let a function be told of every block, as the bar of progress is on a terminal."""

    def watch(progress):
        monkeypatch.setattr(copies, "download_progress", lambda: nullcontext(progress))

    return watch


def test_good_download_is_whole_and_reports_progress(server, tiny, target, watched_by):
    calls = []

    def progress(label, received, size):
        assert not target.exists()
        calls.append((label, received, size))

    watched_by(progress)
    assert catalog.download(tiny, target) == target
    assert contents(target) == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["tiny"]
    assert calls == [
        ("tiny/train.txt", 1 << 20, 1_560_000),
        ("tiny/train.txt", 1_560_000, 1_560_000),
        ("tiny/valid.txt", 25, 25),
        ("tiny/test.txt", 25, 25),
    ]


@pytest.mark.parametrize("fault", ["slow", "stall"])
def test_a_silence_is_one_clear_sentence(server, tiny, target, fault):
    server.once("train.txt", fault)
    sentence = refusal(tiny, target, timeout=0.3)
    assert "tiny/train.txt" in sentence
    assert "the server was silent for 0.3 seconds" in sentence


@pytest.mark.parametrize(
    ("file_name", "fault", "words"),
    [
        ("valid.txt", "truncate", "the answer stopped after 12 of 25 bytes"),
        ("valid.txt", "drop", "closed connection"),
        ("valid.txt", 500, "answered 500"),
        ("test.txt", "corrupt", "its git blob id is"),
        ("train.txt", 404, "answered 404"),
    ],
)
def test_a_fault_is_one_clear_sentence(server, tiny, target, file_name, fault, words):
    server.once(file_name, fault)
    sentence = refusal(tiny, target, timeout=600)
    assert words in sentence
    assert f"tiny/{file_name} from {tiny.publisher}/tiny/{file_name}" in sentence
    assert fault != "corrupt" or tiny.files[file_name] in sentence
    assert server.requests[-1] == file_name


def test_refused_connection(target):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        assert "refused" in refusal(set_at(port), target)


def test_answer_without_length(server, tiny, target, watched_by):
    server.once("train.txt", "no length")
    sizes = []
    watched_by(lambda label, received, size: sizes.append(size))
    catalog.download(tiny, target)
    assert contents(target) == CONTENT
    assert sizes == [None, None, 25, 25]


def test_full_disk_is_not_taken_for_a_network_fault(server, tiny, target, monkeypatch):
    def open_full(path, mode):
        return open("/dev/full", mode, buffering=0) if mode == "wb" else open(path, mode)

    monkeypatch.setattr(catalog, "open", open_full, raising=False)
    with pytest.raises(InputError, match="no space left"):
        catalog.download(tiny, target)
    assert server.requests == ["train.txt"]
    assert list(target.parent.iterdir()) == []


def test_other_folder_in_the_way_is_untouched(server, tiny, target):
    target.mkdir(parents=True)
    (target / "train.txt").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        catalog.download(tiny, target)
    assert contents(target) == {"train.txt": b"mine"}
    assert server.requests == []


def test_complete_target_is_used_as_it_is(server, tiny, target):
    catalog.download(tiny, target)
    server.requests.clear()
    assert catalog.download(tiny, target) == target
    assert server.requests == []


@pytest.mark.parametrize("whole", [True, False])
def test_target_that_appears_meanwhile(server, tiny, target, watched_by, whole):
    body = CONTENT["train.txt"] if whole else b"other"

    def another_process(label, received, size):
        if label == "tiny/test.txt":
            target.mkdir()
            for file_name, content in {**CONTENT, "train.txt": body}.items():
                (target / file_name).write_bytes(content)

    watched_by(another_process)
    if whole:
        assert catalog.download(tiny, target) == target
    else:
        with pytest.raises(InputError, match="already exists"):
            catalog.download(tiny, target)
    assert contents(target) == {**CONTENT, "train.txt": body}
    assert [path.name for path in target.parent.iterdir()] == ["tiny"]


def place(folder):
    folder.mkdir(parents=True)
    for file_name in CONTENT:
        (folder / file_name).write_text("placed")


def test_data_folders_come_before_cache_before_download(server, tiny, tmp_path, monkeypatch):
    cached, second = tmp_path / "cache" / "tiny", tmp_path / "second é" / "tiny"
    monkeypatch.setenv(
        "TARGCN_DATA", os.pathsep.join(["", str(tmp_path / "first"), str(second.parent)])
    )
    (tmp_path / "first" / "tiny").mkdir(parents=True)
    assert catalog.find_local("tiny") is None
    assert catalog.fetch(tiny) == cached
    assert len(server.requests) == 3
    assert catalog.fetch(tiny) == catalog.find_local("tiny") == cached
    place(second)
    assert catalog.fetch(tiny) == catalog.find_local("tiny") == second
    assert len(server.requests) == 3


def test_cache_folder_follows_the_environment(tmp_path, monkeypatch):
    assert catalog.cache_folder() == tmp_path / "cache"
    monkeypatch.setenv("TARGCN_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert catalog.cache_folder() == tmp_path / "xdg" / "targcn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert catalog.cache_folder() == tmp_path / ".cache" / "targcn"


def test_git_blob_id(tmp_path):
    (tmp_path / "hello").write_bytes(b"hello\n")
    assert catalog.git_blob_id(tmp_path / "hello") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_catalogue():
    published = ["icews14", "icews05-15", "gdelt", "yago11k"]
    derived = ["icews14-unseen", "icews14-irregular"]
    assert list(CATALOG) == published + derived
    for name, entry in CATALOG.items():
        assert entry.name == name
        assert "\n" not in entry.summary
        if name in derived:
            assert entry.derived_from in published
            assert not entry.files
            continue
        assert list(entry.files)[:3] == ["train.txt", "valid.txt", "test.txt"]
        assert entry.publisher.startswith("https://")
        for blob in entry.files.values():
            assert re.fullmatch("[0-9a-f]{40}", blob)
