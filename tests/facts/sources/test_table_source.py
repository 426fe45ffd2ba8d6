"""What all sources of one table share: wrong options, missing libraries, missing files."""

import bz2
import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest

from small_tables import CSV, FRAME, HEADER, complaint, write_file
from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.columnar import Parquet
from targcn.facts.sources.table_source import read_questions
from targcn.facts.sources.text import DelimitedText, JsonLines


@pytest.mark.parametrize(
    ("name", "option"),
    [("x.csv", "table"), ("x.csv", "query"), ("x.parquet", "encoding"), ("x.xlsx", "query")],
)
def test_an_option_that_a_source_does_not_take(tmp_path, name, option):
    path = write_file(tmp_path, name, CSV)
    sentence = complaint(path, ReadOptions(**{option: "ascii"}))
    assert sentence.startswith(f"{name} is a")
    assert sentence.endswith(f"which takes no --{option}; leave it out")


def test_a_frame_takes_no_table():
    assert "takes no --table" in complaint(FRAME, ReadOptions(table="facts"))


@pytest.mark.parametrize(
    ("source", "library", "extra"),
    [
        ("x.xlsx", "fastexcel", "excel"),
        ("x.duckdb", "duckdb", "duckdb"),
        ("x.nq", "pyoxigraph", "rdf"),
        ("postgresql://me:secret@localhost/x", "sqlalchemy", "database"),
        ("postgresql://me:secret@localhost/x", "psycopg", "database"),
    ],
)
def test_a_library_that_is_missing(tmp_path, monkeypatch, source, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    is_file = source.startswith("x.")
    sentence = complaint(write_file(tmp_path, source, "") if is_file else source)
    label = source if is_file else "postgresql://localhost/x"
    assert sentence == (
        f"reading {label} needs {library}, which is not installed; run 'pip install "
        f'"targcn[{extra}]"\''
    )


FORMATS = {"x.csv": DelimitedText(), "x.jsonl": JsonLines(), "x.parquet": Parquet()}


@pytest.mark.parametrize("format", FORMATS.values())
def test_a_title_names_every_ending(format):
    assert all(ending in format.title for ending in format.endings + format.compressions)


QUESTIONS = "subject,relation,object,time\nAnn,visits,?,2014-01-01\n,meets,Bob,2014-01-02\n"
ASKED = [("Ann", "visits", "?", "2014-01-01"), (None, "meets", "Bob", "2014-01-02")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", QUESTIONS),
        ("x.csv.bz2", bz2.compress(QUESTIONS.encode())),
        ("x.json", json.dumps([dict(zip(HEADER, row, strict=True)) for row in ASKED])),
        ("-", QUESTIONS.encode()),
    ],
)
def test_questions_in_any_format_of_facts(tmp_path, monkeypatch, name, content):
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    path = Path("-") if name == "-" else write_file(tmp_path, name, content)
    assert read_questions(path).rows() == ASKED


def test_times_of_questions_are_text_or_missing(tmp_path):
    no_time = QUESTIONS.replace("2014-01-02", "")
    assert read_questions(write_file(tmp_path, "x.csv", no_time))["time"][1] is None
    assert read_questions(FRAME.with_columns(time=pl.lit(2014)))["time"][0] == "2014"


SPANS = FRAME.rename({"time": "start"}).with_columns(end=pl.lit("2015"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (QUESTIONS.split("\n")[0], "x.csv has columns but no facts"),
        ("", "x.csv is empty"),
        (Path("missing.csv"), "no data set, folder or file"),
        (Path(), "one table of questions was expected"),
        (SPANS, "a question asks about one time; name its column 'time'"),
    ],
)
def test_questions_that_cannot_be_read(tmp_path, source, expected):
    path = write_file(tmp_path, "x.csv", source) if isinstance(source, str) else source
    with pytest.raises(InputError, match=expected):
        read_questions(tmp_path / path if isinstance(path, Path) else path)
