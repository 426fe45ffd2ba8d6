"""Parquet files, Arrow files (Feather), and the streams that Hugging Face `datasets` keeps."""

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
from targcn.facts.sources.table_source import TableFile

# An Arrow file begins with this; what does not is a stream.
BEGINNING: Final = b"ARROW1"
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


class ArrowFile(TableFile):
    title = "an Arrow file (.arrow .feather .ipc)"
    endings = (".arrow", ".feather", ".ipc")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        with path.open("rb") as stream:
            is_stream = stream.read(len(BEGINNING)) != BEGINNING
        return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path)

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


SOURCES = (Parquet(), ArrowFile())
