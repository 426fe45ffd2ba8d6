"""Read a column of times, in any form, as whole numbers of one unit.

Each distinct time of a column is read once: as text (date_text.py), as a number (date_numbers.py),
or as a date that already is one.
"""

from dataclasses import replace

import polars as pl

from targcn.facts.cells import TEXT, as_cells, is_text, translate
from targcn.facts.columns import list_rows
from targcn.facts.date_numbers import read_numbers
from targcn.facts.date_text import read_text
from targcn.facts.moments import TimeColumn, Times, choose_zone, count_moments
from targcn.facts.read_options import ReadOptions
from targcn.facts.time_forms import NUMBER, Moments, TimeStyle
from targcn.facts.timeline import calendar_value


def read_times(
    column: pl.Series, where: str, options: ReadOptions, rows: pl.Series | None = None
) -> Times:
    """Read text, dates, datetimes or numbers without nulls, or say which rows are unreadable.

    `rows` are the positions of the cells in the source, if it has others as well.

    >>> months = read_times(pl.Series(["2014-03", "2013-12"]), "the table", ReadOptions())
    >>> months.unit, months.dated, months.values.to_list()
    ('month', True, [530, 527])
    """
    column = _as_formatted(column, options)
    written = TimeColumn(where, column, rows)
    if column.dtype in (pl.Date, pl.Datetime):
        return replace(_read_moments(written, options), ends=None)
    distinct, times = _read_distinct(written, options)
    return replace(times, values=_translate(column, distinct, times.values), ends=None)


def read_intervals(
    starts: pl.Series,
    ends: pl.Series,
    where: str,
    options: ReadOptions,
    rows: pl.Series | None = None,
) -> Times:
    """Read starts and ends, which are null where they are open, in one unit.

    Of a start that leaves something out, such as its day, the first one counts, of an end the last.

    >>> starts, ends = pl.Series(["1970", None]), pl.Series(["1971", "1970-02-01"])
    >>> days = read_intervals(starts, ends, "the table", ReadOptions(unit="day"))
    >>> days.values.to_list(), days.ends.to_list()
    ([0, None], [729, 31])
    """
    starts, ends = _with_one_type(_as_formatted(starts, options), _as_formatted(ends, options))
    written = TimeColumn(where, starts, rows, ends)
    if starts.dtype in (pl.Date, pl.Datetime):
        known = pl.concat([starts, ends]).is_not_null()
        times = _read_moments(written, options)
        first = _spread(times.values, known).head(len(starts))
        last = _spread(times.values, known).tail(len(ends))
    else:
        distinct, times = _read_distinct(written, options)
        first = _translate(starts, distinct, times.values)
        last = _translate(ends, distinct, times.ends)
    notes = list(times.notes)
    is_reversed = (last < first).fill_null(False)
    if is_reversed.any():
        which = is_reversed.arg_true()
        listed = list_rows(which, {row: f"{starts[row]} – {ends[row]}" for row in which[:3]}, rows)
        if options.reversed == "refuse":
            written.refuse(
                f"the end is before the start in {listed}; correct them, or give --reversed open "
                "to take such ends as open"
            )
        count = int(is_reversed.sum())
        notes.append(f"{count:,} ends before their starts are taken as open: {listed}")
        last = last.set(is_reversed, None)
    return replace(times, values=first, ends=last, notes=tuple(notes))


def _translate(cells: pl.Series, distinct: pl.Series, values: pl.Series | None) -> pl.Series:
    """The number of each cell, which is null where it is open."""
    assert values is not None
    if is_text(cells):
        return translate(cells, distinct, values)
    return cells.replace_strict(distinct, values, default=None, return_dtype=pl.Int64)


def _as_formatted(column: pl.Series, options: ReadOptions) -> pl.Series:
    """Text as encoded cells; so are numbers, if --date-format says what their digits mean."""
    is_formatted = options.date_format and column.dtype.is_integer()
    return as_cells(column.cast(pl.String) if is_formatted else column)


def _with_one_type(starts: pl.Series, ends: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Starts and ends of the same type; text if nothing else holds both."""
    empty = [pl.DataFrame({"time": column.clear()}) for column in (starts, ends)]
    try:
        dtype = pl.concat(empty, how="vertical_relaxed")["time"].dtype
    except pl.exceptions.PolarsError:
        dtype = TEXT
    if dtype in (TEXT, pl.String):
        starts, ends = (one if is_text(one) else one.cast(pl.String) for one in (starts, ends))
        return as_cells(starts), as_cells(ends)
    return starts.cast(dtype), ends.cast(dtype)


def _spread(values: pl.Series, known: pl.Series) -> pl.Series:
    """The values, with nulls between them where none is known."""
    return values.gather((known.cum_sum().cast(pl.Int64) - 1).set(~known, None))


def _read_distinct(written: TimeColumn, options: ReadOptions) -> tuple[pl.Series, Times]:
    """The distinct cells, which are text or numbers, and their times."""
    dtype = written.cells.dtype
    if not (is_text(written.cells) or dtype.is_integer() or dtype.is_float()):
        written.refuse(f"times of type {dtype} cannot be read; write ISO dates")
    distinct = written.distinct()  # far fewer than facts
    if not is_text(written.cells):
        return distinct, read_numbers(distinct, distinct, written, options)
    if not options.date_format and distinct.str.contains(NUMBER).all():
        return distinct, read_numbers(distinct, _parse_numbers(distinct), written, options)
    return read_text(distinct, written, options)


def _parse_numbers(text: pl.Series) -> pl.Series:
    whole = text.str.replace(r"[.]0*$", "").cast(pl.Int64, strict=False)
    return text.cast(pl.Float64) if whole.null_count() else whole


def _read_moments(written: TimeColumn, options: ReadOptions) -> Times:
    """Read a column of dates or datetimes."""
    column = written.known_cells
    # Years of other than four digits: polars cannot even print some of them.
    days = column.cast(pl.Date, strict=False).to_physical()
    first, last = (calendar_value(day, "day") for day in ("0001-01-01", "9999-12-31"))
    beyond = (~days.is_between(first, last).fill_null(False)).arg_true()
    if len(beyond):
        rows = list_rows(beyond, numbers=written.known_rows)
        written.refuse(f"times outside the years 1 to 9999 in {rows}; correct them")
    if not (isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone):
        return count_moments(_to_numpy(column), "day", written, options, TimeStyle(), [])
    clock = _to_numpy(column.dt.replace_time_zone(None))
    in_utc = _to_numpy(column.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
    moments, zone, note = choose_zone(clock, in_utc, options)
    return count_moments(moments, "day", written, options, TimeStyle(zone), [note])


def _to_numpy(column: pl.Series) -> Moments:
    return column.cast(pl.Datetime("us")).to_numpy()
