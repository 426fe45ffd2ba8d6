"""Delimited text such as CSV and TSV, with a header or as benchmarks have it, without one."""

import csv
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.columns import ROLES, usual_role
from targcn.facts.read_options import ReadOptions
from targcn.facts.rows import needed_columns
from targcn.facts.sources.source import path_of
from targcn.facts.sources.table_file import (
    COMPRESSIONS,
    TextFile,
    explain_empty,
    explain_encoding,
    find_bad_line,
)

SEPARATORS: Final = "\t,;|"
PREVIEW_ROWS: Final = 100


class DelimitedText(TextFile):
    title = "a CSV or TSV file (.csv .tsv .tab .txt, also .gz or .zst)"
    endings = (".csv", ".tsv", ".tab", ".txt")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        num_blank, first_line = _first_line(path)
        if "\ufffd" in first_line and find_bad_line(path):
            raise InputError(explain_encoding(path))
        separator = _separator(first_line)
        header = [cell.strip() for cell in _cells(first_line, separator)]
        has_header = not _is_fact(header, options)
        names = header if has_header else [*ROLES, "column 4"]
        frame = pl.read_csv(
            path,
            has_header=False,
            schema={f"column {position}": pl.String for position in range(len(header))},
            separator=separator,
            skip_lines=num_blank,
            raise_if_empty=False,
        )
        columns = {
            name: pl.col(f"column {names.index(name)}")
            for name in needed_columns(names, path.name, options)
        }
        return frame.slice(1 if has_header else 0).lazy().select(**columns)

    def explain(self, source: object, message: str) -> str:
        path = path_of(source)
        if "more fields" in message:
            return f"{path.name}: {_first_ragged_line(path)}; quote cells that hold a separator"
        if ("could not parse" in message and '"' in message) or "CSV malformed" in message:
            return (
                f"{path.name}: a quotation mark is opened and never closed; quote the cells that "
                "hold one and double it there"
            )
        return super().explain(source, message)


def _first_line(path: Path) -> tuple[int, str]:
    """The first line that is not blank, and the number of blank lines above it."""
    lines = pl.read_csv(
        path,
        has_header=False,
        separator="\x1f",
        quote_char=None,
        n_rows=PREVIEW_ROWS,
        infer_schema=False,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
        raise_if_empty=False,
    )
    for number, line in enumerate(lines.to_series() if lines.width else ()):
        if line is not None and line.strip():
            return number, line
    raise InputError(explain_empty(path))


def _separator(line: str) -> str:
    """The first separator that cuts a line into four cells or more."""
    return next((one for one in SEPARATORS if len(_cells(line, one)) >= 4), ",")


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # the cell is too long, or holds a lone carriage return
        return line.split(separator)


def _is_fact(cells: list[str], options: ReadOptions) -> bool:
    """Whether a first line is a fact: four or five cells, the fourth a time, no column names."""
    if any(getattr(options, role) for role in ROLES) or len(cells) not in (4, 5):
        return False
    is_header = set(ROLES) <= {usual_role(cell) for cell in cells}
    return not is_header and (cells[3][:1].isdigit() or cells[3][:1] in "+-")


def _first_ragged_line(path: Path) -> str:
    _, first_line = _first_line(path)
    separator = _separator(first_line)
    if path.suffix.lower() not in COMPRESSIONS:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream, delimiter=separator)
            width = 0
            # A cell too long for csv ends the search; the message then names no line.
            with suppress(csv.Error):
                for row in rows:
                    width = width or len(row)
                    if len(row) > width:
                        return (
                            f"line {rows.line_num} has {len(row)} cells separated by "
                            f"{separator!r}, the first line {width}"
                        )
    return f"a line has more cells separated by {separator!r} than the first"


SOURCE = DelimitedText()
