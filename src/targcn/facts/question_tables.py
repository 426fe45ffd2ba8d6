"""Tables of questions, and the tables that their answers are written to."""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.columns import ROLES, require_rows
from targcn.facts.open import find_source
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.source import is_file
from targcn.facts.sources.table_file import TableFile
from targcn.files import atomic_file

WRITERS: Final[dict[str, Callable[..., object]]] = {
    ".csv": pl.DataFrame.write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
}


def read_questions(path: Path) -> pl.DataFrame:
    """Read a table of questions: facts, in which what is asked for is empty or a question mark."""
    if str(path) == "-":
        with TemporaryDirectory() as folder:
            copied = Path(folder) / "standard input.csv"
            copied.write_bytes(sys.stdin.buffer.read())
            return read_questions(copied)
    if not is_file(path):
        raise InputError(f"there is no file {path}")
    source = find_source(path)
    if not isinstance(source, TableFile):
        raise InputError(f"{path} is {source.title}; a file with one table was expected")
    frame = source.read_columns(path, ReadOptions())
    frame = frame.with_columns(pl.col(ROLES).cast(pl.String).str.strip_chars())
    require_rows(frame, path.name)
    return frame


def require_ending(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written in the end."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path} should end in .csv, .jsonl or .parquet")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame in the format that the ending of the file names, whole or not at all."""
    require_ending(path)
    with atomic_file(path) as draft:
        WRITERS[path.suffix.lower()](frame, draft)
