"""`targcn missing`."""

import json
from pathlib import Path

import polars as pl

from command_line import call, complaint_of


def test_what_is_missing_is_shown_and_written(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "missing.csv"
    asked = ("missing", run, "--time", 2006, "--relation", "senior senator of", "--top", 3)
    shown = call(*asked, "--out", out)
    assert shown.returncode == 0, shown.stderr
    title, labels, *_ = shown.stdout.splitlines()
    assert title == "Probable facts that are not known, context all"
    assert labels.split()[:6] == ["rank", "subject", "relation", "object", "time", "score"]
    assert shown.stderr.startswith("targcn: asking ")
    assert "pairs of an entity and a relation that the context holds together, at 1 time" in (
        shown.stderr
    )
    written = pl.read_csv(out)
    assert written["rank"].to_list() == [1, 2, 3]
    assert set(written["relation"]) == {"senior senator of"}
    assert json.loads(call(*asked, "--json").stdout)[0]["rank"] == 1


def test_what_cannot_be_asked_is_refused(run: Path, tmp_path: Path) -> None:
    for option, word, sentence in (
        ("--time", "soon", "'soon' is not a date"),
        ("--relation", "succeded", "did you mean 'succeeded'"),
        ("--entity", "Obama", "did you mean 'Barack Obama'"),
        ("--top", 0, "top is 0; at least 1 was expected"),
        ("--out", tmp_path / "x.txt", "should end in .csv, .json or .md"),
    ):
        assert sentence in complaint_of(call("missing", run, option, word))
