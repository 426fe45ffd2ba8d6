"""Tables of questions, and the tables that their answers are written to."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.columns import ROLES, require_rows
from targcn.facts.open import find_source
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_source import TableSource
from targcn.files import atomic_file
from targcn.output.tables import defused

WRITERS: Final[dict[str, Callable[..., object]]] = {
    ".csv": pl.DataFrame.write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
}


def read_questions(source: object) -> pl.DataFrame:
    """Read a table of questions: facts, in which what is asked for is empty or a question mark."""
    kind = find_source(source)
    if not isinstance(kind, TableSource):
        raise InputError(f"{source} is {kind.title}; one table of questions was expected")
    table = kind.read_columns(source, ReadOptions())
    if table.has_intervals:
        raise InputError(
            f"{table.where}: a question asks about one time; name its column 'time', in place of a "
            "start and an end"
        )
    frame = table.frame.with_columns(pl.col(ROLES).cast(pl.String).str.strip_chars())
    require_rows(frame, table.where)
    return frame


def require_ending(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written in the end."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path} should end in .csv, .jsonl or .parquet")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame in the format that the ending of the file names, whole or not at all."""
    require_ending(path)
    if path.suffix.lower() == ".csv":
        _warn_of_formulas(frame, path)
    with atomic_file(path) as draft:
        WRITERS[path.suffix.lower()](frame, draft)


def _warn_of_formulas(frame: pl.DataFrame, path: Path) -> None:
    """Say so if a spreadsheet would run names of a table, which are kept as they are."""
    for column in frame.select(pl.col(pl.String)):
        for text in column.filter(column.str.contains(r"^[=+\-@\t\r]")).unique():
            if defused(text) != text:
                warnings.warn(
                    f"{path.name} holds names that a spreadsheet takes for formulas, such as "
                    f"{text!r}; open it there as text, or write .parquet",
                    stacklevel=3,
                )
                return
