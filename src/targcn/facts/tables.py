"""Any table of dated facts, read as four columns without holes.

Takes a file (CSV, TSV, JSON lines, Parquet, each as it is or compressed) or a polars or pandas
frame; gives a polars frame of subject, relation, object (text) and time (as written). Next room:
dates, which understands the times, and opening, which gives out ids.
"""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, cast

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.files import atomic_file

ROLES = ("subject", "relation", "object", "time")
# The usual names of the four columns, folded; the first is our own.
USUAL_NAMES = {
    "subject": "subject subj head source src from actor1 source_name s h",
    "relation": "relation rel predicate property relationship edge verb action event_text r p",
    "object": "object obj tail target dst dest destination to actor2 target_name o",
    "time": "time date datetime timestamp day month year when at ts t event_date sqldate",
}
ALIASES = {alias: role for role, names in USUAL_NAMES.items() for alias in names.split()}
TEXT, JSON_LINES, PARQUET = (".csv", ".tsv", ".tab", ".txt"), (".jsonl", ".ndjson"), (".parquet",)
COMPRESSIONS = (".gz", ".zst")
PREVIEW_ROWS = 100
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STDERR_LOCK = Lock()
FORMATS = "CSV, TSV, JSON lines (.jsonl) and Parquet are read, text also as .gz or .zst"


def read_table(source: object, reading: Reading) -> pl.DataFrame:
    """Read a file or frame into the columns subject, relation, object and time.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"head": ["a"], "rel": ["likes"], "tail": ["b"], "year": [1999]})
    >>> read_table(frame, Reading()).row(0)
    ('a', 'likes', 'b', 1999)
    """
    if isinstance(source, str | Path):
        path = Path(source)
        where = path.name
        with _explained(path):
            frame = _read_file(path, reading)
    else:
        where = "the frame"
        frame = _read_frame(source, where, reading)
    return _without_holes(frame, where)


def read_questions(path: Path) -> pl.DataFrame:
    """Read a table of facts in which one entity of each row is open: empty, or a question mark."""
    with _explained(path):
        frame = _read_file(path, Reading())
    frame = frame.with_columns(pl.col(ROLES).cast(pl.String).str.strip_chars())
    for role in ("relation", "time"):
        rows = frame[role].is_null().arg_true()
        if len(rows):
            raise InputError(f"{path.name}: the {role} is empty in row {rows[0] + 1}; fill it in")
    return _not_empty(frame, path.name)


def require_ending(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written in the end."""
    if path.suffix.lower() not in (".csv", ".jsonl", ".parquet"):
        raise InputError(f"{path} should end in .csv, .jsonl or .parquet")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as its file's ending says, whole or not at all."""
    require_ending(path)
    ending = path.suffix.lower()
    with atomic_file(path) as draft:
        if ending == ".csv":
            frame.write_csv(draft)
        elif ending == ".jsonl":
            frame.write_ndjson(draft)
        else:
            frame.write_parquet(draft)


def is_table(path: Path) -> bool:
    """Whether a file's ending is one that read_table knows."""
    return _kind(path) in TEXT + JSON_LINES + PARQUET


def _kind(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return endings[-1] if endings else ""


def _read_file(path: Path, reading: Reading) -> pl.DataFrame:
    kind = _kind(path)
    if kind in TEXT:
        return _read_text(path, reading)
    if kind in JSON_LINES:
        with path.open("rb") as stream:
            marked = stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK
        # polars passes over the mark in CSV only.
        content = path.read_bytes()[len(BYTE_ORDER_MARK) :] if marked else path
        frame = pl.read_ndjson(content, infer_schema_length=None)
    elif kind in PARQUET and path.suffix.lower() in PARQUET:
        with _panics_unprinted():
            columns = pl.read_parquet_schema(path)
            chosen = _find_columns(list(columns), path.name, reading)
            frame = pl.read_parquet(path, columns=list(chosen.values()))
    else:
        raise InputError(f"{path} has an ending that is not known here; {FORMATS}")
    return _choose_columns(frame, path.name, reading)


@contextmanager
def _panics_unprinted() -> Iterator[None]:
    """Keep off stderr what polars' threads print when they give up on a mangled Parquet file."""
    with STDERR_LOCK:
        kept = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(nowhere)


def _read_text(path: Path, reading: Reading) -> pl.DataFrame:
    num_blank, first_line = _first_line(path)
    if "\ufffd" in first_line and "line" in _first_bad_line(path):
        raise _not_utf8(path)
    separator = _separator(first_line)
    header = [cell.strip() for cell in _cells(first_line, separator)]
    # Benchmarks come without a header: four columns (a fifth is ignored), the last a time.
    headless = (
        not any(getattr(reading, role) for role in ROLES)
        and not set(ROLES) <= {ALIASES.get(_folded(cell)) for cell in header}
        and len(header) in (4, 5)
        and _looks_like_a_time(header[3])
    )
    if headless:
        positions = {role: position for position, role in enumerate(ROLES)}
    else:
        chosen = _find_columns(header, path.name, reading)
        positions = {role: header.index(name) for role, name in chosen.items()}
    frame = pl.read_csv(
        path,
        has_header=False,
        schema={f"column {position}": pl.String for position in range(len(header))},
        separator=separator,
        skip_lines=num_blank,
        raise_if_empty=False,
    )
    if not headless:
        frame = frame.slice(1)
    return frame.select(
        **{role: pl.col(f"column {position}") for role, position in positions.items()}
    )


def _first_line(path: Path) -> tuple[int, str]:
    """The first line that is not blank, and how many blank ones stand above it."""
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
    raise _empty(path)


def _separator(line: str) -> str:
    """The first separator that makes four columns or more of a line."""
    for separator in "\t,;|":
        if len(_cells(line, separator)) >= 4:
            return separator
    return ","


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # too long a cell, or a lone carriage return
        return line.split(separator)


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _looks_like_a_time(cell: str) -> bool:
    return cell.strip()[:1].isdigit() or cell.strip()[:1] in "+-"


def _find_columns(columns: list[str], where: str, reading: Reading) -> dict[str, str]:
    """The column of each role: the one given, or the only one with a usual name."""
    chosen: dict[str, str] = {}
    for role in ROLES:
        given = cast("str | None", getattr(reading, role))
        matching = [
            name
            for name in columns
            if (name == given if given is not None else ALIASES.get(_folded(name)) == role)
        ]
        if given is None:
            taken = {getattr(reading, other) for other in ROLES}
            matching = [name for name in matching if name not in taken]
        if len(matching) == 1:
            chosen[role] = matching[0]
        elif matching:
            listed = ", ".join(map(repr, matching))
            raise InputError(
                f"{where}: which column holds the {role}, {listed}? call only one so, or for a "
                f"data set name it with --{role}"
            )
        else:
            listed = ", ".join(repr(name[:40]) for name in columns[:12]) or "none"
            missing = f"no column {given!r}" if given else f"no column for the {role}"
            raise InputError(
                f"{where}: {missing} among {listed}; call it {role}, or for a data set name it "
                f"with --{role}"
            )
    return chosen


def _choose_columns(frame: pl.DataFrame, where: str, reading: Reading) -> pl.DataFrame:
    chosen = _find_columns(frame.columns, where, reading)
    return frame.select(**{role: pl.col(name) for role, name in chosen.items()})


def _read_frame(source: object, where: str, reading: Reading) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        return _choose_columns(source.collect(), where, reading)
    if isinstance(source, pl.DataFrame):
        return _choose_columns(source, where, reading)
    if type(source).__module__.startswith("pandas") and hasattr(source, "columns"):
        # Column by column, so that pyarrow is not needed; by position, as names may stand twice.
        pandas_frame = cast(Any, source)
        names = [str(name) for name in pandas_frame.columns]
        chosen = _find_columns(names, where, reading)
        return pl.DataFrame(
            {
                role: _polars_series(pandas_frame.iloc[:, names.index(name)])
                for role, name in chosen.items()
            }
        )
    raise InputError(
        f"a data set cannot be made of {type(source).__name__}; give a name, a folder, a file "
        "or a polars or pandas frame"
    )


def _polars_series(column: Any) -> pl.Series:
    if column.dtype.kind == "M":
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return pl.Series(column.to_numpy("datetime64[us]"))
    if column.dtype.kind in "iuf" and column.notna().all():
        return pl.Series(column.to_numpy())
    values = column.astype(object).where(column.notna(), None).tolist()
    return pl.Series(values, strict=False)


def _without_holes(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Names as text without blanks around them; every cell filled, or the first holes named."""
    for role in ROLES[:3]:
        try:
            if frame[role].dtype.is_nested() or frame[role].dtype == pl.Binary:
                raise pl.exceptions.InvalidOperationError
            names = frame[role].cast(pl.String).str.strip_chars()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            kind = frame[role].dtype
            raise InputError(f"{where}: the {role} column holds {kind}, not names") from None
        frame = frame.with_columns(names.alias(role))
    if frame["time"].dtype in (pl.String, pl.Categorical, pl.Enum):
        frame = frame.with_columns(pl.col("time").cast(pl.String).str.strip_chars())
    text = [role for role in ROLES if frame[role].dtype == pl.String]
    frame = frame.with_columns(pl.when(pl.col(text) != "").then(pl.col(text)).name.keep())
    if frame.null_count().sum_horizontal().item() == 0:
        return _not_empty(frame, where)
    # Blank lines hold nothing at all; a fact with some of its cells is a mistake.
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    for role in ROLES:
        holes = (frame[role].is_null() & ~blank).arg_true()
        if len(holes):
            rows = ", ".join(f"row {row + 1}" for row in holes.head(3))
            more = f" and {len(holes) - 3:,} more" if len(holes) > 3 else ""
            raise InputError(
                f"{where}: the {role} is empty in {rows}{more}; fill it in or remove the rows"
            )
    return _not_empty(frame.filter(~blank), where)


def _not_empty(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    if frame.height == 0:
        raise InputError(f"{where} has columns but no facts")
    return frame


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).split(" (os error")[0]
        raise InputError(f"cannot read {path}: {reason}") from None
    except pl.exceptions.PolarsError as error:
        raise _explain(path, error) from None
    except pl.exceptions.PanicException:  # polars gave up on a mangled file
        raise InputError(f"{path} is damaged; write or fetch it again") from None


def _explain(path: Path, error: Exception) -> InputError:
    message = str(error)
    is_text = _kind(path) not in PARQUET
    if is_text and ("utf-8" in message.lower() or "utf8" in message.lower()):
        return _not_utf8(path)
    if "more fields" in message:
        return InputError(f"{path.name}: {_first_ragged_row(path)}; quote cells that hold one")
    if ("could not parse" in message and '"' in message) or "CSV malformed" in message:
        return InputError(
            f"{path.name}: a quotation mark is opened and never closed; quote the cells that hold "
            "one and double it there"
        )
    if "could not infer" in message or "empty reader" in message:  # JSON lines, none of them
        return _empty(path)
    first = message.strip().splitlines()[0] if message.strip() else type(error).__name__
    return InputError(f"{path.name} cannot be read as {_kind(path)[1:].upper()}: {first}")


def _empty(path: Path) -> InputError:
    return InputError(f"{path.name} is empty; a table of dated facts was expected")


def _not_utf8(path: Path) -> InputError:
    return InputError(
        f"{path.name} is not UTF-8 text ({_first_bad_line(path)}); save it again as UTF-8"
    )


def _first_bad_line(path: Path) -> str:
    if path.suffix.lower() in COMPRESSIONS:
        return "unpack it to see where"
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"line {number}"
    return "its bytes are not text"


def _first_ragged_row(path: Path) -> str:
    _, first_line = _first_line(path)
    separator = _separator(first_line)
    if path.suffix.lower() not in COMPRESSIONS:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream, delimiter=separator)
            width = 0
            # A field too long for csv stops the search: the row is then not named.
            with suppress(csv.Error):
                for row in rows:
                    width = width or len(row)
                    if len(row) > width:
                        return (
                            f"line {rows.line_num} has {len(row)} cells separated by "
                            f"{separator!r}, the first line {width}"
                        )
    return f"a line has more cells separated by {separator!r} than the first"
