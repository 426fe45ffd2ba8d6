"""Parquet files, Arrow files (Feather), and the streams that Hugging Face `datasets` keeps.

A Parquet file is first read in a process of its own: polars makes room for as many values as a
page claims to hold, without a doubt, and where that is absurd, it ends the whole process.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TableSource, run_apart

# An Arrow file begins with this; what does not is a stream.
BEGINNING: Final = b"ARROW1"


class Parquet(TableSource):
    title = "a Parquet file (.parquet)"
    endings = (".parquet",)

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        return scan_parquet(path_of(source))


class ArrowFile(TableSource):
    title = "an Arrow file (.arrow .feather .ipc)"
    endings = (".arrow", ".feather", ".ipc")

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        with path.open("rb") as stream:
            is_stream = stream.read(len(BEGINNING)) != BEGINNING
        return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path)


def scan_parquet(paths: Path | list[Path], **how: Any) -> pl.LazyFrame:
    """`pl.scan_parquet` of files that do not end the process."""
    files = [paths] if isinstance(paths, Path) else paths
    done = run_apart(read_pages, *map(str, files))
    if done.returncode:
        damaged = files[len(done.stdout) - 1]
        raise InputError(f"{damaged.name} is damaged; write or fetch it again")
    return pl.scan_parquet(paths, **how)


def read_pages(*paths: str) -> None:
    """Read all of each file and keep nothing of it; what ends here can be explained elsewhere."""
    for path in paths:
        # A point for each file tells which one was the last.
        print(end=".", flush=True)
        table = pl.scan_parquet(path, glob=False, use_statistics=False)
        with suppress(OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            table.select(pl.all().null_count()).collect(engine="streaming")


SOURCES = (Parquet(), ArrowFile())
