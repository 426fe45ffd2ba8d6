"""JSON lines, plain and compressed."""

import gzip

import pytest

from small_tables import FRAME, ROWS, as_bytes, complaint, read_table, write_file

TEXT = FRAME.write_ndjson()
GOOD = {
    "x.jsonl": TEXT.encode(),
    "x.ndjson": TEXT.encode(),
    "x.jsonl.gz": gzip.compress(TEXT.encode()),
    "x.jsonl.zst": as_bytes(FRAME.write_ndjson, compression="zstd"),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_form_gives_the_same_rows(tmp_path, name):
    assert read_table(write_file(tmp_path, name, GOOD[name])).rows() == ROWS


@pytest.mark.parametrize("oddity", ["\ufeff{}", "{}\n\n  \n"])
def test_harmless_oddities_of_json_lines(tmp_path, oddity):
    path = write_file(tmp_path, "x.jsonl", oddity.format(FRAME.write_ndjson()))
    assert read_table(path).rows() == ROWS


def test_a_key_missing_in_a_json_line(tmp_path):
    path = write_file(tmp_path, "bad.jsonl", FRAME.write_ndjson() + '{"subject": "Ann"}\n')
    assert "the relation is missing in row 4" in complaint(path)


@pytest.mark.parametrize("line", ["nonsense", "[1, 2]", '{"subject": "Ann"', "17"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_error_in_json_lines_gives_its_line(tmp_path, line, pack):
    name = "bad.jsonl" if pack is bytes else "bad.jsonl.gz"
    content = "\n" + FRAME.write_ndjson() + line + "\n" + FRAME.write_ndjson()
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


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst"])
def test_a_truncated_archive(tmp_path, name):
    path = write_file(tmp_path, name, GOOD[name][:-15])
    sentence = complaint(path)
    assert name in sentence
    assert "cannot" in sentence
