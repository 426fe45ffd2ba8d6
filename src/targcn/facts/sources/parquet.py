"""Parquet files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

import polars as pl

from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.parquet_pages import scan_parquet
from targcn.facts.sources.table_file import TableFile

STDERR_LOCK: Final = Lock()


class Parquet(TableFile):
    title = "a Parquet file (.parquet)"
    endings = (".parquet",)
    memory_per_byte = 64

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        return scan_parquet(path)

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        with silence_panics():
            return super().read_columns(source, options)


@contextmanager
def silence_panics() -> Iterator[None]:
    """Hide what the threads of polars print to stderr when they give up on a damaged file."""
    with STDERR_LOCK:
        stderr = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            os.close(nowhere)


SOURCE = Parquet()
