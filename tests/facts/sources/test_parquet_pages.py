"""Pages of Parquet files whose headers say what is, or what cannot be."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from small_tables import FRAME, ROWS, as_bytes, complaint, read_table, write_file
from targcn.errors import InputError
from targcn.facts.sources.parquet_pages import require_sound_pages, scan_parquet

# Its 38 is 19 as Thrift writes numbers; 39 is -20.
ODD = pl.DataFrame({"word": ["a", "b", None] * 6 + ["a"]})


def write_with(number: int) -> bytes:
    """A table of 19 values whose one page claims another number of them."""
    content = bytearray(as_bytes(ODD.write_parquet, compression="uncompressed", statistics=False))
    chunk = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0)
    header = content.index(b"\x15\x26", chunk.data_page_offset)
    content[header + 1] = number
    return bytes(content)


def test_a_page_says_how_many_values_it_holds(tmp_path: Path) -> None:
    path = write_file(tmp_path, "x.parquet", write_with(38))
    require_sound_pages(path)
    assert scan_parquet(path).collect().equals(ODD)


# 39 is -20, 40 is 20, 127 is -64.
@pytest.mark.parametrize("number", [39, 40, 127])
def test_a_page_that_claims_what_cannot_be_is_refused(tmp_path: Path, number: int) -> None:
    path = write_file(tmp_path, "x.parquet", write_with(number))
    with pytest.raises(InputError, match=r"^x\.parquet is damaged; write or fetch it again$"):
        scan_parquet([path])


def write_rows(**how: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(FRAME.to_arrow(), stream, **how)
    return stream.getvalue()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"data_page_version": "2.0", "compression": "zstd"},
        {"use_dictionary": False, "data_page_size": 1, "row_group_size": 2},
        {"write_page_index": True, "compression": "none", "version": "1.0"},
    ],
)
def test_files_of_other_writers_are_read(tmp_path: Path, how: dict[str, Any]) -> None:
    path = write_file(tmp_path, "x.parquet", write_rows(**how))
    assert read_table(path).rows() == ROWS


def test_many_rows_in_many_pages_and_groups(tmp_path: Path) -> None:
    frame = pl.DataFrame({"number": range(50_000), "list": [[1, 2], None] * 25_000})
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=10_000, data_page_size=1000)
    pq.write_table(frame.to_arrow(), tmp_path / "y.parquet", data_page_size=1000)
    for name in ("x.parquet", "y.parquet"):
        assert scan_parquet(tmp_path / name).collect().equals(frame)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 4, b"\xff" * 99 + b"PAR1"])
def test_what_is_no_parquet_is_left_to_polars(tmp_path: Path, content: bytes) -> None:
    path = write_file(tmp_path, "x.parquet", content)
    require_sound_pages(path)
    assert "x.parquet cannot be read: " in complaint(path)


# Structs in structs, and lists in lists.
@pytest.mark.parametrize("nested", [b"\x1c" * 5000, b"\x19" * 5000])
def test_an_end_that_is_nested_without_end_is_left_to_polars(tmp_path: Path, nested: bytes) -> None:
    ended = nested + len(nested).to_bytes(4, "little") + b"PAR1"
    require_sound_pages(write_file(tmp_path, "x.parquet", ended))
