"""What all sources of one table share: wrong options, missing libraries, missing files."""

import sys

import pytest

from small_tables import CSV, FRAME, complaint, write_file
from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.columnar import Parquet
from targcn.facts.sources.delimited_text import DelimitedText
from targcn.facts.sources.json_text import JsonLines


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


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_in_place_of_a_file(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"{name}.*cannot|cannot.*{name}"):
        FORMATS[name].read_table(tmp_path / name, ReadOptions())


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_there(tmp_path, name):
    with pytest.raises(InputError, match="No such file"):
        FORMATS[name].read_table(tmp_path / name, ReadOptions())
