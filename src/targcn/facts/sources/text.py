"""Text: CSV, TSV and the like, with a header or as benchmarks have it, without one; and JSON.

JSON is lines with one object each, or one array of objects.
"""

import codecs
import csv
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.columns import INTERVAL_ROLES, NAMES, ROLES, USUAL_NAMES, usual_role
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import MISSING, needed_columns
from targcn.facts.sources.table_source import (
    COMPRESSIONS,
    TextFile,
    explain_empty,
    explain_encoding,
    find_bad_line,
    read_lines,
)

SEPARATORS: Final = "\t,;|"
PREVIEW_ROWS: Final = 100
# How dates begin that are no plain numbers, also those of which a part is not known.
DATE: Final = r"^-?[0-9]{1,4}#*[-/.][0-9A-Za-z#]+[-/.]"


class DelimitedText(TextFile):
    title = "a CSV or TSV file (.csv .tsv .tab .txt, also .gz or .zst)"
    endings = (".csv", ".tsv", ".tab", ".txt")

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        num_blank, first_line, separator, has_quotes = _find_dialect(path)
        if "\ufffd" in first_line and find_bad_line(path):
            raise InputError(explain_encoding(path))
        cells = _cells(first_line, separator) if has_quotes else first_line.split(separator)
        header = [cell.strip() for cell in cells]
        has_header = not _is_fact(header, options)
        table = pl.scan_csv(
            path,
            has_header=False,
            schema={f"column {position}": pl.String for position in range(len(header))},
            separator=separator,
            quote_char='"' if has_quotes else None,
            skip_lines=num_blank,
            raise_if_empty=False,
        )
        names = header if has_header else _benchmark_columns(table, len(header))
        columns = {
            name: pl.col(f"column {names.index(name)}")
            for name in needed_columns(names, path.name, options)
        }
        table = (table.slice(1) if has_header else table).select(**columns)
        return table if has_quotes else table.with_columns(_unquote(pl.all()))

    def explain(self, source: object, message: str) -> str:
        path = path_of(source)
        if "more fields" in message:
            return f"{path.name}: {_first_ragged_line(path)}"
        if ("could not parse" in message and '"' in message) or "CSV malformed" in message:
            return (
                f"{path.name}: a quotation mark is opened and never closed; quote the cells that "
                "hold one and double it there"
            )
        return super().explain(source, message)


def _find_dialect(path: Path) -> tuple[int, str, str, bool]:
    """How a file is written, as its first line that is not blank shows.

    That is the number of blank lines above it, the line, the first separator that cuts it into four
    cells or more, and whether quotation marks enclose cells, rather than being part of names.
    """
    for number, line in enumerate(read_lines(path, PREVIEW_ROWS)):
        if line is not None and line.strip():
            separator = next((sign for sign in SEPARATORS if len(_cells(line, sign)) >= 4), ",")
            # They do in a CSV file, and in other files unless these have tabs; but also in these if
            # they enclose every cell of the first line.
            enclosed = all(re.fullmatch('".*"', cell.strip()) for cell in line.split(separator))
            has_quotes = enclosed or separator != "\t" or ".csv" in path.name.lower()
            return number, line, separator, has_quotes
    raise InputError(explain_empty(path))


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # the cell is too long, or holds a lone carriage return
        return line.split(separator)


def _unquote(cells: pl.Expr) -> pl.Expr:
    """What a program meant that wrote a name with quotation marks as in CSV: doubled, in marks."""
    inside = cells.str.strip_prefix('"').str.strip_suffix('"').str.replace_all('""', '"')
    is_quoted = cells.str.contains('^"(?:[^"]|"")*""(?:[^"]|"")*"$')
    return pl.when(is_quoted).then(inside).otherwise(cells)


def _is_fact(cells: list[str], options: ReadOptions) -> bool:
    """Whether a first line is a fact: four or five cells, the fourth a time, no column names.

    The fifth may be an end; the fourth is then a start, which may be missing.
    """
    if any(getattr(options, role) for role in USUAL_NAMES) or len(cells) not in (4, 5):
        return False
    usual = {usual_role(cell) for cell in cells}
    is_header = set(NAMES) < usual and bool(usual & {"time", "start"})
    when = cells[4] if len(cells) == 5 and cells[3] in MISSING else cells[3]
    return not is_header and (when[:1].isdigit() or when[:1] in "+-")


def _benchmark_columns(table: pl.LazyFrame, num_columns: int) -> list[str]:
    """The columns of a file without a header; the fifth is an end if it can be one.

    That is, if it holds dates and missing cells alone, or numbers of which none is below the start.
    """
    if num_columns < 5:
        return list(ROLES)
    starts, ends = (pl.col(f"column {position}").str.strip_chars() for position in (3, 4))
    is_written = (ends != "").fill_null(False)
    is_date = ends.is_in(MISSING) | ends.str.contains(DATE)
    is_open = starts.is_in(MISSING).fill_null(True) | ends.is_in(MISSING).fill_null(True)
    first, last = (column.cast(pl.Int64, strict=False) for column in (starts, ends))
    is_end = (last >= first).fill_null(False)
    counted = table.select(
        is_written.any().alias("written"),
        (is_date | ~is_written).all().alias("dates"),
        (is_end | is_open).all().alias("ends"),
    ).collect(engine="streaming")
    written, dates, numbers = counted.row(0)
    return list(INTERVAL_ROLES) if written and (dates or numbers) else [*ROLES, "column 4"]


def _first_ragged_line(path: Path) -> str:
    _, _, separator, has_quotes = _find_dialect(path)
    remedy = "quote cells that hold a separator"
    if not has_quotes:
        remedy = "a name with a tab needs a .csv file, and quotes"
    if path.suffix.lower() not in COMPRESSIONS:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(
                stream,
                delimiter=separator,
                quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
            )
            width = 0
            # A cell too long for csv ends the search; the message then names no line.
            with suppress(csv.Error):
                for row in rows:
                    width = width or len(row)
                    if len(row) > width:
                        return (
                            f"line {rows.line_num} has {len(row)} cells separated by "
                            f"{separator!r}, the first line {width}; {remedy}"
                        )
    return f"a line has more cells separated by {separator!r} than the first; {remedy}"


class JsonLines(TextFile):
    title = "a JSON lines file (.jsonl .ndjson, also .gz or .zst)"
    endings = (".jsonl", ".ndjson")

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        with path.open("rb") as stream:
            is_marked = stream.read(3) == codecs.BOM_UTF8
        # polars skips the byte order mark of CSV, but not that of JSON lines.
        content = path.read_bytes()[3:] if is_marked else path
        return pl.read_ndjson(content, infer_schema_length=None).lazy()

    def explain(self, source: object, message: str) -> str:
        fault = _find_bad_object(path_of(source))
        return f"{self.label(source)}, {fault}" if fault else super().explain(source, message)


class JsonArray(TextFile):
    title = "a JSON file with an array of objects (.json)"
    endings = (".json",)
    compressions = ()

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8).strip()
        if not content:
            raise InputError(explain_empty(path))
        if content.startswith(b"{") and b"\n" in content:
            # Many programs call JSON lines .json.
            return pl.read_ndjson(content, infer_schema_length=None).lazy()
        if not content.startswith(b"["):
            raise InputError(
                f"{path.name} holds no array; write [{{…}}, {{…}}], or an object per line"
            )
        return pl.read_json(content, infer_schema_length=None).lazy()


def _find_bad_object(path: Path) -> str | None:
    """What is wrong with the first line that is no JSON object, or not one like the others."""
    try:
        lines = read_lines(path)
    except (OSError, pl.exceptions.PolarsError):  # the archive is at fault, not a line
        return None
    is_nested: dict[str, bool] = {}
    for number, line in enumerate(lines, 1):
        if not line or not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            return f"line {number}: not a JSON object; correct or remove the line"
        for key, value in row.items():
            nested = isinstance(value, list | dict)
            if value is not None and is_nested.setdefault(key, nested) != nested:
                return f"line {number}: {key[:40]!r} is a list or an object in some lines only"
    return None


SOURCES = (DelimitedText(), JsonLines(), JsonArray())
