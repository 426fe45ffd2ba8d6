"""Tables piped in."""

import gzip
import io
import sys
import zipfile
from types import SimpleNamespace

import pytest

from small_tables import CSV, FRAME, ROWS, as_bytes, complaint, read_table
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def pipe(monkeypatch, content: bytes) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)


def archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("facts.csv", CSV)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        FRAME.write_csv(separator="\t", include_header=False).encode(),
        b"\xef\xbb\xbf" + CSV.encode(),
        FRAME.write_ndjson().encode(),
        b"\n[" + FRAME.write_ndjson().strip().replace("\n", ",").encode() + b"]",
        as_bytes(FRAME.write_parquet),
        as_bytes(FRAME.write_ipc),
        as_bytes(FRAME.write_csv, compression="zstd"),
        gzip.compress(CSV.encode(), mtime=0),
        gzip.compress(FRAME.write_ndjson().encode(), mtime=0),
        archive(),
    ],
)
def test_what_comes_in_is_recognized_by_its_beginning(monkeypatch, content):
    pipe(monkeypatch, content)
    assert read_table("-").rows() == ROWS


def test_another_encoding(monkeypatch):
    pipe(monkeypatch, CSV.encode("utf-16"))
    assert read_table("-", ReadOptions(encoding="utf-16")).rows() == ROWS


def test_the_data_set_has_a_name(monkeypatch):
    pipe(monkeypatch, CSV.encode())
    assert open_dataset("-").name == "stdin"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "stdin.csv is empty"),
        (b"\x7fELF\0\0", "standard input holds stdin, which cannot be read"),
        (b"a,b\n1,2\n", "stdin.csv: no column for the subject, relation,"),
    ],
)
def test_what_is_no_table(monkeypatch, content, expected):
    pipe(monkeypatch, content)
    assert expected in complaint("-")
