"""A table of questions: facts, in which what is asked for is left out."""

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import find_source
from targcn.facts.reading.columns import ROLES
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import require_rows
from targcn.facts.sources.table_source import TableSource


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
