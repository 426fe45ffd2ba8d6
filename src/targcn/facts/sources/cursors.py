"""What an SQL database answers, as a frame."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import polars as pl

from targcn.errors import InputError

BATCH_ROWS: Final = 100_000


def frame_of_cursor(cursor: Any) -> pl.LazyFrame:
    """All rows that a cursor of Python's database interface has to give."""
    if cursor.description is None:
        raise InputError("--query gives no rows; write a SELECT")
    return frame_of_batches([column[0] for column in cursor.description], _fetch(cursor))


def frame_of_batches(
    names: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]
) -> pl.LazyFrame:
    """Batches of rows, in which a column may mix types as SQLite lets it, as one frame."""
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"--query gives two columns {repeated[0]!r}; name them apart with AS")
    frames = [
        pl.DataFrame(
            rows, schema=list(names), orient="row", infer_schema_length=None, strict=False
        ).with_columns(pl.col(pl.Object).map_elements(str, return_dtype=pl.String))
        for rows in batches
    ]
    return pl.concat(frames or [pl.DataFrame(schema=list(names))], how="vertical_relaxed").lazy()


def quote_name(name: str) -> str:
    """The name of a table as SQL writes it.

    >>> print(quote_name('the "new" facts'))
    "the ""new"" facts"
    """
    return '"' + name.replace('"', '""') + '"'


def _fetch(cursor: Any) -> Iterator[Sequence[Sequence[Any]]]:
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield rows
