"""Read times that are written as text: which form each has, and what its parts say.

What a time may look like is the table of time_forms.py. Each distinct text is matched with it once;
whatever does not fit is refused, with its rows.
"""

from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.facts.moments import TimeColumn, Times, choose_zone, count_last_units, count_moments
from targcn.facts.read_options import ReadOptions
from targcn.facts.time_forms import (
    ABSENT,
    IN_NO_CALENDAR,
    INTERVAL_FORMS,
    NUMBER,
    PARTS,
    WORD_PARTS,
    WORDS,
    Form,
    Moments,
    TimeStyle,
    assemble,
)
from targcn.facts.timeline import UNITS

EXAMPLES: Final = "2014-10-15, 2014-10-15T08:30, 7 Apr 2014, 2014-10, 2014 or 17"
WHOLE: Final = "a start is the first of what is left open, an end the last"
# What is known about each distinct text: how it is written, and its parts.
FOUND: Final = {
    "text": pl.String,
    "kind": pl.String,
    "precision": pl.Int64,
    "span": pl.Int64,
    "is_marked": pl.Boolean,
    "has_order": pl.Boolean,
    "has_zone": pl.Boolean,
}


def read_text(
    distinct: pl.Series, written: TimeColumn, options: ReadOptions
) -> tuple[pl.Series, Times]:
    """The texts in some order, and their times."""
    style = TimeStyle(date_order=options.date_order, date_format=options.date_format)
    has_more = written.has_intervals and not options.date_format
    forms = style.forms + (INTERVAL_FORMS if has_more else ())
    found, rest = _match_forms(distinct, forms)
    problems = _describe_misfits(found, rest, written, options)
    if not found.height:
        written.refuse(*problems)
    notes: list[str] = []
    if found["has_order"].any():
        order, said = _choose_order(found.filter("has_order"), written, options)
        style = replace(style, date_order=order)
        (notes if order else problems).extend(said)
        found = _put_day_first(found, order)
    precision = UNITS[int(found["precision"].min())]  # type: ignore[arg-type]
    clock, offsets, unknown = _assemble(found)
    if len(unknown):
        strays = f"times that are not in the calendar: {written.rows_with(unknown)}"
        if written.has_intervals and "year" in (options.unit, precision):
            clock = np.where(np.isnat(clock), _assemble(found.select("text", "year"))[0], clock)
            notes.append(f"{strays}; only their years are read")
        if np.isnat(clock).any():
            problems.append(f"{strays}; correct them")
    said_wrong, said = _describe_vague(found, precision, written, options)
    problems += said_wrong
    notes += said
    if problems:
        written.refuse(*problems)
    if found["has_zone"].any():
        clock, zone, note = choose_zone(clock, clock - offsets * np.timedelta64(1, "m"), options)
        style = replace(style, timezone=zone)
        notes.append(note)
    elif options.timezone:
        notes.append("the times have no zone, so that --timezone changes nothing")
    times = count_moments(clock, precision, written, options, style, notes)
    return found["text"], replace(times, ends=_last_units(found, clock, times.unit))


def _assemble(found: pl.DataFrame) -> tuple[Moments, NDArray[Any], pl.Series]:
    """Moments, their minutes before UTC, and the texts that stand for none."""
    parts = found.select(pl.col(name).fill_null(ABSENT) for name in PARTS if name in found.columns)
    clock, offsets = assemble({name: parts[name].to_numpy() for name in parts.columns})
    if "kind" in found.columns:
        is_damaged = (found["kind"] == IN_NO_CALENDAR.kind).to_numpy()
        clock = np.where(is_damaged, np.datetime64("NaT"), clock)
    return clock, offsets, found["text"].filter(pl.Series(np.isnat(clock)))


def _describe_vague(
    found: pl.DataFrame, precision: str, written: TimeColumn, options: ReadOptions
) -> tuple[list[str], list[str]]:
    """Problems and notes about times that leave out a month, a day, or some of their years."""
    problems, notes = [], []
    is_coarsest = found["precision"] == UNITS.index(precision)
    is_vague = found["is_marked"] | (is_coarsest & written.has_intervals)
    rows = written.rows_with(found["text"].filter(is_vague))
    is_finer = options.unit is not None and UNITS.index(options.unit) > UNITS.index(precision)
    if is_vague.any() and is_finer:
        if written.has_intervals:
            notes.append(f"{rows} leave out a month or day: {WHOLE}")
        else:
            problems.append(f"{rows} leave out a month or day; give --unit {precision}")
    elif is_vague.any() and not options.unit and found["precision"].n_unique() > 1:
        notes.append(f"all times are read by {precision}, as {rows} leave out a month or day")
    is_long = found["kind"].is_in(("a decade", "a century"))
    if is_long.any():
        rows = written.rows_with(found["text"].filter(is_long))
        notes.append(f"{rows} leave out some of the year: {WHOLE}")
    if (found["kind"] == "a quarter").any():
        whole = f"whole: {WHOLE}" if written.has_intervals else "as their first month"
        notes.append(f"quarters are read {whole}")
    return problems, notes


def _last_units(found: pl.DataFrame, clock: Moments, unit: str) -> pl.Series:
    """The last unit of what each text stands for."""
    last = np.zeros(len(clock), dtype=np.int64)
    with_clock = found["kind"].str.starts_with("a datetime")
    precisions = found["precision"].set(with_clock, UNITS.index("second")).to_numpy()
    spans = found["span"].to_numpy()
    for precision, span in {*zip(precisions.tolist(), spans.tolist(), strict=True)}:
        chosen = (precisions == precision) & (spans == span)
        last[chosen] = count_last_units(clock[chosen], UNITS[precision], unit, span).to_numpy()
    return pl.Series(last)


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
        span=pl.lit(form.span, dtype=pl.Int64),
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
            f"write them like {EXAMPLES}, or say how they are, like --date-format '%d/%m/%y'",
        )
        if options.date_format:
            what, remedy = f"not like {options.date_format}", "correct them or --date-format"
        rows = written.rows_with(rest.filter(~is_number))
        problems.append(f"times that are {what}: {rows}; {remedy}")
    # A date whose day is marked as unknown is a date; so is a month that begins an interval.
    is_date = pl.col("is_marked")
    if written.has_intervals:
        is_date |= ~pl.col("kind").str.starts_with("a datetime")
    kinds = found.select("text", kind=pl.when(is_date).then(pl.lit("a date")).otherwise("kind"))
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
    # What is above 12 is a day; dates with two such numbers are in no calendar.
    late_first, late_second = pl.col("day") > 12, pl.col("month") > 12
    day_first = dates.filter(late_first & ~late_second)["text"]
    month_first = dates.filter(late_second & ~late_first)["text"]
    if not len(day_first) and not len(month_first):
        unclear = dates.filter(~late_first)["text"]
        problem = (
            f"dates like {unclear.min()!r} may begin with the day or with the month, and no row "
            "decides it; give --date-order dmy or --date-order mdy"
        )
        return None, [problem] if len(unclear) else []
    if len(day_first) and len(month_first):
        first, second = written.rows_with(day_first), written.rows_with(month_first)
        return None, [f"the day comes first in {first}, but the month in {second}; correct them"]
    if len(day_first):
        return "dmy", [f"dates begin with the day (--date-order dmy), like {day_first.min()!r}"]
    return "mdy", [f"dates begin with the month (--date-order mdy), like {month_first.min()!r}"]


def _put_day_first(dates: pl.DataFrame, order: str | None) -> pl.DataFrame:
    is_swapped = pl.col("has_order") & (order == "mdy")
    if order is None:  # so that only what is in no calendar is said to be so
        is_swapped = pl.col("has_order") & (pl.col("month") > 12)
    return dates.with_columns(
        day=pl.when(is_swapped).then("month").otherwise("day"),
        month=pl.when(is_swapped).then("day").otherwise("month"),
    )
