"""What the terminal shows."""

import io
import json
import sys

import pytest

from targcn.output.tables import Table
from targcn.output.terminal import count_progress, download_progress, show, show_json


def test_json_has_every_letter_wherever_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", errors="replace"))
    show_json({"answer": "Zoë"})
    sys.stdout.flush()
    assert json.loads(written.getvalue()) == {"answer": "Zoë"}


def test_a_table_has_its_title_above_and_its_notes_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(Table.of_text(["run", "MRR"], [["[bold]x", ".636"]], "Two runs", "a note"))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Two runs",
        "run      MRR",
        "[bold]x  .636",
        "a note",
    ]


def test_a_bar_says_how_far_it_is_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    with count_progress("evaluating", "queries") as update:
        assert update is None
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    with count_progress("evaluating", "queries") as update:
        assert update is not None
        update(0, 1200)
        update(1200, 1200)
    assert "evaluating, 1,200 of 1,200, " in terminal.getvalue()
    assert " queries/s, 0:00:00 left" in terminal.getvalue()
    with download_progress() as update_file:
        assert update_file is not None
        update_file("icews14/train.txt", 2_500_000, None)
    assert "icews14/train.txt, 2.5 MB" in terminal.getvalue()
