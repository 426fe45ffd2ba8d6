"""The other processes of a group: how they find each other, and how their silence is noticed.

A process that dies closes its connections, so that the others know at once. One whose machine is
cut off closes nothing. So every process tells the others each second that it is there, from a
thread of its own: one that loads, evaluates or saves for an hour is heard all the same.
"""

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn
from uuid import uuid4

import torch
from torch import distributed

from targcn.errors import InputError

# The environment variable that says for how many seconds of silence the others are waited for.
TIMEOUT: Final = "TARGCN_PROCESS_TIMEOUT"
# A link that is back sooner is waited for, and nothing has to be restarted.
DEFAULT_SECONDS: Final = 60.0
SECONDS_BETWEEN_BEATS: Final = 1.0
# Launchers start all processes at about the same time.
SECONDS_TO_START: Final = 300.0
SECONDS_BETWEEN_LOOKS: Final = 0.02


def seconds_of_silence() -> float:
    """For how long the others may be silent before they are given up."""
    text = os.environ.get(TIMEOUT, "")
    least = 2 * SECONDS_BETWEEN_BEATS
    try:
        seconds = float(text) if text else DEFAULT_SECONDS
    except ValueError:
        seconds = math.nan
    if not least <= seconds < threading.TIMEOUT_MAX:
        raise InputError(
            f"{TIMEOUT} is {text!r}; a number of seconds was expected, at least {least:g}"
        )
    return seconds


def agree_on_a_name(store: Any, rank: int, size: int) -> str:
    """A name for this start of the group, the same in all processes and given to no other start.

    torchrun keeps one store through all restarts, in which a restarted group would find the
    addresses of dead processes; and each machine counts its own restarts. So the main process
    names the start, and answers what the others ask under names of their own, which are new too.
    """
    own = uuid4().hex
    if rank > 0:
        store.set(f"asks {rank}", own)
        name: str = store.get(f"answer {own}").decode()
        store.set(f"{name} has {rank}", "")
        return name
    waiting = set(range(1, size))
    while waiting:
        # What a dead process asked may still stand here, until its successor asks.
        for other in [one for one in waiting if store.check([f"asks {one}"])]:
            store.set(f"answer {store.get(f'asks {other}').decode()}", own)
        waiting = {other for other in waiting if not store.check([f"{own} has {other}"])}
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return own


@contextmanager
def given_up_after(seconds: float) -> Iterator[None]:
    """End this process if the others have not been found after so many seconds."""
    timer = threading.Timer(seconds, _give_up, [f"have not all started within {seconds:g} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def watched(group: Any, seconds: float) -> Iterator[None]:
    """While this lasts, end this process if one of the group is silent for so many seconds.

    The group is a gloo group that is used for nothing else, and has this timeout.
    """
    left = threading.Event()
    threading.Thread(target=_watch, args=(group, seconds, left), daemon=True).start()
    try:
        yield
    finally:
        left.set()


def _watch(group: Any, seconds: float, left: threading.Event) -> None:
    while not left.wait(SECONDS_BETWEEN_BEATS):
        began = time.monotonic()
        try:
            distributed.all_reduce(torch.zeros(1), group=group)
        except Exception:
            # Without silence the others are gone, of which the main thread hears by itself.
            if time.monotonic() - began < seconds or left.is_set():
                return
            _give_up(f"were silent for {seconds:g} s ({TIMEOUT})")


def _give_up(what: str) -> NoReturn:
    # The main thread may wait inside of torch, where no exception would reach it.
    sentence = f"targcn: other processes {what}; a link or a machine may be down\n"
    os.write(2, sentence.encode())
    os._exit(1)
