"""The trace: a line per epoch and per validation, and none that a resumed training repeats."""

import json
from pathlib import Path

from small_training import train
from targcn.training.trace import Trace


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
