"""Cells of text, each distinct text held once: 4 bytes a cell, however long the texts are.

Whatever is asked about a cell is asked once for each distinct text. Tables far larger than memory
are read this way, as polars encodes the cells while it streams.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

# One dictionary for all tables, so that they can be joined and compared.
TEXT: Final = pl.Categorical(pl.Categories("targcn"))


def encode_text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Text as encoded cells; what is no text is left as it is."""
    if isinstance(dtype, pl.Categorical | pl.Enum) and dtype != TEXT:
        column = column.cast(pl.String)
    return column.cast(TEXT) if isinstance(dtype, pl.String | pl.Categorical | pl.Enum) else column


def as_cells(column: pl.Series) -> pl.Series:
    """The same for a column at hand."""
    return column.to_frame().select(encode_text(pl.first(), column.dtype)).to_series()


def is_text(cells: pl.Series) -> bool:
    return cells.dtype == TEXT


def distinct_texts(*columns: pl.Series) -> pl.Series:
    """The distinct texts of some columns of cells, as plain text."""
    texts = pl.concat([column.unique().alias("text") for column in columns])
    return texts.unique().drop_nulls().cast(pl.String)


def find_cells(cells: pl.Series, test: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Of which cells a test is true, given the distinct texts; null where there is no text.

    What is no text is tested itself.
    """
    if not is_text(cells):
        return test(cells)
    texts = distinct_texts(cells)
    codes = texts.filter(test(texts)).cast(TEXT).to_physical()
    return cells.to_physical().is_in(codes.implode())


def translate(cells: pl.Series, texts: pl.Series, values: pl.Series | NDArray[Any]) -> pl.Series:
    """The value of each cell, given those of all its distinct ones; null where there is none."""
    values = np.asarray(values)
    if not is_text(cells):
        # A search needs less memory than a table of hashes.
        order = texts.arg_sort()
        places = texts.gather(order).search_sorted(cells)
        found = pl.Series(values).gather(order.gather(places))
        return found.set(cells.is_null(), None) if cells.null_count() else found
    codes = texts.cast(TEXT).to_physical().to_numpy()
    table = np.zeros(int(codes.max(initial=0)) + 1, dtype=values.dtype)
    table[codes] = values
    return pl.Series(table).gather(cells.to_physical())


def replace_texts(cells: pl.Series, texts: pl.Series, others: pl.Series) -> pl.Series:
    """The cells, in which some texts are replaced by others."""
    if not len(texts):
        return cells
    distinct = distinct_texts(cells)
    codes = distinct.replace(texts, others).cast(TEXT).to_physical()
    return translate(cells, distinct, codes).alias(cells.name).cat.to(TEXT)


def list_rows(
    rows: pl.Series,
    cells: pl.Series | Mapping[int, str] | None = None,
    numbers: pl.Series | None = None,
) -> str:
    """The first of these rows, for messages, with what their cells hold.

    `numbers` are the positions of the rows in the source, if it has others as well.

    >>> list_rows(pl.Series([2, 6, 7, 9, 11])), list_rows(pl.Series([1]), pl.Series(["a", "b"]))
    ('row 3, row 7, row 8 and 2 more', "row 2 ('b')")
    """
    shown = []
    for row in rows.head(3):
        cell = "" if cells is None or cells[row] is None else str(cells[row])[:40].strip()
        number = row if numbers is None else numbers[row]
        shown.append(f"row {number + 1}" + (f" ({cell!r})" if cell else ""))
    return ", ".join(shown) + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")
