"""Parquet and Arrow files, whole and damaged."""

import io
import os

import polars as pl
import pyarrow.parquet as pq
import pytest

from small_tables import FRAME, ROWS, as_bytes, complaint, read_table, write_file
from targcn.errors import InputError
from targcn.facts.sources.columnar import scan_parquet

CONTENT = as_bytes(FRAME.write_parquet)


@pytest.mark.parametrize("cut", [0, 3, 40, -20, -1])
def test_a_truncated_parquet_file(tmp_path, cut):
    path = write_file(tmp_path, "bad.parquet", CONTENT[:cut])
    assert "bad.parquet cannot be read: " in complaint(path)


def test_a_panic_of_polars_is_explained_and_not_printed(tmp_path, monkeypatch, capfd):
    def panic(*arguments, **options):
        os.write(2, b"thread panicked at crates/...")
        raise pl.exceptions.PanicException("called unwrap on None\nand more")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    sentence = complaint(write_file(tmp_path, "bad.parquet", CONTENT))
    assert sentence.endswith("bad.parquet is damaged; write or fetch it again")
    assert capfd.readouterr().err == ""


def test_stderr_is_given_back_after_parquet(tmp_path, capfd):
    assert read_table(write_file(tmp_path, "x.parquet", CONTENT)).rows() == ROWS
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


FILE = as_bytes(FRAME.write_ipc)
STREAM = as_bytes(FRAME.write_ipc_stream)


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x.ipc"])
@pytest.mark.parametrize("content", [FILE, STREAM], ids=["file", "stream"])
def test_arrow_files_and_streams_give_their_rows(tmp_path, name, content):
    assert read_table(write_file(tmp_path, name, content)).rows() == ROWS


@pytest.mark.parametrize("content", [b"", b"FEA1", FILE[:9], FILE[:-20], STREAM[:40], b"no" * 99])
def test_a_file_that_is_no_arrow_file(tmp_path, content):
    assert "bad.arrow" in complaint(write_file(tmp_path, "bad.arrow", content))


# Its 38 is 19 as Thrift writes numbers; 39 is -20.
ODD = pl.DataFrame({"word": ["a", "b", None] * 6 + ["a"]})


def write_with(number: int) -> bytes:
    """A table of 19 values whose one page claims another number of them."""
    content = bytearray(as_bytes(ODD.write_parquet, compression="uncompressed", statistics=False))
    chunk = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0)
    header = content.index(b"\x15\x26", chunk.data_page_offset)
    content[header + 1] = number
    return bytes(content)


# 40 is 20, of which polars takes the 19 that the table has.
@pytest.mark.parametrize("number", [38, 40])
def test_a_page_says_how_many_values_it_holds(tmp_path, number):
    path = write_file(tmp_path, "x.parquet", write_with(number))
    assert scan_parquet(path).collect().equals(ODD)


# 39 is -20, 127 is -64, either of which ends the process that reads it.
@pytest.mark.parametrize("number", [39, 127])
def test_a_page_that_claims_what_cannot_be_is_refused(tmp_path, number):
    good = write_file(tmp_path, "good.parquet", write_with(38))
    path = write_file(tmp_path, "x.parquet", write_with(number))
    with pytest.raises(InputError, match=r"^x\.parquet is damaged; write or fetch it again$"):
        scan_parquet([good, path, good])


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"data_page_version": "2.0", "compression": "zstd"},
        {"use_dictionary": False, "data_page_size": 1, "row_group_size": 2},
        {"write_page_index": True, "compression": "none", "version": "1.0"},
    ],
)
def test_files_of_other_writers_are_read(tmp_path, how):
    pq.write_table(FRAME.to_arrow(), tmp_path / "x.parquet", **how)
    assert read_table(tmp_path / "x.parquet").rows() == ROWS


def test_many_rows_in_many_pages_and_groups(tmp_path):
    frame = pl.DataFrame({"number": range(50_000), "list": [[1, 2], None] * 25_000})
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=10_000, data_page_size=1000)
    pq.write_table(frame.to_arrow(), tmp_path / "y.parquet", data_page_size=1000)
    for name in ("x.parquet", "y.parquet"):
        assert scan_parquet(tmp_path / name).collect().equals(frame)


# Among them structs in structs, and lists in lists, without end.
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1" * 4,
        b"\xff" * 99 + b"PAR1",
        *(b"PAR1" + nested * 5000 + b"\x88\x13\0\0PAR1" for nested in (b"\x1c", b"\x19")),
    ],
)
def test_what_is_no_parquet_is_left_to_polars(tmp_path, content):
    path = write_file(tmp_path, "x.parquet", content)
    assert "x.parquet cannot be read: " in complaint(path)
