"""What a training reports while it goes on."""

import json
from pathlib import Path

import pytest

from small_training import train
from targcn.training import progress
from targcn.training.progress import Trace, TrainingProgress, describe_progress


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


def test_progress_is_reported_during_a_validation_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_REPORTS", -1.0)
    reports: list[TrainingProgress] = []
    train(progress=reports.append, epochs=1)
    # After each of 9 steps, at the end of the epoch, then in its validation and after it.
    assert [one.step for one in reports[:10]] == [*range(1, 10), 0]
    assert len(reports) > 11
    assert {one.loss for one in reports[9:-1]} == {reports[9].loss}
    assert all(one.validation is None for one in reports[:-1])
    assert reports[-1].validation is not None
    assert reports[-1].loss is None


def test_progress_in_words() -> None:
    progress = TrainingProgress(3, 20, 5, 9, 1.25, 54321.0, 75.4, None)
    expected = "epoch 4/20, 54,321 queries/s, 0:01:15 left, loss 1.250"
    assert describe_progress(progress) == expected


def test_the_trace_has_a_line_per_epoch_and_per_validation(tmp_path: Path) -> None:
    train(tmp_path / "run")
    text = (tmp_path / "run" / "trace.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert text.endswith("\n")
    assert [(line["epoch"], "valid" in line) for line in lines] == [
        (1, False), (2, False), (2, True), (3, False), (4, False), (4, True),
    ]  # fmt: skip
    for line in lines:
        if "valid" in line:
            assert line["context"] == "train"
            assert list(line["valid"]) == ["raw", "static", "time-aware"]
        else:
            assert line.keys() == {"epoch", "loss", "seconds", "queries_per_second"}


def test_later_epochs_and_broken_lines_are_cut(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace.jsonl")
    for epoch in (1, 2, 2, 3):
        trace.write(epoch, loss=1.5)
    with (tmp_path / "trace.jsonl").open("a") as stream:
        stream.write('garbage\n[]\n{"loss": 1}\n{"epoch": 1, "los')
    trace.cut_after(2)
    lines = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"epoch": n, "loss": 1.5} for n in (1, 2, 2)]
