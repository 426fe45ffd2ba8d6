"""The rows of a table of facts: which of them are taken, and what their cells hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.cells import (
    distinct_texts,
    encode_text,
    find_cells,
    is_text,
    list_rows,
    replace_texts,
)
from targcn.facts.reading.columns import NAMES, find_columns
from targcn.facts.reading.options import ReadOptions

# Cells that stand for nothing.
MISSING: Final = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "-"),
    *("####-##-##", "0000-00-00"),
)
# What an end may hold as well where there is none yet.
STILL: Final = ("present", "now", "today", "current", "ongoing")
# Types of columns that hold no names, besides nested ones.
NO_NAMES: Final = (pl.Binary, pl.Duration, pl.Object)
# The last day of databases, which stands for an end that is not known.
LAST_DAY: Final = "9999-12-31"


@dataclass(frozen=True)
class FactTable:
    """Names as text, times as written, no empty cells; `where` is what messages call the table.

    All text is encoded (cells.py). Of intervals, a start or an end that is open is null.
    """

    where: str
    frame: pl.DataFrame
    # The positions of its rows in the source, if some were left out.
    rows: pl.Series | None = None
    # What a user should know about the cells.
    notes: tuple[str, ...] = ()

    @property
    def has_intervals(self) -> bool:
        return "end" in self.frame.columns

    @property
    def times(self) -> list[pl.Series]:
        """The times as they are written, or the starts and the ends."""
        return [column for column in self.frame if column.name not in NAMES]


def needed_columns(columns: Sequence[str], where: str, options: ReadOptions) -> list[str]:
    """The columns of all roles and those that --where names."""
    chosen = find_columns(columns, where, options)
    known = list(dict.fromkeys([*columns, *chosen]))
    condition = options.where
    asked = [] if condition is None else _parse(condition).meta.root_names()
    for name in asked:
        if name not in known:
            listed = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
            raise _misfit(str(condition), where, f"there is no column {name!r} among {listed}")
    return [name for name in dict.fromkeys([*chosen.values(), *asked]) if name in columns]


def choose_rows(table: pl.LazyFrame, where: str, options: ReadOptions) -> FactTable:
    """The columns of all roles, of the rows that --where keeps."""
    schema = table.collect_schema()
    names = schema.names()
    chosen = find_columns(names, where, options)
    table = table.select(needed_columns(names, where, options))
    roles = {role: pl.col(name) for role, name in chosen.items()}
    notes = []
    for role, name in chosen.items():
        if role in NAMES and (schema[name].is_nested() or schema[name] in NO_NAMES):
            raise InputError(f"{where}: the {role} column holds {schema[name]}, not names")
    encoded = {role: _encode(role, column, schema[chosen[role]]) for role, column in roles.items()}
    facts = table.select(**encoded).collect(engine="streaming")
    num_rows = facts.height
    if options.where is not None:
        # A role is also known by its own name, unless a column of that name is something else.
        aliases = {role: column for role, column in roles.items() if role not in names}
        facts = facts.filter(_mask(table.with_columns(**aliases), where, options.where, num_rows))
        notes.append(f"--where kept {facts.height:,} of {num_rows:,} rows")
        if not facts.height:
            raise InputError(f"{where}: --where {options.where!r} keeps none of {num_rows:,} rows")
        if len(facts) < num_rows:
            where += " (rows counted after --where)"
    return FactTable(where, facts, notes=tuple(notes))


def _encode(role: str, column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Names as text, and times as text if they are any."""
    if role in NAMES:
        return encode_text(column.cast(pl.String), pl.String())
    return column.fill_nan(None) if dtype.is_float() else encode_text(column, dtype)


def _mask(table: pl.LazyFrame, where: str, condition: str, num_rows: int) -> pl.Series:
    """Which rows of a table a condition keeps."""
    kept = _parse(condition)
    asked = table.select(kept.meta.root_names())
    try:
        mask = asked.select(kept).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        try:
            mask = _loosen(asked.collect()).select(kept)
        except pl.exceptions.PolarsError:
            raise _misfit(condition, where, str(error).splitlines()[0]) from None
    if mask.height != num_rows or mask.dtypes != [pl.Boolean]:
        raise _misfit(condition, where, "it is not true or false for each row")
    return mask.to_series()


def _parse(condition: str) -> pl.Expr:
    try:
        return pl.sql_expr(condition)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(
            f"--where {condition!r} is no SQL expression: {str(error).splitlines()[0]}; write it "
            "like \"relation != 'x'\""
        ) from None


def _loosen(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that is all numbers as numbers, and dates as ISO text, for comparisons with those."""
    loose = {}
    for column in frame:
        if column.dtype == pl.String:
            numbers = column.cast(pl.Float64, strict=False)
            loose[column.name] = numbers if numbers.null_count() == column.null_count() else column
        elif column.dtype.is_temporal():
            # Midnight is the date alone, so that it equals that date.
            loose[column.name] = column.cast(pl.String).str.replace(r" 00:00:00(\.0+)?$", "")
    return frame.with_columns(**loose)


def _misfit(condition: str, where: str, problem: str) -> InputError:
    return InputError(f"--where {condition!r} does not fit {where}: {problem}")


def check_cells(table: FactTable, options: ReadOptions) -> FactTable:
    """Tidy names, and leave out blank rows and rows with a missing cell.

    Unless missing cells may be dropped, they are refused. A start or an end may be missing, not
    both.
    """
    where = table.where
    frame, notes = _tidy(table.frame)
    words = MISSING if options.missing != "keep" else ("",)
    missing = {name: _find_missing(frame[name], words) for name in NAMES}
    if "end" in frame.columns:
        frame, said = _open_ends(frame)
        notes += said
        missing["start and end"] = frame["start"].is_null() & frame["end"].is_null()
    else:
        missing["time"] = _find_missing(frame["time"], words)
    rows = None
    if any(is_hole.any() for is_hole in missing.values()):
        holed = pl.DataFrame(missing)
        is_blank = holed.select(pl.all_horizontal(pl.all())).to_series()
        rows = (~holed.select(pl.any_horizontal(pl.all())).to_series()).arg_true()
        holes = {role: (is_hole & ~is_blank).arg_true() for role, is_hole in missing.items()}
        holes = {role: places for role, places in holes.items() if len(places)}
        if holes and options.missing == "drop":
            counts = ", ".join(f"{role} {len(places):,}" for role, places in holes.items())
            dropped = frame.height - len(rows) - int(is_blank.sum())
            notes.append(f"{dropped:,} rows were dropped since a cell is missing: {counts}")
        elif holes:
            raise InputError(f"{where}: {_describe_holes(frame, holes)}")
        frame = frame[rows]
    require_rows(frame, where)
    return FactTable(where, frame, rows, (*table.notes, *notes))


def _open_ends(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Starts and ends with null where they are open, and a note about ends that say so in words."""
    end, notes = frame["end"], []
    is_open = pl.Series([False]).new_from_index(0, frame.height)
    if is_text(end):
        is_open = find_cells(
            end,
            lambda texts: texts.str.to_lowercase().is_in(STILL) | texts.str.starts_with(LAST_DAY),
        )
    elif end.dtype in (pl.Date, pl.Datetime):
        is_open = end.dt.year() == int(LAST_DAY[:4])
    if is_open.any():
        said = list_rows(is_open.arg_true(), end)
        notes.append(f"facts whose end is {LAST_DAY} or a word like 'present' have none: {said}")
    starts = pl.when(~_find_missing(frame["start"], MISSING)).then(frame["start"])
    is_open = is_open.fill_null(True) | _find_missing(end, MISSING)
    return frame.with_columns(start=starts, end=pl.when(~is_open).then(end)), notes


def _find_missing(cells: pl.Series, words: tuple[str, ...]) -> pl.Series:
    if not is_text(cells):
        return cells.is_null()
    return find_cells(cells, lambda texts: texts.is_in(words)).fill_null(True)


def _describe_holes(frame: pl.DataFrame, holes: dict[str, pl.Series]) -> str:
    problems, has_words = [], False
    for role, rows in holes.items():
        if role not in frame.columns:
            problems.append(f"{role} are both missing in {list_rows(rows)}")
            continue
        cells = frame[role]
        problems.append(f"the {role} is missing in {list_rows(rows, cells)}")
        has_words |= role in NAMES and bool((distinct_texts(cells[rows]) != "").any())
    keep = ", or --missing keep if these are names" if has_words else ""
    return f"{'; '.join(problems)}; fill it in, or give --missing drop to drop the rows{keep}"


def _tidy(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Remove blanks around texts, write each in one Unicode form (NFC), and note merged names."""
    num_merged = 0
    for roles in (["subject", "object"], ["relation"], frame.columns[len(NAMES) :]):
        cells = [frame[role] for role in roles if is_text(frame[role])]
        if not cells:
            continue
        written = distinct_texts(*cells)
        tidied = _tidy_texts(written)
        is_changed = written != tidied
        if not is_changed.any():
            continue
        changed = tidied.filter(is_changed)
        if roles[0] in NAMES:
            num_merged += int(tidied.is_in(changed.implode()).sum()) - changed.n_unique()
        texts = written.filter(is_changed)
        frame = frame.with_columns(replace_texts(column, texts, changed) for column in cells)
    if not num_merged:
        return frame, []
    what = "names that differed in outer blanks or Unicode form alone were"
    return frame, [f"{num_merged:,} {what} merged with others"]


def _tidy_texts(texts: pl.Series) -> pl.Series:
    texts = texts.str.strip_chars()
    is_accented = texts.str.len_bytes() != texts.str.len_chars()
    composed = texts.filter(is_accented).str.normalize("NFC")
    return texts.scatter(is_accented.arg_true(), composed)


def require_rows(frame: pl.DataFrame, where: str) -> None:
    if frame.height == 0:
        raise InputError(f"{where} has columns but no facts")
