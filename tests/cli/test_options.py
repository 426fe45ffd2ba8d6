"""What several commands share."""

from dataclasses import replace
from pathlib import Path

import pytest

from small_training import DATA
from targcn.cli.options import warn_if_in_context, warn_if_unfinished
from targcn.runs.run import TrainingRecord
from targcn.runs.store import save_run
from targcn.training.fit import fit


def test_a_stopped_run_is_named_with_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fit(DATA, "distmult", dim=4, epochs=1, device="cpu")
    for name, best_epoch, finished in (("a", 0, False), ("b", 2, False), ("c", 2, True)):
        record = TrainingRecord(4, best_epoch, 1.0, "cpu", finished)
        save_run(replace(run, trained=record), tmp_path / name)
        warn_if_unfinished(tmp_path / name)
    first, second = capsys.readouterr().err.splitlines()
    assert "stopped before its first validation, with initial weights; go on with" in first
    assert "stopped before its end; go on with: targcn train --resume" in second


@pytest.mark.parametrize(
    ("split", "context", "reads_context", "warns"),
    [
        ("test", None, True, False),
        ("valid", "train", True, False),
        ("valid", "train+valid", True, True),
        ("valid", "train+valid", False, False),
        ("test", "all", True, True),
        ("train", None, False, True),
    ],
)
def test_facts_that_the_model_has_seen_are_no_test(
    split: str,
    context: str | None,
    reads_context: bool,
    warns: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn_if_in_context(split, context, reads_context)
    assert ("what it remembers" in capsys.readouterr().err) is warns
