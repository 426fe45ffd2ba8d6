"""Read a column of times, in any form, as whole numbers of one unit.

Each distinct time of a column is read once: as text, as a number (numbers.py), or as a date that
already is one. What a time may look like is the table of forms.py; what does not fit is refused,
with its rows.
"""

from dataclasses import replace
from typing import Final, Literal

import numpy as np
import polars as pl

from targcn.facts.reading.cells import as_cells, distinct_texts, is_text, list_rows, translate
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.times.column import TimeColumn, Times, last_moments
from targcn.facts.times.forms import (
    ABSENT,
    IN_NO_CALENDAR,
    INTERVAL_FORMS,
    NUMBER,
    UNITS,
    WORD_PARTS,
    WORDS,
    Form,
    Moments,
    Numbers,
    TimeStyle,
    assemble,
)
from targcn.facts.times.numbers import read_numbers
from targcn.facts.times.timeline import calendar_value

EXAMPLES: Final = "2014-10-15, 2014-10-15T08:30, 7 Apr 2014, 2014-10, 2014 or 17"
WHOLE: Final = "a start is the first of what is left open, an end the last"


def read_times(table: FactTable, options: ReadOptions, unit: str | None = None) -> Times:
    """Read text, dates, datetimes or numbers, or say which rows are unreadable.

    Of a start that leaves something out, such as its day, the first one counts, of an end the last.
    Dates are counted in the `unit`, if one is given, whatever is asked for or found.

    >>> table = FactTable("the table", pl.DataFrame({"time": ["2014-03", "2013-12"]}))
    >>> months = read_times(table, ReadOptions())
    >>> months.unit, months.dated, months.columns[0].to_list()
    ('month', True, [530, 527])
    >>> frame = pl.DataFrame({"start": ["1970", None], "end": ["1971", "1970-02-01"]})
    >>> days = read_times(FactTable("the table", frame), ReadOptions(unit="day"))
    >>> [column.to_list() for column in days.columns]
    [[0, None], [729, 31]]
    """
    column = TimeColumn(table, _cast_alike(table.times, options), options, unit)
    times = _read(column)
    if not column.has_intervals:
        return times
    first, last = times.columns
    is_reversed = (last < first).fill_null(False)
    if is_reversed.any():
        starts, ends = column.parts
        which = is_reversed.arg_true()
        shown = {row: f"{starts[row]} – {ends[row]}" for row in which[:3]}
        listed = list_rows(which, shown, table.rows)
        if options.reversed == "refuse":
            column.refuse(
                f"the end is before the start in {listed}; correct them, or give --reversed open "
                "to take such ends as open"
            )
        count = int(is_reversed.sum())
        note = f"{count:,} ends before their starts are taken as open: {listed}"
        columns = first, last.set(is_reversed, None)
        times = replace(times, columns=columns, notes=(*times.notes, note))
    return times


def _cast_alike(parts: list[pl.Series], options: ReadOptions) -> list[pl.Series]:
    """Columns of one type, which is encoded text if no other holds them all.

    Numbers are text too, if --date-format says what their digits mean.
    """
    if options.date_format:
        parts = [cells.cast(pl.String) if cells.dtype.is_integer() else cells for cells in parts]
    parts = [as_cells(cells).alias("time") for cells in parts]
    try:
        empty = pl.concat([cells.clear().to_frame() for cells in parts], how="vertical_relaxed")
        return [cells.cast(empty["time"].dtype) for cells in parts]
    except pl.exceptions.PolarsError:
        return [as_cells(cells.cast(pl.String)) for cells in parts]


def _read(column: TimeColumn) -> Times:
    """Read each distinct cell, of which there are far fewer than facts."""
    parts, dtype = column.parts, column.parts[0].dtype
    is_dated = dtype in (pl.Date, pl.Datetime)
    if is_text(parts[0]):
        distinct, times = _read_texts(column, distinct_texts(*parts))
    elif is_dated or dtype.is_integer() or dtype.is_float():
        distinct = pl.concat([cells.unique() for cells in parts]).unique().drop_nulls()
        times = _read_dates(column, distinct) if is_dated else read_numbers(column, distinct)
    else:
        column.refuse(f"times of type {dtype} cannot be read; write ISO dates")
    columns = tuple(
        translate(cells, distinct, values)
        for cells, values in zip(parts, times.columns, strict=False)
    )
    return replace(times, columns=columns, style=column.style, notes=tuple(column.notes))


def _read_dates(column: TimeColumn, dates: pl.Series) -> Times:
    """Read dates or datetimes."""
    days = dates.cast(pl.Date, strict=False).to_physical()
    first, last = (calendar_value(day, "day") for day in ("0001-01-01", "9999-12-31"))
    is_within = days.is_between(first, last).fill_null(False)
    if not is_within.all():
        rows = column.rows_with(dates.filter(~is_within))
        column.refuse(f"times outside the years 1 to 9999 in {rows}; correct them")
    zone = getattr(dates.dtype, "time_zone", None)
    exact = dates.cast(pl.Datetime("us", zone))
    moments = exact.dt.replace_time_zone(None).to_numpy()
    if zone:
        in_utc = exact.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        moments = column.choose_zone(moments, in_utc.to_numpy())
    lasts = last_moments(moments, "day") if dates.dtype == pl.Date else moments
    return column.count(moments, lasts, "day")


def _read_texts(column: TimeColumn, distinct: pl.Series) -> tuple[pl.Series, Times]:
    """The texts in some order, and their times."""
    options = column.options
    if not options.date_format and distinct.str.contains(NUMBER).all():
        return distinct, read_numbers(column, distinct)
    column.style = TimeStyle(date_order=options.date_order, date_format=options.date_format)
    has_more = column.has_intervals and not options.date_format
    dates, rest = _match_forms(distinct, column.style.forms + (INTERVAL_FORMS if has_more else ()))
    _refuse_misfits(column, dates, rest)
    if dates["has_order"].any():
        dates = _put_day_first(column, dates)
    precision = UNITS[int(dates["precision"].min())]  # type: ignore[arg-type]
    clock, offsets = _assemble(dates)
    clock[(dates["kind"] == IN_NO_CALENDAR.kind).to_numpy()] = np.datetime64("NaT", "us")
    if np.isnat(clock).any():
        unknown = dates["text"].filter(pl.Series(np.isnat(clock)))
        strays = f"times that are not in the calendar: {column.rows_with(unknown)}"
        if column.has_intervals and "year" in (options.unit, precision):
            clock = np.where(np.isnat(clock), _assemble(dates.select("year"))[0], clock)
            column.notes.append(f"{strays}; only their years are read")
        if np.isnat(clock).any():
            column.refuse(f"{strays}; correct them")
    _find_vague(column, dates, precision)
    if dates["has_zone"].any():
        clock = column.choose_zone(clock, clock - offsets * np.timedelta64(1, "m"))
    elif options.timezone:
        column.notes.append("the times have no zone, so that --timezone changes nothing")
    last = clock.copy()
    for unit, span in dates.select("precision", "span").unique().rows():
        chosen = ((dates["precision"] == unit) & (dates["span"] == span)).to_numpy()
        last[chosen] = last_moments(clock[chosen], UNITS[unit], span)
    return dates["text"], column.count(clock, last, precision)


def _refuse_misfits(column: TimeColumn, dates: pl.DataFrame, rest: pl.Series) -> None:
    """Say what is wrong with texts without a form, and with texts of different forms."""
    date_format = column.options.date_format
    is_number = rest.str.contains(NUMBER) & (date_format is None)
    if not is_number.all():
        what, remedy = (
            "neither dates nor whole numbers",
            f"write them like {EXAMPLES}, or say how they are, like --date-format '%d/%m/%y'",
        )
        if date_format:
            what, remedy = f"not like {date_format}", "correct them or --date-format"
        rows = column.rows_with(rest.filter(~is_number))
        column.refuse(f"times that are {what}: {rows}; {remedy}")
    # A date whose day is marked as unknown is a date; so is a month that begins an interval.
    is_date = pl.col("is_marked")
    if column.has_intervals:
        is_date |= ~pl.col("kind").str.starts_with("a datetime")
    kinds = dates.select("text", kind=pl.when(is_date).then(pl.lit("a date")).otherwise("kind"))
    numbers = pl.DataFrame({"text": rest.filter(is_number)})
    by_kind = pl.concat([kinds, numbers.with_columns(kind=pl.lit("a number"))])
    by_kind = by_kind.group_by("kind").agg("text").sort(pl.col("text").list.len(), "kind")
    if by_kind.height > 1:
        rarest, *others = by_kind["kind"]
        column.refuse(
            f"times of different forms: {rarest} in {column.rows_with(by_kind['text'][0])}, "
            f"{' and '.join(others)} elsewhere; write all in the same form"
        )


def _put_day_first(column: TimeColumn, dates: pl.DataFrame) -> pl.DataFrame:
    """Dates like 4/7/2012 with their day as such, in the order that some date shows."""
    order = column.options.date_order or _find_order(column, dates.filter("has_order"))
    column.style = replace(column.style, date_order=order)
    is_swapped = pl.col("has_order") & (order == "mdy")
    return dates.with_columns(
        day=pl.when(is_swapped).then("month").otherwise("day"),
        month=pl.when(is_swapped).then("day").otherwise("month"),
    )


def _find_order(column: TimeColumn, dates: pl.DataFrame) -> Literal["dmy", "mdy"] | None:
    # What is above 12 is a day; dates with two such numbers are in no calendar.
    late_first, late_second = pl.col("day") > 12, pl.col("month") > 12
    day_first = dates.filter(late_first & ~late_second)["text"]
    month_first = dates.filter(late_second & ~late_first)["text"]
    unclear = dates.filter(~late_first)["text"]
    if len(day_first) and len(month_first):
        first, second = column.rows_with(day_first), column.rows_with(month_first)
        column.refuse(f"the day comes first in {first}, but the month in {second}; correct them")
    order: Literal["dmy", "mdy"] = "dmy" if len(day_first) else "mdy"
    if len(day_first) or len(month_first):
        part, shown = ("day", day_first) if order == "dmy" else ("month", month_first)
        example = repr(shown.min())
        column.notes.append(f"dates begin with the {part} (--date-order {order}), like {example}")
        return order
    if len(unclear):
        column.refuse(
            f"dates like {unclear.min()!r} may begin with the day or with the month, and no "
            "row decides it; give --date-order dmy or --date-order mdy"
        )
    return None


def _find_vague(column: TimeColumn, dates: pl.DataFrame, precision: str) -> None:
    """Note times that leave out a month, a day, or some of their years."""
    unit = column.options.unit
    is_coarsest = dates["precision"] == UNITS.index(precision)
    is_vague = dates["is_marked"] | (is_coarsest & column.has_intervals)
    is_finer = unit is not None and UNITS.index(unit) > UNITS.index(precision)
    if is_vague.any() and (is_finer or (not unit and dates["precision"].n_unique() > 1)):
        rows = column.rows_with(dates["text"].filter(is_vague))
        vague = f"{rows} leave out a month or day"
        if not is_finer:
            column.notes.append(f"all times are read by {precision}, as {vague}")
        elif column.has_intervals:
            column.notes.append(f"{vague}: {WHOLE}")
        else:
            column.refuse(f"{vague}; give --unit {precision}")
    is_long = dates["kind"].is_in(("a decade", "a century"))
    if is_long.any():
        rows = column.rows_with(dates["text"].filter(is_long))
        column.notes.append(f"{rows} leave out some of the year: {WHOLE}")
    if (dates["kind"] == "a quarter").any():
        whole = f"whole: {WHOLE}" if column.has_intervals else "as their first month"
        column.notes.append(f"quarters are read {whole}")


def _match_forms(texts: pl.Series, forms: tuple[Form, ...]) -> tuple[pl.DataFrame, pl.Series]:
    """The texts that have a form, each with its parts, and the rest."""
    frames = [_find_parts(texts.clear(), forms[0])]
    for form in forms:
        hits = texts.str.contains(form.pattern)
        if hits.any():
            frames.append(_find_parts(texts.filter(hits), form))
            texts = texts.filter(~hits)
    return pl.concat(frames, how="diagonal"), texts


def _find_parts(texts: pl.Series, form: Form) -> pl.DataFrame:
    """The parts of texts of one form as numbers, and what is known about each text."""
    parts = texts.str.extract_groups(form.pattern).struct.unnest()
    kind, precision = pl.lit(form.kind), pl.lit(UNITS.index(form.unit), dtype=pl.Int64)
    has_zone = pl.col("zone").is_not_null() if "zone" in parts.columns else pl.lit(False)
    if form.kind == "a date":
        with_clock = pl.when(pl.col("hour").is_not_null())
        kind = (
            pl.when(has_zone)
            .then(pl.lit("a datetime with zone"))
            .otherwise(with_clock.then(pl.lit("a datetime")).otherwise(kind))
        )
        precision = with_clock.then(UNITS.index("second")).otherwise(precision)
    return parts.select(
        *(_to_numbers(parts[name]) for name in parts.columns if name != "zone"),
        text=texts,
        kind=kind,
        precision=precision,
        span=pl.lit(form.span, dtype=pl.Int64),
        is_marked=pl.lit(form.is_marked),
        has_order=pl.lit(form.has_order),
        has_zone=has_zone,
    )


def _to_numbers(part: pl.Series) -> pl.Series:
    if part.name in WORD_PARTS:
        words = part.str.to_lowercase().str.head(3)
        return words.replace_strict(WORDS, default=None, return_dtype=pl.Int64)
    if part.name == "fraction":
        part = part.str.pad_end(6, "0").str.head(6)
    return part.cast(pl.Int64)


def _assemble(dates: pl.DataFrame) -> tuple[Moments, Numbers]:
    """Moments, and their minutes before UTC."""
    numbers = dates.select(pl.col(pl.Int64).fill_null(ABSENT))
    return assemble({part.name: part.to_numpy() for part in numbers})
