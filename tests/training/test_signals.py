"""Signals stop a training politely, and belong to their owner again after it."""

import signal

import pytest

from small_training import stop_at, train
from targcn.training.progress import TrainingProgress


def test_signals_are_given_back_after_training() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    train(epochs=1)
    with pytest.raises(RuntimeError):
        train(epochs=1, progress=stop_at((0, 0), None))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_second_signal_stops_at_once() -> None:
    def signal_twice(now: TrainingProgress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        train(progress=signal_twice)
    assert stopped.type is KeyboardInterrupt
