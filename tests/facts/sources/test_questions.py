"""Tables of questions."""

import bz2
import io
import json
from pathlib import Path

import polars as pl
import pytest

from small_tables import FRAME, HEADER, as_bytes, write_file
from targcn.errors import InputError
from targcn.facts.sources.table_source import read_questions

QUESTIONS = "subject,relation,object,time\nAnn,visits,?,2014-01-01\n,meets,Bob,2014-01-02\n"
ROWS = [("Ann", "visits", "?", "2014-01-01"), (None, "meets", "Bob", "2014-01-02")]


def test_one_place_of_a_question_is_open(tmp_path):
    assert read_questions(write_file(tmp_path, "x.csv", QUESTIONS)).rows() == ROWS
    no_time = QUESTIONS.replace("2014-01-02", "")
    assert read_questions(write_file(tmp_path, "x.csv", no_time))["time"][1] is None


def test_questions_come_from_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(QUESTIONS.encode())))
    assert read_questions(Path("-")).rows() == ROWS


def test_times_of_questions_are_text(tmp_path):
    content = as_bytes(FRAME.with_columns(time=pl.lit(2014)).write_parquet)
    assert read_questions(write_file(tmp_path, "x.parquet", content))["time"][0] == "2014"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.csv", QUESTIONS.split("\n")[0], "x.csv has columns but no facts"),
        ("x.csv", "", "x.csv is empty"),
        ("x.docx", QUESTIONS, "x.docx is not known; rename it"),
    ],
)
def test_questions_that_cannot_be_read(tmp_path, name, content, expected):
    with pytest.raises(InputError, match=expected):
        read_questions(write_file(tmp_path, name, content))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("missing.csv", "no data set, folder or file"), (".", "one table of questions was expected")],
)
def test_questions_that_are_not_there(tmp_path, name, expected):
    with pytest.raises(InputError, match=expected):
        read_questions(tmp_path / name)


@pytest.mark.parametrize("name", ["x.csv.bz2", "x.json"])
def test_questions_in_any_format_of_facts(tmp_path, name):
    rows = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    content = bz2.compress(QUESTIONS.encode()) if name.endswith("bz2") else json.dumps(rows)
    assert read_questions(write_file(tmp_path, name, content)).rows() == ROWS


def test_a_question_has_one_time():
    frame = FRAME.rename({"time": "start"}).with_columns(end=pl.lit("2015"))
    with pytest.raises(InputError, match="a question asks about one time; name its column 'time'"):
        read_questions(frame)
