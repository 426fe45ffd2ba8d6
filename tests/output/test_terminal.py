"""What the terminal shows."""

import io
import json
import re
import sys
from types import SimpleNamespace

import pytest

from targcn.output import terminal
from targcn.output.tables import Table
from targcn.output.terminal import (
    count_progress,
    download_progress,
    say,
    show,
    show_json,
)


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
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    with count_progress("evaluating", "queries") as update:
        assert update is not None
        update(0, 1200)
        update(1200, 1200)
    assert "evaluating, 1,200 of 1,200, " in screen.getvalue()
    assert " queries/s, 0:00:00 left" in screen.getvalue()
    with download_progress() as update_file:
        assert update_file is not None
        update_file("icews14/train.txt", 2_500_000, None)
    assert "icews14/train.txt, 2.5 MB" in screen.getvalue()


def test_a_file_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(terminal, "time", SimpleNamespace(monotonic=lambda: now))
    with count_progress("evaluating", "queries") as update:
        assert update is not None
        for seconds in range(1, 70):
            now = 100.0 + seconds
            update(10 * seconds, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "targcn: evaluating, 300 of 1,000, 10 queries/s, 0:01:10 left",
        "targcn: evaluating, 600 of 1,000, 10 queries/s, 0:00:40 left",
    ]


def test_progress_inside_of_other_progress_is_not_shown() -> None:
    with count_progress("comparing", "queries") as outer:
        assert outer is not None
        with count_progress("evaluating", "queries") as inner:
            assert inner is None
    with pytest.raises(KeyError), count_progress("evaluating", "queries"):
        raise KeyError
    with count_progress("evaluating", "queries") as later:
        assert later is not None


def test_who_is_told_is_told_instead() -> None:
    told: list[tuple[int, int]] = []
    with count_progress("evaluating", "queries", lambda *step: told.append(step)) as update:
        assert update is not None
        update(1, 2)
    assert told == [(1, 2)]


@pytest.mark.parametrize("other", ["another rank", "a child"])
def test_one_process_of_several_shows_progress(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if other == "another rank":
        monkeypatch.setenv("RANK", "1")
    else:
        monkeypatch.setattr("multiprocessing.parent_process", lambda: 1)
    with count_progress("evaluating", "queries") as update:
        assert update is None


EVIL = "\x1b]0;evil\x07 \x9b31m \u202etxt.exe\x7f"


def is_harmless(text: str) -> bool:
    return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_names_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(EVIL)
    show(Table.of_text([EVIL], [[EVIL]], EVIL, EVIL))
    say(EVIL)
    show_json({EVIL: EVIL})
    out, err = capsys.readouterr()
    assert is_harmless(out)
    assert is_harmless(err)
    assert out.count("\\x1b]0;evil\\x07") == 5
    assert json.loads(out[out.index("{") :]) == {EVIL: EVIL}
    letters = "Zoë 北京 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d🚀"
    show(letters)
    assert capsys.readouterr().out == letters + "\n"
