"""What a training reports while it goes on."""

import pytest

from small_training import train
from targcn.training import progress
from targcn.training.progress import TrainingProgress


def test_progress_is_reported_as_training_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow the machine: only at the end of an epoch and after a validation.
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", float("inf"))
    reports: list[TrainingProgress] = []
    train(progress=reports.append)
    assert [one.epoch for one in reports] == [1, 2, 2, 3, 4, 4]
    assert {(one.num_epochs, one.num_steps) for one in reports} == {(4, 9)}
    assert [one.validation is None for one in reports] == [True, True, False, False, False, False]
    assert [one.loss is None for one in reports] == [False, False, True, False, False, True]
    assert all(one.queries_per_second > 0 for one in reports)
    assert reports[0].seconds_left > reports[-1].seconds_left == 0
