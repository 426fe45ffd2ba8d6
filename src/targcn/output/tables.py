"""Tables: rows of values, shown on a terminal, as text, in Markdown, HTML, CSV or JSON.

People get the columns that are shown, formatted; CSV and JSON get the values of all columns.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Final

from targcn.files import atomic_file, require_ending
from targcn.output.plots import shorten

Value = str | int | float | bool | None
# Letters of a cell in plain text, unless it is the last of its row.
CELL_WIDTH: Final = 40
# What is shown of a value that shows itself.
MOST_LINES: Final = 10
MOST_NOTES: Final = 3
# How a formula begins for a spreadsheet, and a number, which may begin alike.
FORMULA: Final = re.compile(r"[=+\-@\t\r]")
NUMBER: Final = re.compile(r"[+-]?[0-9.,:/ -]*")


@dataclass(frozen=True)
class Column:
    """A column: its key in rows and files, its label for people, and how its values are written."""

    key: str
    label: str
    # A format specification like ".3f" for values that are not text, or a function of the value.
    format: str | Callable[[Value], str] = ""
    # What people see where a row has no value.
    blank: str = ""
    # Whether people see the column; files always have it.
    shown: bool = True

    def write(self, value: Value) -> str:
        """A value for people."""
        if value is None:
            return self.blank
        if callable(self.format):
            return self.format(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value if isinstance(value, str) else f"{value:{self.format}}"


@dataclass(frozen=True)
class Table:
    """Rows of values under columns; a row may lack a value."""

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Value], ...]
    title: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of_text(
        cls, labels: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *notes: str
    ) -> "Table":
        """A table whose values are text already."""
        columns = tuple(Column(label, label) for label in labels)
        values = tuple(dict(zip(labels, row, strict=True)) for row in rows)
        return cls(columns, values, title, notes)

    @property
    def labels(self) -> list[str]:
        """The labels of the columns that people see."""
        return [column.label for column in self.columns if column.shown]

    def cells(self) -> list[list[str]]:
        """The rows as people see them."""
        shown = [column for column in self.columns if column.shown]
        return [[column.write(row.get(column.key)) for column in shown] for row in self.rows]

    def records(self) -> list[dict[str, Value]]:
        """The rows as programs read them: every value under the key of its column."""
        return [{column.key: row.get(column.key) for column in self.columns} for row in self.rows]


def to_markdown(table: Table) -> str:
    """The table with its title above and its notes below."""
    heads = [label.replace("\n", ", ") for label in table.labels]
    lines = [f"| {' | '.join(map(markdown_text, row))} |" for row in (heads, *table.cells())]
    lines.insert(1, "|" + "---|" * len(heads))
    if table.title:
        lines = [f"{markdown_text(table.title)}:", "", *lines]
    if table.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in table.notes)]
    return "\n".join(lines)


def to_text(table: Table) -> str:
    """The table in plain text, a line each for its title, labels, rows and notes."""
    cells = [[_one_line(cell) for cell in row] for row in (table.labels, *table.cells()) if row]
    cells = [[*(shorten(cell, CELL_WIDTH) for cell in row[:-1]), row[-1]] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    title = [_one_line(table.title)] if table.title else []
    return "\n".join([*title, *lines, *map(_one_line, table.notes)])


def to_html(table: Table) -> str:
    """The table in HTML, with its title above and its notes below; every text is escaped."""
    rows = [("th", table.labels), *(("td", row) for row in table.cells())]
    lines = [
        f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>"
        for tag, row in (rows if table.labels else [])
    ]
    body = f"<table>{''.join(lines)}</table>" if lines else ""
    title = f"<p>{escape(table.title)}</p>" if table.title else ""
    return title + body + "".join(f"<p>{escape(note)}</p>" for note in table.notes)


class Shown(ABC):
    """What has a table that it is shown as; a dataclass of this kind is declared `repr=False`."""

    @abstractmethod
    def as_table(self) -> Table:
        """What there is to see at a glance."""

    def __repr__(self) -> str:
        return to_text(beginning(self.as_table()))

    def _repr_html_(self) -> str:
        return to_html(beginning(self.as_table()))


def beginning(table: Table) -> Table:
    """The beginning of a table: with its title, labels and notes it takes ten lines at most."""
    notes, rows = table.notes, table.rows
    if len(notes) > MOST_NOTES:
        kept = MOST_NOTES - 1
        notes = (*notes[:kept], f"… and {len(notes) - kept} more notes")
    room = MOST_LINES - bool(table.title) - bool(table.labels) - len(notes)
    if len(rows) > room:
        notes = (f"… and {len(rows) - room + 1:,} more rows", *notes)
        rows = rows[: room - 1]
    return replace(table, rows=rows, notes=notes)


def defused(text: str) -> str:
    """Text that a spreadsheet takes for text; one that begins like a formula gets an apostrophe.

    >>> defused("=1+1"), defused("Ann"), defused("-3"), defused("-3 + x")
    ("'=1+1", 'Ann', '-3', "'-3 + x")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def markdown_text(text: str) -> str:
    """Text on one line, escaped so that Markdown shows it as it is.

    >>> markdown_text("a_b <c>")
    'a\\\\_b \\\\<c>'
    """
    return re.sub(r"([\\|*_`<&\[\]])", r"\\\1", _one_line(text))


def to_csv(table: Table) -> str:
    """The values under the keys of their columns, for a spreadsheet: names are no formulas there.

    >>> to_csv(Table((Column("mrr", "MRR", ".3f"),), ({"mrr": 0.6364},)))
    'mrr\\n0.6364\\n'
    >>> to_csv(Table((Column("mrr", "MRR", ".3f"),), ()))
    'mrr\\n'
    """
    import polars as pl

    keys = [column.key for column in table.columns]
    frame = pl.DataFrame(table.records(), keys, infer_schema_length=None)
    text = pl.col(pl.String).map_elements(defused, pl.String)
    return frame.with_columns(text).write_csv()


def to_json(table: Table) -> str:
    """The values as a list of objects, one per row."""
    return json.dumps(table.records(), ensure_ascii=False, indent=2)


WRITERS: Final = {".csv": to_csv, ".json": to_json, ".md": to_markdown}


def require_table_file(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    require_ending(path, *WRITERS)


def write_table(table: Table, path: Path) -> None:
    """Write a table in the format of its file name."""
    require_table_file(path)
    text = WRITERS[path.suffix.lower()](table).rstrip("\n") + "\n"
    with atomic_file(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")
