"""Commands that write, killed at any moment or short of room on the disk."""

import os
import random
import resource
import shutil
import signal
import time
from pathlib import Path

from targcn.errors import InputError
from targcn.files import DRAFT
from torture.commands import COMMANDS, Command, Contents
from torture.processes import run


def kill_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Kill a command once or several times, then let it end: all is as if it had not been."""
    name = rng.choice(sorted(COMMANDS))
    command = COMMANDS[name]
    reference, seconds = _reference(base, name)
    path, kills, settled = scratch / command.out, 0, Contents()
    for _ in range(rng.choice([1, 1, 2, 3])):
        code, said = run(command.arguments(base, path), rng.uniform(0, 1.1) * seconds)
        if code not in (0, -signal.SIGKILL):
            return _problem(code, said, name)
        if (problem := _check(command, base, path, reference)) is not None:
            return f"loss: {name}: {problem}"
        if lost := settled.items() - command.settled(path).items():
            return f"loss: {name}: {sorted(lost)}"
        settled = command.settled(path)
        if code == 0:
            break
        kills += 1
    if code != 0:
        code, said = run(command.arguments(base, path))
        if code != 0:
            return _problem(code, said, name)
    if command.kept(path) != reference:
        return f"loss: {name}: the result is another one"
    if lost := settled.items() - command.settled(path).items():
        return f"loss: {name}: {sorted(lost)}"
    if left := [one.name for one in scratch.rglob(f".*{DRAFT}")]:
        return f"loss: {name}: left {left}"
    return f"worked: {kills}"


def disk_case(base: Path, scratch: Path, rng: random.Random) -> str:
    """Run a command whose files may not grow beyond a size, as on a full disk."""
    room = int(2 ** rng.uniform(0, 18))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    name = rng.choice(sorted(COMMANDS))
    command = COMMANDS[name]
    path = scratch / command.out
    code, said = run(command.arguments(base, path), limit=limit)
    if code not in (0, 2):
        return _problem(code, said, name)
    lines = said.splitlines()
    if code == 2 and not (lines and all(line.startswith("targcn: ") for line in lines)):
        return f"traceback: {name}: {said!r}"
    if path.exists():
        reference, _ = _reference(base, name)
        if (problem := _check(command, base, path, reference)) is not None:
            return f"loss: {name}: {problem}"
    return "worked" if code == 0 else "explained"


def _check(command: Command, base: Path, path: Path, reference: Contents) -> str | None:
    """What is wrong with a result that a command left, if it left one."""
    try:
        return command.problem(base, path, reference)
    except (InputError, ValueError, OSError) as error:
        return str(error)


_references: dict[str, tuple[Contents, float]] = {}


def _reference(base: Path, name: str) -> tuple[Contents, float]:
    """What a command leaves that nobody disturbs, and how long it takes."""
    if name not in _references:
        command = COMMANDS[name]
        path = base / f"reference {os.getpid()} {name}" / command.out
        path.parent.mkdir()
        began = time.monotonic()
        code, said = run(command.arguments(base, path))
        assert code == 0, said
        _references[name] = command.kept(path), time.monotonic() - began
        shutil.rmtree(path.parent)
    return _references[name]


def _problem(code: int, said: str, name: str) -> str:
    if code == -signal.SIGALRM:
        return f"hang: {name}"
    if code < 0:
        return f"crash: {name}: signal {-code}: {said[-300:]}"
    return f"traceback: {name}: {said[-1500:]}"
