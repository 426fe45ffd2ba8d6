"""Zip archives and compressed files."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from small_tables import CSV, FRAME, ROWS, as_bytes, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def zipped(**members: str | bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


LINES = FRAME.write_ndjson().encode()
GOOD = {
    "x.csv.bz2": bz2.compress(CSV.encode()),
    "x.CSV.XZ": lzma.compress(CSV.encode()),
    "x.jsonl.xz": lzma.compress(LINES),
    "x.gz": gzip.compress(CSV.encode()),
    "lines.gz": gzip.compress(LINES),
    "x.parquet.gz": gzip.compress(as_bytes(FRAME.write_parquet)),
    "x.zip": zipped(**{"facts.csv": CSV}),
    "folder.zip": zipped(**{"data/": "", "data/facts.tsv": FRAME.write_csv(separator="\t")}),
    "mac.zip": zipped(**{"facts.csv": CSV, "__MACOSX/._facts.csv": b"\0"}),
    "nameless.zip": zipped(facts=CSV),
    "again.zip": zipped(**{"facts.csv.gz": gzip.compress(CSV.encode())}),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_form_gives_the_same_rows(tmp_path, name):
    assert read_table(write_file(tmp_path, name, GOOD[name])).rows() == ROWS


def test_the_name_is_that_of_the_archive(tmp_path):
    assert open_dataset(write_file(tmp_path, "mine.zip", GOOD["x.zip"])).name == "mine"


def test_packed_text_in_another_encoding(tmp_path):
    path = write_file(tmp_path, "x.csv.xz", lzma.compress(CSV.encode("latin-1")))
    assert "x.csv is not UTF-8 text" in complaint(path)
    assert read_table(path, ReadOptions(encoding="latin-1")).rows() == ROWS


def test_several_files_in_an_archive(tmp_path):
    path = write_file(tmp_path, "x.zip", zipped(**{"a/facts.csv": CSV, "readme.txt": "hello"}))
    assert complaint(path) == (
        "x.zip holds 2 files: 'a/facts.csv', 'readme.txt'; choose one with --table"
    )
    assert read_table(path, ReadOptions(table="a/facts.csv")).rows() == ROWS
    assert "x.zip has no 'facts.csv' among its files: " in complaint(
        path, ReadOptions(table="facts.csv")
    )


def test_the_only_file_may_be_named(tmp_path):
    path = write_file(tmp_path, "x.zip", GOOD["x.zip"])
    assert read_table(path, ReadOptions(table="facts.csv")).rows() == ROWS
    assert "takes no --table" in complaint(path, ReadOptions(table="other"))


@pytest.mark.parametrize("member", ["../x.csv", "/x.csv", "a/../../x.csv", "..\\x.csv"])
def test_no_path_of_an_archive_is_used(tmp_path, member):
    (tmp_path / "inner").mkdir()
    path = write_file(tmp_path / "inner", "x.zip", zipped(**{member: CSV}))
    assert read_table(path).rows() == ROWS
    assert [one.name for one in tmp_path.rglob("*")] == ["inner", "x.zip"]


def encrypted() -> bytes:
    content = bytearray(GOOD["x.zip"])
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1  # the flag of an encrypted member
    return bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("bad.zip", b"", "bad.zip cannot be unpacked: File is not a zip file"),
        ("bad.zip", GOOD["x.zip"][:-30], "bad.zip cannot be unpacked: "),
        ("bad.zip", zipped(), "bad.zip holds no files"),
        ("bad.zip", encrypted(), "bad.zip cannot be unpacked: "),
        ("bad.zip", zipped(**{"x.zip": GOOD["x.zip"]}), "bad.zip holds x.zip, which cannot be"),
        ("bad.zip", zipped(**{"x.docx": b"\0"}), "bad.zip holds x.docx, which cannot be read"),
        ("bad.csv.bz2", GOOD["x.csv.bz2"][:-5], "bad.csv.bz2 is damaged ("),
        ("bad.csv.xz", GOOD["x.CSV.XZ"][:-5], "bad.csv.xz is damaged ("),
        ("bad.csv.xz", b"nonsense", "bad.csv.xz is damaged ("),
        ("bad.gz", b"nonsense", "bad.gz is damaged ("),
        ("bad.csv.bz2", b"", "bad.csv"),
        (
            "bad.tar.gz",
            gzip.compress(b"x" + b"\0" * 511, mtime=0),
            "bad.tar.gz holds bad.tar, which cannot",
        ),
    ],
)
def test_what_cannot_be_unpacked(tmp_path, name, content, expected):
    assert expected in complaint(write_file(tmp_path, name, content))


def test_a_member_whose_checksum_is_wrong(tmp_path):
    content = bytearray(zipped(**{"x.csv": CSV * 50}))
    content[60] ^= 0xFF
    assert "bad.zip" in complaint(write_file(tmp_path, "bad.zip", bytes(content)))


def test_a_zip_entry_without_a_name_is_no_file(tmp_path):
    content = bytearray(zipped(x=CSV))
    content[content.rindex(b"PK\x01\x02") + 46] = 0  # where the directory has the name
    path = write_file(tmp_path, "x.zip", bytes(content))
    assert complaint(path) == "x.zip holds no files"
