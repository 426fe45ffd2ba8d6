"""JSON lines, plain and compressed, and arrays of JSON objects."""

import gzip
import json

import pytest

from small_tables import FRAME, HEADER, ROWS, as_bytes, complaint, read_table, write_file
from targcn.facts.reading.options import ReadOptions

LINES = FRAME.write_ndjson()
OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
ARRAY = json.dumps(OBJECTS, ensure_ascii=False)
PACKED = {
    "x.jsonl.gz": gzip.compress(LINES.encode(), mtime=0),
    "x.jsonl.zst": as_bytes(FRAME.write_ndjson, compression="zstd"),
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", LINES),
        ("x.ndjson", LINES),
        ("x.jsonl", "\ufeff" + LINES),
        ("x.jsonl", f"{LINES}\n\n  \n"),
        *PACKED.items(),
        ("x.json", ARRAY),
        ("X.JSON", json.dumps(OBJECTS, indent=2)),
        ("x.json", f"\ufeff\n {ARRAY}\n\n"),
        ("x.json.gz", gzip.compress(ARRAY.encode(), mtime=0)),
        # Many programs call JSON lines so.
        ("x.json", LINES),
    ],
)
def test_every_form_gives_the_same_rows(tmp_path, name, content):
    assert read_table(write_file(tmp_path, name, content)).rows() == ROWS


def test_a_key_missing_in_a_json_line(tmp_path):
    path = write_file(tmp_path, "bad.jsonl", LINES + '{"subject": "Ann"}\n')
    assert "the relation is missing in row 4" in complaint(path)


@pytest.mark.parametrize("line", ["nonsense", "[1, 2]", '{"subject": "Ann"', "17"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_error_in_json_lines_gives_its_line(tmp_path, line, pack):
    name = "bad.jsonl" if pack is bytes else "bad.jsonl.gz"
    content = "\n" + LINES + line + "\n" + LINES
    assert complaint(write_file(tmp_path, name, pack(content.encode()))) == (
        f"{name}, line 5: not a JSON object; correct or remove the line"
    )


def test_a_cell_that_is_a_list_in_one_line_only(tmp_path):
    path = write_file(tmp_path, "bad.jsonl", '{"time": 2014}\n{"time": [2014]}\n')
    assert complaint(path) == "bad.jsonl, line 2: 'time' is a list or an object in some lines only"


@pytest.mark.parametrize(
    ("name", "content"),
    [("bad.jsonl", b""), ("bad.jsonl", b"\n\n"), ("bad.jsonl.gz", gzip.compress(b"", mtime=0))],
)
def test_an_empty_file(tmp_path, name, content):
    assert f"{name} is empty" in complaint(write_file(tmp_path, name, content))


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
        (ARRAY[:-20], "bad.json cannot be read: "),
        ('{\n"facts": []\n}', "bad.json cannot be read: "),
    ],
)
def test_what_is_no_array_of_objects(tmp_path, content, expected):
    assert expected in complaint(write_file(tmp_path, "bad.json", content))
