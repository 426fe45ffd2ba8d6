"""Arrays of JSON objects."""

import gzip
import json

import pytest

from small_tables import FRAME, HEADER, ROWS, complaint, read_table, write_file
from targcn.facts.reading.options import ReadOptions

OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
TEXT = json.dumps(OBJECTS, ensure_ascii=False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", TEXT.encode()),
        ("X.JSON", json.dumps(OBJECTS, indent=2).encode()),
        ("x.json", b"\xef\xbb\xbf\n " + TEXT.encode() + b"\n\n"),
        ("x.json.gz", gzip.compress(TEXT.encode(), mtime=0)),
        # Many programs call JSON lines so.
        ("x.json", FRAME.write_ndjson().encode()),
    ],
)
def test_every_form_gives_the_same_rows(tmp_path, name, content):
    assert read_table(write_file(tmp_path, name, content)).rows() == ROWS


def test_an_array_in_another_encoding(tmp_path):
    path = write_file(tmp_path, "x.json", TEXT.encode("latin-1"))
    assert "x.json is not UTF-8 text (line 1)" in complaint(path)
    assert read_table(path, ReadOptions(encoding="latin-1")).rows() == ROWS


def test_a_key_that_comes_late_and_one_that_is_missing(tmp_path):
    rows = [dict(one) for _ in range(100) for one in OBJECTS]
    rows[-1]["score"] = 7
    path = write_file(tmp_path, "x.json", json.dumps(rows))
    assert read_table(path, ReadOptions(where="score = 7")).height == 1
    del rows[4]["object"]
    path = write_file(tmp_path, "bad.json", json.dumps(rows))
    assert "the object is missing in row 5" in complaint(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "bad.json is empty"),
        (" \n", "bad.json is empty"),
        ("17", "bad.json holds no array; write [{…}, {…}], or an object per line"),
        ('{"facts": []}', "bad.json holds no array"),
        ("[1, 2]", "bad.json"),
        ("[]", "bad.json"),
        (TEXT[:-20], "bad.json cannot be read: "),
        ('{\n"facts": []\n}', "bad.json cannot be read: "),
    ],
)
def test_what_is_no_array_of_objects(tmp_path, content, expected):
    assert expected in complaint(write_file(tmp_path, "bad.json", content))
