"""Commands that write, killed at any moment, short of memory or of room on the disk.

A command runs in a fork of a process that has imported everything and used nothing.
"""

import os
import random
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from targcn.cli import main
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.files import DRAFT
from targcn.runs.store import is_unfinished, load_run
from torture.material import LEARNERS, RUNS

MOST_SECONDS = 60.0
# What each command leaves that is the same in every run of it.
Kept = Callable[[Path], dict[str, bytes]]


def _files(out: Path) -> dict[str, bytes]:
    if out.is_file():
        return {"": out.read_bytes()}
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.npy"))}


def _weights(out: Path) -> dict[str, bytes]:
    return {"": (out / "weights.safetensors").read_bytes()}


def _train(name: str) -> list[str]:
    flags = [f"--{key}={value}" for key, value in RUNS[name].items()]
    return ["train", "{base}/data", f"--model={name}", "--out={out}", "--validate-every=1", *flags]


COMMANDS: dict[str, tuple[list[str], str, Kept]] = {
    **{f"train {name}": (_train(name), "run", _weights) for name in LEARNERS},
    "data prepare": (["data", "prepare", "{base}/data", "--out={out}"], "data", _files),
    "data export": (["data", "export", "{base}/data", "--out={out}"], "facts.csv", _files),
    "evaluate": (
        ["evaluate", "{base}/tntcomplex", "--device=cpu", "--out={out}"],
        "figures.csv",
        _files,
    ),
    "missing": (
        ["missing", "{base}/tntcomplex", "--device=cpu", "--top=5", "--out={out}"],
        "missing.json",
        _files,
    ),
    "names": (["names", "{base}/data", "--out={out}"], "names.csv", _files),
    "rules": (["rules", "{base}/evidence", "--out={out}"], "rules.csv", _files),
    "fuse": (
        ["fuse", "{base}/evidence", "{base}/tntcomplex", "--device=cpu", "--out={out}"],
        "run",
        lambda out: {"": (out / "members" / "tntcomplex" / "weights.safetensors").read_bytes()},
    ),
}


def kill_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Kill a command once or several times, then let it end: all is as if it had not been."""
    name = rng.choice(sorted(COMMANDS))
    command, out, kept = COMMANDS[name]
    reference, seconds = _reference(base, name)
    path, kills = scratch / out, 0
    for _ in range(rng.choice([1, 1, 2, 3])):
        code, said = _run(_arguments(command, base, path), rng.uniform(0, 1.1) * seconds)
        if code not in (0, -signal.SIGKILL):
            return _problem(code, said, name)
        if (problem := _check(path, out)) is not None:
            return f"loss: {name}: {problem}"
        if code == 0:
            break
        kills += 1
    if code != 0:
        code, said = _run(_arguments(command, base, path))
        if code != 0:
            return _problem(code, said, name)
    if kept(path) != reference:
        return f"loss: {name}: the result is another one"
    if left := [one.name for one in scratch.rglob(f".*{DRAFT}")]:
        return f"loss: {name}: left {left}"
    return f"worked: {kills}"


def memory_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Run a command that may map so much memory and no more."""
    room = int(2 ** rng.uniform(20, 33))

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return _limited_case(base, scratch, rng, limit)


def disk_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Run a command on a disk that is nearly full, or whose files may not grow."""
    room = int(2 ** rng.uniform(0, 18))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    disk = os.environ.get("TORTURE_DISK")
    if not disk or rng.random() < 0.5:
        return _limited_case(base, scratch, rng, limit)
    own = Path(disk) / scratch.name
    own.mkdir(exist_ok=True)
    filler = own / "filler"
    try:
        free = shutil.disk_usage(disk).free
        filler.write_bytes(b"x" * max(free // 2 - room, 0))
        return _limited_case(base, own, rng, lambda: None)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _limited_case(base: Path, scratch: Path, rng: random.Random, limit: Callable[[], None]) -> str:
    name = rng.choice(sorted(COMMANDS))
    command, out, _ = COMMANDS[name]
    path = scratch / out
    code, said = _run(_arguments(command, base, path), limit=limit)
    if code not in (0, 2):
        return _problem(code, said, name)
    lines = said.splitlines()
    if code == 2 and not (lines and all(line.startswith("targcn: ") for line in lines)):
        return f"traceback: {name}: {said!r}"
    if (problem := _check(path, out)) is not None:
        return f"loss: {name}: {problem}"
    return "worked" if code == 0 else "explained"


def _arguments(command: list[str], base: Path, out: Path) -> list[str]:
    if out.exists() and command[0] == "train":
        return ["train", f"--resume={out}", "--device=cpu"]
    if out.exists() and out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    return [word.format(base=base, out=out) for word in command]


def _check(path: Path, out: str) -> str | None:
    """What is wrong with a result that a command left, if it left one."""
    if not path.exists():
        return None
    try:
        if out == "run":
            load_run(path)
            is_unfinished(path)
        elif out == "data":
            Dataset.load(path)
        elif not path.read_bytes().endswith((b"\n", b"]")):
            return "half a file"
    except InputError as error:
        return str(error)
    return None


_references: dict[str, tuple[dict[str, bytes], float]] = {}


def _reference(base: Path, name: str) -> tuple[dict[str, bytes], float]:
    """What a command leaves that nobody disturbs, and how long it takes."""
    if name not in _references:
        command, out, kept = COMMANDS[name]
        path = base / f"reference {os.getpid()} {name}" / out
        path.parent.mkdir()
        began = time.monotonic()
        code, said = _run(_arguments(command, base, path))
        assert code == 0, said
        _references[name] = kept(path), time.monotonic() - began
        shutil.rmtree(path.parent)
    return _references[name]


def _run(
    arguments: list[str], kill_after: float | None = None, limit: Callable[[], None] | None = None
) -> tuple[int, str]:
    """The exit code of a command in a fork, negative if a signal ended it, and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become(arguments, reading, writing, limit)
    os.close(writing)
    said, killed, began = b"", False, time.monotonic()
    deadline = began + (MOST_SECONDS if kill_after is None else kill_after)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            os.kill(child, signal.SIGKILL)
            killed = True
            deadline = time.monotonic() + MOST_SECONDS
        ready, _, _ = select.select([reading], [], [], max(left, 0.01))
        if ready:
            block = os.read(reading, 1 << 16)
            if not block:
                break
            said += block
    os.close(reading)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if killed and kill_after is None:
        return -signal.SIGALRM, "took too long"
    return code, said.decode(errors="replace")


def _become(
    arguments: list[str], reading: int, writing: int, limit: Callable[[], None] | None
) -> None:
    """Be the program: its messages go into the pipe, what it shows goes nowhere."""
    code = 1
    try:
        os.close(reading)
        os.dup2(writing, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.close(writing)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        if limit is not None:
            limit()
        main(arguments)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stderr.flush()
        finally:
            os._exit(code)


def _problem(code: int, said: str, name: str) -> str:
    if code == -signal.SIGALRM:
        return f"hang: {name}"
    if code < 0:
        return f"crash: {name}: signal {-code}: {said[-300:]}"
    return f"traceback: {name}: {said[-1500:]}"
