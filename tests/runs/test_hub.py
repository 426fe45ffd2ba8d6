"""Runs on a hub: a server on this machine that has what the library asks a hub for."""

import base64
import json
import sys
from collections.abc import Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

from command_line import call, complaint_of
from oracle import World
from targcn.errors import InputError
from targcn.runs.evaluate import evaluate
from targcn.runs.hub import pull_run, push_run
from targcn.runs.store import load_run, save_run
from targcn.training.fit import fit

FACTS = [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)]
COMMIT = "0" * 40


class Hub(ThreadingHTTPServer):
    """Keeps the files of one repository, me/run."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.files: dict[str, bytes] = {}
        self.created: dict[str, Any] = {}


class Requests(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, content: object, code: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.partition("?")[0]
        if path == "/api/repos/create":
            self.server.created = json.loads(body)
            self.answer({"url": "http://127.0.0.1/me/run", "name": "me/run"})
        elif path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif path == "/api/models/me/run/preupload/main":
            names = [file["path"] for file in json.loads(body)["files"]]
            plain = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            self.answer({"files": [{"path": name} | plain for name in names]})
        elif path == "/api/models/me/run/commit/main":
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.files[line["value"]["path"]] = content
            self.answer({"commitUrl": "http://127.0.0.1/me/run/commit/0", "commitOid": COMMIT})
        else:
            self.answer({"error": "not found"}, 404)

    def do_GET(self) -> None:
        path, start = unquote(self.path.partition("?")[0]), "/me/run/resolve/"
        if path.startswith("/api/models/me/run/tree/"):
            files = self.server.files.items()
            self.answer([{"type": "file", "path": a, "size": len(b), "oid": "0"} for a, b in files])
        elif path.startswith("/api/models/me/run/revision/"):
            self.answer({"id": "me/run", "sha": COMMIT, "siblings": []})
        elif path.startswith(start):
            content = self.server.files[path.removeprefix(start).partition("/")[2]]
            self.answer(content, ETag=f'"{sha1(content).hexdigest()}"', X_Repo_Commit=COMMIT)
        else:
            self.answer({"error": "not found"}, 404, X_Error_Code="RepoNotFound")

    def do_HEAD(self) -> None:
        self.do_GET()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub")
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "of-nobody")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = fit(World(5, 2, FACTS, cuts=(20, 25)).dataset, "distmult", dim=4, epochs=1, device="cpu")
    save_run(run, tmp_path / "run")
    (tmp_path / "run" / "state.safetensors").write_bytes(b"where training stands")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    return tmp_path / "run"


def test_what_is_pushed_is_pulled(hub: Hub, folder: Path, tmp_path: Path) -> None:
    assert push_run(folder, "me/run") == f"http://127.0.0.1:{hub.server_port}/me/run"
    assert hub.created["visibility"] == "private"
    assert not {"state.safetensors", "notes.txt"} & hub.files.keys()
    assert {"run.json", "README.md", "weights.safetensors"} < hub.files.keys()
    hub.files["evil.pkl"] = b"never fetched"
    pull_run("me/run", tmp_path / "pulled")
    pulled = {path.name for path in (tmp_path / "pulled").iterdir()}
    assert pulled == {path.name for path in folder.iterdir()} - {"state.safetensors", "notes.txt"}
    one, other = (evaluate(where, device="cpu") for where in (folder, tmp_path / "pulled"))
    assert one == other


def test_what_is_no_run_is_not_kept(hub: Hub, folder: Path, tmp_path: Path) -> None:
    push_run(folder, "me/run")
    del hub.files["run.json"]
    with pytest.raises(InputError, match="is not a run"):
        pull_run("me/run", tmp_path / "pulled")
    assert not (tmp_path / "pulled").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty is not a run"):
        push_run(tmp_path / "empty", "me/run")


def test_the_commands(hub: Hub, folder: Path, tmp_path: Path) -> None:
    answer = call("push", folder, "me/run", "--public")
    assert answer.stdout == f"put on http://127.0.0.1:{hub.server_port}/me/run\n"
    assert hub.created["visibility"] == "public"
    out = tmp_path / "pulled"
    assert f"fetched {out}" in call("pull", "me/run", "--out", out).stdout
    assert load_run(out).recipe.model == "distmult"
    assert "already exists" in complaint_of(call("pull", "me/run", "--out", out))
    for name in ("me/other", "a/b/c"):
        sentence = complaint_of(call("pull", name, "--out", tmp_path / "other"))
        assert f"the hub did not take or give {name}: " in sentence
    assert not (tmp_path / "other").exists()


def test_without_the_library_a_sentence_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'targcn\[hub\]'"):
        push_run(folder, "me/run")
