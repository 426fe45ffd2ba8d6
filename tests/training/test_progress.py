"""What a training reports while it goes on."""

import re
import sys
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from command_line import CSV
from small_training import train
from targcn.output import terminal
from targcn.training import progress
from targcn.training.fit import fit
from targcn.training.progress import TrainingProgress, describe_progress


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


def test_a_training_that_nobody_watches_writes_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN_LINES", 0.0)
    train(epochs=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("targcn: epoch 1/1, ") and " queries/s, " in line for line in lines)
    train(epochs=1, progress=lambda progress: None)
    assert capsys.readouterr().err == ""


# --- trackers, as docs/python.md shows them ------------------------------------------------


class Tracker(ModuleType):
    """Stands in for wandb and mlflow: takes what they take, and refuses what MLflow refuses."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.logged: list[tuple[int, dict[str, float]]] = []

    def init(self, *, project: str) -> None:
        pass

    def start_run(self) -> None:
        pass

    def log(self, figures: dict[str, float], step: int) -> None:
        for name, value in figures.items():
            assert re.fullmatch(r"[\w\-. /]+", name)
            assert isinstance(value, float)
        self.logged.append((step, figures))

    log_metrics = log


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_tracker_takes_three_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    tracker = Tracker(name)
    monkeypatch.setitem(sys.modules, name, tracker)
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(CSV, encoding="utf-8")
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    (program,) = [part for part in text.split("```python\n") if part.startswith(f"import {name}")]
    program = program.partition("```")[0]
    assert len(list(filter(None, program.splitlines()))) == 3
    small = SimpleNamespace(fit=partial(fit, dim=4, epochs=2, validate_every=1, device="cpu"))
    exec(program, {"targcn": small})
    steps, figures = zip(*tracker.logged, strict=True)
    assert list(steps) == sorted(steps)
    for key in ("loss", "valid MRR context train/time-aware"):
        assert any(key in logged for logged in figures)
