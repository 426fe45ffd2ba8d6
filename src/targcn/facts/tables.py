"""Any table of dated facts, read as four columns without holes.

Takes a file (CSV, TSV, JSON lines, Parquet, each as it is or compressed) or a polars or pandas
frame; gives a polars frame of subject, relation, object (text) and time (as written). Next room:
dates, which understands the times, and opening, which gives out ids.
"""

import csv
from pathlib import Path
from typing import Any, cast

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading import Reading

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
        try:
            frame = _read_file(path, reading)
        except OSError as error:
            reason = error.strerror or str(error).split(" (os error")[0]
            raise InputError(f"cannot read {path}: {reason}") from None
        except pl.exceptions.PolarsError as error:
            raise _explain(path, error) from None
        except pl.exceptions.PanicException as error:  # polars gave up on a mangled file
            raise _explain(path, error) from None
    else:
        where = "the frame"
        frame = _choose_columns(_polars_frame(source), where, reading)
    return _without_holes(frame, where)


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
        if path.stat().st_size == 0:
            raise InputError(f"{path.name} is empty; a table of dated facts was expected")
        frame = pl.read_ndjson(path, infer_schema_length=None)
    elif kind in PARQUET and path.suffix.lower() in PARQUET:
        columns = pl.read_parquet_schema(path)
        chosen = _find_columns(list(columns), path.name, reading)
        frame = pl.read_parquet(path, columns=list(chosen.values()))
    else:
        raise InputError(f"{path} has an ending that is not known here; {FORMATS}")
    return _choose_columns(frame, path.name, reading)


def _read_text(path: Path, reading: Reading) -> pl.DataFrame:
    first_line = _first_line(path)
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
        raise_if_empty=False,
    )
    if not headless:
        filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
        frame = frame.slice(filled.arg_max() + 1)  # type: ignore[operator]
    return frame.select(
        **{role: pl.col(f"column {position}") for role, position in positions.items()}
    )


def _first_line(path: Path) -> str:
    """The first line that is not blank, unpacked by polars where it is compressed."""
    lines = pl.read_csv(
        path,
        has_header=False,
        separator="\x1f",
        quote_char=None,
        n_rows=100,
        infer_schema=False,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
        raise_if_empty=False,
    )
    filled = lines.to_series().drop_nulls() if lines.width else pl.Series([], dtype=pl.String)
    filled = filled.filter(filled.str.strip_chars() != "")
    if len(filled) == 0:
        raise InputError(f"{path.name} is empty; a table of dated facts was expected")
    return str(filled[0])


def _separator(line: str) -> str:
    """The first separator that makes four columns or more of a line."""
    for separator in "\t,;|":
        if len(_cells(line, separator)) >= 4:
            return separator
    return ","


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


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
                f"{where}: which column holds the {role}, {listed}? name it with --{role}"
            )
        else:
            listed = ", ".join(repr(name[:40]) for name in columns[:12]) or "none"
            missing = f"no column {given!r}" if given else f"no column for the {role}"
            raise InputError(f"{where}: {missing} among {listed}; name it with --{role}")
    return chosen


def _choose_columns(frame: pl.DataFrame, where: str, reading: Reading) -> pl.DataFrame:
    chosen = _find_columns(frame.columns, where, reading)
    return frame.select(**{role: pl.col(name) for role, name in chosen.items()})


def _polars_frame(source: object) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    if type(source).__module__.startswith("pandas"):
        pandas_frame = cast(Any, source)
        # Column by column, so that pyarrow is not needed.
        return pl.DataFrame(
            [_polars_series(str(name), pandas_frame[name]) for name in pandas_frame.columns]
        )
    raise InputError(
        f"a data set cannot be made of {type(source).__name__}; give a name, a folder, a file "
        "or a polars or pandas frame"
    )


def _polars_series(name: str, column: Any) -> pl.Series:
    if column.dtype.kind in "iufM":
        return pl.Series(name, column.to_numpy())
    values = column.astype(object).where(column.notna(), None).tolist()
    return pl.Series(name, values, strict=False)


def _without_holes(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Names as text without blanks around them; every cell filled, or the first holes named."""
    for role in ROLES[:3]:
        if frame[role].dtype.is_nested() or frame[role].dtype == pl.Binary:
            raise InputError(f"{where}: the {role} column holds {frame[role].dtype}, not names")
    frame = frame.with_columns(pl.col(ROLES[:3]).cast(pl.String).str.strip_chars())
    if frame["time"].dtype == pl.String:
        frame = frame.with_columns(pl.col("time").str.strip_chars())
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


def _explain(path: Path, error: BaseException) -> InputError:
    message = str(error)
    if "utf-8" in message.lower() or "utf8" in message.lower():
        return InputError(
            f"{path.name} is not UTF-8 text ({_first_bad_line(path)}); save it again as UTF-8"
        )
    if "more fields" in message:
        return InputError(f"{path.name}: {_first_ragged_row(path)}; quote cells that hold one")
    if "could not parse" in message and '"' in message:
        return InputError(f"{path.name}: a quotation mark is opened and never closed")
    first = message.strip().splitlines()[0] if message.strip() else type(error).__name__
    return InputError(f"{path.name} cannot be read as {_kind(path)[1:].upper()}: {first}")


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
    separator = _separator(_first_line(path))
    if path.suffix.lower() not in COMPRESSIONS:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = csv.reader(stream, delimiter=separator)
            width = len(next(rows))
            for row in rows:
                if len(row) > width:
                    return (
                        f"line {rows.line_num} has {len(row)} cells separated by {separator!r}, "
                        f"the first line {width}"
                    )
    return f"a line has more cells separated by {separator!r} than the first"
