"""`targcn names`."""

import json
from pathlib import Path

import polars as pl

from command_line import call, complaint_of


def test_names_of_a_run_and_of_a_data_set(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "names.csv"
    shown = call("names", run, "obama", "--out", out)
    assert shown.stdout.splitlines()[1].split() == [
        "Barack",
        "Obama",
        "entity",
        "6",
        "2005",
        "2009",
    ]
    assert shown.stdout == call("names", "congress", "OBAMA").stdout
    assert pl.read_csv(out)["name"].to_list() == ["Barack Obama"]
    [found] = json.loads(call("names", run, "obama", "--json").stdout)
    assert (found["kind"], found["first"], found["last"]) == ("entity", "2005", "2009")


def test_the_commonest_names_are_listed(run: Path) -> None:
    lines = call("names", run, "--top", 3).stdout.splitlines()
    assert len(lines) == 5
    assert lines[-1].endswith(" more; --top shows them.")
    assert "top is 0; at least 1 was expected" in complaint_of(call("names", run, "--top", 0))
    assert "no data set, folder or file 'nowhere'" in complaint_of(call("names", "nowhere"))


def test_a_question_needs_neither_case_nor_accents(run: Path) -> None:
    shown = call("predict", run, "barack obama", "SUCCEEDED", "?", "2005", "--top", 1)
    assert shown.stdout.startswith("Barack Obama — succeeded — ?, 2005")
