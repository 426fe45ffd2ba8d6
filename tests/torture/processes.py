"""A command in a fork of a process that has imported everything and used nothing."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable

from targcn.cli import main

MOST_SECONDS = 600.0


def run(
    arguments: list[str], kill_after: float | None = None, limit: Callable[[], None] | None = None
) -> tuple[int, str]:
    """The exit code of a command in a fork, negative if a signal ended it, and what it said."""
    child, reading = start(arguments, limit)
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


def start(arguments: list[str], limit: Callable[[], None] | None = None) -> tuple[int, int]:
    """Begin a command in a fork: its id, and a pipe with what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become(arguments, reading, writing, limit)
    os.close(writing)
    return child, reading


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
