"""What the terminal shows."""

import io
import json
import sys

import pytest

from targcn.output.tables import Table
from targcn.output.terminal import show, show_json


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
