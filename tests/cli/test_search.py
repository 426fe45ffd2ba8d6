"""`targcn search`."""

import sys
from pathlib import Path

import pytest

from command_line import call, complaint_of

FLOORS = ("--models", "seen", "decayed-copy")


def test_a_search_ends_with_a_table_a_recipe_and_a_run(meetings: Path) -> None:
    out = meetings.parent / "found"
    answer = call("search", meetings, "--out", out, "--trials", 6, *FLOORS)
    assert answer.returncode == 0, answer.stderr
    assert "search on meetings: 6 trials, 0 stopped early; valid split" in answer.stdout
    assert "the best one on test, which nothing was chosen on:" in answer.stdout
    assert "targcn: trial 0, seen: MRR 0." in answer.stderr
    [last] = answer.stdout.splitlines()[-1:]
    assert last.endswith(f"targcn train {meetings} --recipe {out / 'best.toml'}")
    trained = call(
        "train", meetings, "--recipe", out / "best.toml", "--gaps", "none", "--out", out / "again"
    )
    assert trained.returncode == 0, trained.stderr
    best = last.removeprefix("kept in ").partition(";")[0]
    evaluated = [call("evaluate", run, "--json").stdout for run in (out / "again", best)]
    assert evaluated[0] == evaluated[1]


def test_without_optuna_it_says_what_to_install(
    meetings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    complaint = complaint_of(call("search", meetings, "--out", meetings.parent / "found"))
    assert complaint == "targcn: a search needs optuna: pip install 'targcn[search]'\n"


def test_a_search_can_be_stopped(meetings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("targcn.search.search.try_recipe", interrupt)
    answer = call("search", meetings, "--out", meetings.parent / "found", *FLOORS)
    assert answer.returncode == 130
    assert answer.stderr == "targcn: stopped; the same command goes on from here\n"
