"""Stopping politely: a signal lets the step finish and the state be saved."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TrainingStopped(KeyboardInterrupt):
    """Training was asked to stop; the step was finished and everything saved."""


@contextmanager
def stop_on_signal(patient: bool = False) -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets; a second signal stops at once, unless patient.

    One of several processes may be signalled twice, by whoever stops it and by the launcher.
    """
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested
        return

    def request(number: int, frame: object) -> None:
        if requested.is_set() and not patient:
            raise KeyboardInterrupt
        requested.set()

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
