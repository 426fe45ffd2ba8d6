"""`targcn serve`."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from command_line import call, complaint_of
from small_judges import untaught
from targcn import config
from targcn.runs.judge import write_judge
from targcn.runs.store import load_run


@pytest.fixture(scope="module")
def judged(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run with a judge, which a server would let learn."""
    folder = tmp_path_factory.mktemp("served") / run.name
    shutil.copytree(run, folder)
    write_judge(folder, untaught(len(load_run(folder).dataset.relations)))
    return folder


@pytest.mark.slow
def test_it_serves_until_it_is_told_to_stop(judged: Path) -> None:
    command = [sys.executable, "-m", "targcn", "serve", str(judged), str(judged), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"(http://127\.0\.0\.1:\d+)/ ", line)
        assert found is not None, line
        with urlopen(f"{found[1]}/api/runs") as answer:
            assert b'"name":"copy-2"' in answer.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, "")
    assert err.splitlines()[0].startswith("targcn: copy: decayed-copy, ")
    assert err.splitlines()[-1] == "targcn: stopped"


def test_other_machines_need_a_token(run: Path) -> None:
    for host in ("0.0.0.0", "::", "example.org", "192.168.1.2"):
        assert "give a --token" in complaint_of(call("serve", run, "--host", host))
    assert "the token is empty" in complaint_of(call("serve", run, "--token", ""))


def test_a_missing_library(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "find_spec", lambda name: None)
    assert "pip install 'targcn[serve]'" in complaint_of(call("serve", run))
