"""Read a column of times, in any form, as whole numbers of one unit.

What a time may look like is the table of time_forms.py. Here each distinct time of a column is
matched with it once; whatever does not fit is refused, with its rows.
"""

from dataclasses import replace
from typing import Final, Literal

import numpy as np
import polars as pl

from targcn.facts.columns import list_rows
from targcn.facts.date_numbers import read_numbers
from targcn.facts.moments import TimeColumn, Times, choose_zone, count_units, finest_unit
from targcn.facts.read_options import ReadOptions
from targcn.facts.time_forms import (
    ABSENT,
    NUMBER,
    PARTS,
    WORD_PARTS,
    WORDS,
    Form,
    Moments,
    TimeStyle,
    assemble,
)
from targcn.facts.timeline import UNITS, calendar_value

EXAMPLES: Final = "2014-10-15, 2014-10-15T08:30, 7 Apr 2014, 2014-10, 2014 or 17"
# What is known about each distinct text: how it is written, and its parts.
FOUND: Final = {
    "text": pl.String,
    "kind": pl.String,
    "precision": pl.Int64,
    "is_marked": pl.Boolean,
    "has_order": pl.Boolean,
    "has_zone": pl.Boolean,
}


def read_times(
    column: pl.Series, where: str, options: ReadOptions, rows: pl.Series | None = None
) -> Times:
    """Read text, dates, datetimes or numbers without nulls, or say which rows are unreadable.

    `rows` are the positions of the cells in the source, if it has others as well.

    >>> months = read_times(pl.Series(["2014-03", "2013-12"]), "the table", ReadOptions())
    >>> months.unit, months.dated, months.values.to_list()
    ('month', True, [530, 527])
    """
    if options.date_format and column.dtype.is_integer():
        column = column.cast(pl.String)
    written = TimeColumn(where, column, rows)
    if column.dtype in (pl.Date, pl.Datetime):
        return _read_moments(written, options)
    if not (column.dtype == pl.String or column.dtype.is_integer() or column.dtype.is_float()):
        written.refuse(f"times of type {column.dtype} cannot be read; write ISO dates")
    distinct = column.unique()  # far fewer than facts
    if column.dtype != pl.String:
        times = read_numbers(distinct, distinct, written, options)
    elif not options.date_format and distinct.str.contains(NUMBER).all():
        times = read_numbers(distinct, _parse_numbers(distinct), written, options)
    else:
        distinct, times = _read_text(distinct, written, options)
    values = column.replace_strict(distinct, times.values, return_dtype=pl.Int64)
    return replace(times, values=values)


def _parse_numbers(text: pl.Series) -> pl.Series:
    whole = text.str.replace(r"[.]0*$", "").cast(pl.Int64, strict=False)
    return text.cast(pl.Float64) if whole.null_count() else whole


def _read_moments(written: TimeColumn, options: ReadOptions) -> Times:
    """Read a column of dates or datetimes."""
    column = written.cells
    # Years of other than four digits: polars cannot even print some of them.
    days = column.cast(pl.Date, strict=False).to_physical()
    first, last = (calendar_value(day, "day") for day in ("0001-01-01", "9999-12-31"))
    beyond = (~days.is_between(first, last).fill_null(False)).arg_true()
    if len(beyond):
        rows = list_rows(beyond, numbers=written.rows)
        written.refuse(f"times outside the years 1 to 9999 in {rows}; correct them")
    if not (isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone):
        return _count(_to_numpy(column), "day", written, options, TimeStyle(), [])
    clock = _to_numpy(column.dt.replace_time_zone(None))
    in_utc = _to_numpy(column.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
    moments, zone, note = choose_zone(clock, in_utc, options)
    return _count(moments, "day", written, options, TimeStyle(zone), [note])


def _to_numpy(column: pl.Series) -> Moments:
    return column.cast(pl.Datetime("us")).to_numpy()


def _count(
    moments: Moments,
    precision: str,
    written: TimeColumn,
    options: ReadOptions,
    style: TimeStyle,
    notes: list[str],
) -> Times:
    if options.unit == "step":
        written.refuse("unit step is for integers, but these times are dates")
    unit = options.unit or (finest_unit(moments) if precision == "day" else precision)
    return Times(unit, True, count_units(moments, unit), style=style, notes=tuple(notes))


def _read_text(
    distinct: pl.Series, written: TimeColumn, options: ReadOptions
) -> tuple[pl.Series, Times]:
    """The texts in some order, and their times."""
    style = TimeStyle(date_order=options.date_order, date_format=options.date_format)
    found, rest = _match_forms(distinct, style.forms)
    problems = _describe_misfits(found, rest, written, options)
    if not found.height:
        written.refuse(*problems)
    notes: list[str] = []
    if found["has_order"].any():
        order, said = _choose_order(found.filter("has_order"), written, options)
        style = replace(style, date_order=order)
        (notes if order else problems).extend(said)
        found = _put_day_first(found, order)
    parts = found.select(pl.col(name).fill_null(ABSENT) for name in PARTS if name in found.columns)
    clock, offsets = assemble({name: parts[name].to_numpy() for name in parts.columns})
    unknown = found["text"].filter(pl.Series(np.isnat(clock)))
    if len(unknown):
        rows = written.rows_with(unknown)
        problems.append(f"times that are not in the calendar: {rows}; correct them")
    precision = UNITS[int(found["precision"].min())]  # type: ignore[arg-type]
    if found["is_marked"].any():
        rows = written.rows_with(found.filter("is_marked")["text"])
        if options.unit and UNITS.index(options.unit) > UNITS.index(precision):
            problems.append(f"{rows} leave out a month or day; give --unit {precision}")
        elif not options.unit and found["precision"].n_unique() > 1:
            notes.append(f"all times are read by {precision}, as {rows} leave out a month or day")
    if problems:
        written.refuse(*problems)
    if (found["kind"] == "a quarter").any():
        notes.append("quarters are read as their first month")
    if found["has_zone"].any():
        clock, zone, note = choose_zone(clock, clock - offsets * np.timedelta64(1, "m"), options)
        style = replace(style, timezone=zone)
        notes.append(note)
    elif options.timezone:
        notes.append("the times have no zone, so that --timezone changes nothing")
    return found["text"], _count(clock, precision, written, options, style, notes)


def _match_forms(texts: pl.Series, forms: tuple[Form, ...]) -> tuple[pl.DataFrame, pl.Series]:
    """The texts that have a form, each with its parts, and the rest."""
    frames = [pl.DataFrame(schema=FOUND)]
    for form in forms:
        hits = texts.str.contains(form.pattern)
        if hits.any():
            frames.append(_find_parts(texts.filter(hits), form))
            texts = texts.filter(~hits)
    return pl.concat(frames, how="diagonal"), texts


def _find_parts(texts: pl.Series, form: Form) -> pl.DataFrame:
    parts = texts.str.extract_groups(form.pattern).struct.unnest()
    kind = pl.lit(form.kind)
    if form.kind == "a date":
        with_hour = pl.when(pl.col("hour").is_not_null())
        with_zone = pl.when(pl.col("zone").is_not_null())
        kind = with_hour.then(pl.lit("a datetime")).otherwise(kind)
        kind = with_zone.then(pl.lit("a datetime with zone")).otherwise(kind)
    return parts.select(
        *(_to_numbers(parts[name]) for name in parts.columns if name != "zone"),
        text=texts,
        kind=kind,
        precision=pl.lit(UNITS.index(form.unit), dtype=pl.Int64),
        is_marked=pl.lit(form.is_marked),
        has_order=pl.lit(form.has_order),
        has_zone=pl.col("zone").is_not_null() if "zone" in parts.columns else pl.lit(False),
    )


def _to_numbers(part: pl.Series) -> pl.Series:
    if part.name in WORD_PARTS:
        words = part.str.to_lowercase().str.head(3)
        return words.replace_strict(WORDS, default=None, return_dtype=pl.Int64)
    if part.name == "fraction":
        part = part.str.pad_end(6, "0").str.head(6)
    return part.cast(pl.Int64)


def _describe_misfits(
    found: pl.DataFrame, rest: pl.Series, written: TimeColumn, options: ReadOptions
) -> list[str]:
    """What is said about texts without a form, and about texts of different forms."""
    is_number = rest.str.contains(NUMBER) & (options.date_format is None)
    problems = []
    if not is_number.all():
        what, remedy = (
            "neither dates nor whole numbers",
            f"write them like {EXAMPLES}, or give --date-format",
        )
        if options.date_format:
            what, remedy = f"not like {options.date_format}", "correct them or --date-format"
        rows = written.rows_with(rest.filter(~is_number))
        problems.append(f"times that are {what}: {rows}; {remedy}")
    # A date whose day is marked as unknown is a date.
    kinds = found.select(
        "text", pl.when("is_marked").then(pl.lit("a date")).otherwise("kind").alias("kind")
    )
    numbers = pl.DataFrame({"text": rest.filter(is_number)}).with_columns(kind=pl.lit("a number"))
    by_kind = (
        pl.concat([kinds, numbers])
        .group_by("kind")
        .agg("text")
        .sort(pl.col("text").list.len(), "kind")
    )
    if by_kind.height > 1:
        rarest, *others = by_kind["kind"]
        rows = written.rows_with(by_kind["text"][0])
        problems.append(
            f"times of different forms: {rarest} in {rows}, {' and '.join(others)} elsewhere; "
            "write all in the same form"
        )
    return problems


def _choose_order(
    dates: pl.DataFrame, written: TimeColumn, options: ReadOptions
) -> tuple[Literal["dmy", "mdy"] | None, list[str]]:
    """Whether the day or the month comes first in dates like 4/7/2012, as some date shows."""
    if options.date_order:
        return options.date_order, []
    day_first, month_first = (dates.filter(pl.col(name) > 12)["text"] for name in ("day", "month"))
    if not len(day_first) and not len(month_first):
        return None, [
            f"dates like {dates['text'].min()!r} may begin with the day or with the month, and no "
            "row decides it; give --date-order dmy or --date-order mdy"
        ]
    if len(day_first) and len(month_first):
        first, second = written.rows_with(day_first), written.rows_with(month_first)
        return None, [f"the day comes first in {first}, but the month in {second}; correct them"]
    if len(day_first):
        return "dmy", [f"dates begin with the day (--date-order dmy), like {day_first.min()!r}"]
    return "mdy", [f"dates begin with the month (--date-order mdy), like {month_first.min()!r}"]


def _put_day_first(dates: pl.DataFrame, order: str | None) -> pl.DataFrame:
    is_swapped = pl.col("has_order") & (order == "mdy")
    return dates.with_columns(
        day=pl.when(is_swapped).then("month").otherwise("day"),
        month=pl.when(is_swapped).then("day").otherwise("month"),
    )
