"""`targcn data`."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from command_line import CSV, call, complaint_of, start


def test_data_list_shows_where_each_set_is(tmp_path: Path) -> None:
    answer = start("data", "list", TARGCN_DATA=str(tmp_path), TARGCN_CACHE=str(tmp_path))
    assert answer.returncode == 0
    assert "embedded" in answer.stdout
    assert answer.stdout.count("downloaded on first use") == 4
    assert answer.stdout.count("made from icews14 ") == 2


def test_data_info_as_json(meetings: Path) -> None:
    described = json.loads(call("data", "info", meetings, "--json").stdout)
    assert described["name"] == "meetings"
    assert described["num_facts"] == {"train": 32, "valid": 4, "test": 4}
    assert described["time"] == {
        "unit": "day",
        "first": "2020-01-01",
        "last": "2020-01-28",
        "num_times": 28,
    }


def test_prepare_then_train_then_evaluate(meetings: Path, tmp_path: Path) -> None:
    prepared, kept = tmp_path / "prepared", tmp_path / "run"
    assert "32 / 4 / 4 facts" in call("data", "prepare", meetings, "--out", prepared).stdout
    trained = call("train", prepared, "--model", "seen", "--gaps", "none", "--out", kept)
    assert trained.returncode == 0, trained.stderr
    report = json.loads(call("evaluate", kept, "--json").stdout)
    assert report["num_queries"] == 8
    assert report["model"] == "seen"


def test_derive_writes_a_set_that_can_be_used(tmp_path: Path) -> None:
    out = tmp_path / "unseen"
    answer = call("data", "derive", "unseen", "congress", "--out", out, "--seed", 3)
    assert answer.returncode == 0
    assert "divided with seed 3" in answer.stdout
    described = json.loads(call("data", "info", out, "--json").stdout)
    assert described["name"] == "congress-unseen-seed3"


def test_a_hyphen_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(CSV.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    options = ("--where", "subject != 'person 0'")
    described = json.loads(call("data", "info", "-", *options, "--json").stdout)
    assert described["name"] == "stdin"
    assert sum(described["num_facts"].values()) == 34
    assert described["notes"][0] == "--where kept 34 of 40 rows"


SPANS = "subject,relation,object,since,until\n" + "".join(
    f"person {i % 7},leads,club {i},{1990 + i % 9},{1999 + i % 3 if i % 4 else ''}\n"
    for i in range(40)
)


def test_data_info_tells_of_intervals(tmp_path: Path) -> None:
    path = tmp_path / "clubs.csv"
    path.write_text(SPANS)
    said = call("data", "info", path).stdout
    assert (
        "40 of 40 facts hold for longer than a year, typically for 7 years (the median of those "
        "with both ends); without start: 0; without end: 10\n"
    ) in said
    assert "since 199" in said
    described = json.loads(call("data", "info", path, "--json").stdout)["intervals"]
    assert described["num_longer"] == described["num_facts"] == 40
    assert (described["num_without_start"], described["num_without_end"]) == (0, 10)
    assert json.loads(call("data", "info", "--json").stdout)["intervals"] is None


def test_what_is_exported_is_read_again(tmp_path: Path) -> None:
    path, out, again = tmp_path / "clubs.csv", tmp_path / "clubs", tmp_path / "again"
    path.write_text(SPANS)
    answer = call("data", "export", path, "--out", out)
    assert answer.stdout == f"{out}: 40 facts; read again as they are with --unit year\n"
    assert call("data", "export", out, "--unit", "year", "--out", again).returncode == 0
    for split in ("train", "valid", "test"):
        assert (out / f"{split}.csv").read_bytes() == (again / f"{split}.csv").read_bytes()
    assert "already exists" in call("data", "export", path, "--out", out).stderr


def test_names_of_a_run_and_of_a_data_set(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "names.csv"
    shown = call("names", run, "obama", "--out", out)
    assert " ".join(shown.stdout.splitlines()[1].split()) == "Barack Obama entity 6 2005 2009"
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
