"""Parquet files, good and damaged."""

import os

import polars as pl
import pytest

from small_tables import FRAME, ROWS, as_bytes, complaint, read_table, write_file

CONTENT = as_bytes(FRAME.write_parquet)


def test_a_file_gives_its_rows(tmp_path):
    assert read_table(write_file(tmp_path, "x.parquet", CONTENT)).rows() == ROWS


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
    read_table(write_file(tmp_path, "x.parquet", CONTENT))
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"
