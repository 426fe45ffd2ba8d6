"""Read times that are numbers: dates in digits, counts since 1970, or plain counts."""

from typing import Final

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.moments import (
    TimeColumn,
    Times,
    choose_zone,
    count_last_units,
    count_units,
    finest_unit,
)
from targcn.facts.read_options import ReadOptions
from targcn.facts.time_forms import NUMBER_FORMS, NumberForm, Numbers, TimeStyle
from targcn.facts.timeline import CALENDAR_CODES, MAX_TIME, TICK_CODES, UNITS, calendar_value

# What numbers may count if all are multiples of the first, and the unit that these are.
MULTIPLES: Final = (
    (86400, "second", "day"),
    (3600, "second", "hour"),
    (1440, "minute", "day"),
    (24, "hour", "day"),
)
# The lengths of units in nanoseconds, or in months.
LENGTHS: Final = (
    {"nanosecond": 1, "microsecond": 10**3, "millisecond": 10**6, "second": 10**9}
    | {"minute": 60 * 10**9, "hour": 3600 * 10**9, "day": 86400 * 10**9},
    {"month": 1, "year": 12},
)


def read_numbers(
    distinct: pl.Series, numbers: pl.Series, written: TimeColumn, options: ReadOptions
) -> Times:
    """Read distinct cells of a column, given as numbers too."""
    whole = numbers.cast(pl.Int64, strict=False)
    is_whole = whole.is_between(-MAX_TIME, MAX_TIME) & (whole.cast(numbers.dtype) == numbers)
    is_whole = is_whole.fill_null(False)
    values = (whole if is_whole.all() else numbers.cast(pl.Float64)).to_numpy()
    if form := _find_form(values, options):
        return _read_form(form, values, distinct, written, options)
    if not is_whole.all():
        problem = "too large" if numbers.dtype.is_integer() else "not whole numbers"
        rows = written.rows_with(distinct.filter(~is_whole))
        written.refuse(f"times that are {problem}: {rows}; write them like 2014-10-15, 2014 or 17")
    notes = _question_multiples(values, written, options)
    if options.origin is not None:
        return _date_counts(values, written, options)
    unit, step = _find_step(written, options)
    counted = pl.Series(values // step)
    return Times(unit, False, counted, counted, step, notes=tuple(notes))


def _find_form(values: Numbers, options: ReadOptions) -> NumberForm | None:
    """The form that at least two thirds of the numbers have, unless they are said to be counts."""
    if options.origin is not None or options.unit == "step" or isinstance(options.tick, int):
        return None
    low, high = values.min(), values.max()
    if low in (0, 1) and len(values) > (high - low) / 2:  # they count from the first one on
        return None
    for form in NUMBER_FORMS:
        in_range = int(((values >= form.low) & (values <= form.high)).sum())
        if options.tick not in (None, form.unit) or 3 * in_range < 2 * len(values):
            continue
        if 3 * int(np.isnat(form.moments(values)).sum()) <= len(values):
            return form
    return None


def _read_form(
    form: NumberForm,
    values: Numbers,
    distinct: pl.Series,
    written: TimeColumn,
    options: ReadOptions,
) -> Times:
    moments, unit = form.moments(values), options.unit
    if (misfits := np.isnat(moments)).any():
        rows = written.rows_with(distinct.filter(pl.Series(misfits)))
        plain = "--unit step if all are plain numbers"
        if form.unit == "year":
            plain += ", or --unit year --tick 1 if all are years"
        if form.is_utc:
            plain += f", or --origin 1970-01-01 --tick {form.unit} if all count from there"
        written.refuse(f"most times are {form.name}, but not {rows}; correct them, or give {plain}")
    # Of an interval, the start of a year is its first day, and the end its last.
    is_finer = unit is not None and UNITS.index(unit) > _position(form.unit)
    is_finer &= not written.has_intervals
    is_other = unit not in (None, form.unit)
    if options.tick is None and (is_other if form.is_count else is_finer):
        written.refuse(
            f"the times are {form.name}, not {unit}s; leave out --unit, or add --tick {form.unit} "
            f"to have them by {unit}, or --tick 1 if they do count {unit}s"
        )
    if not form.is_count:
        precision = finest_unit(moments) if form.unit == "second" else form.unit
        wanted = unit or precision
        ends = count_last_units(moments, form.unit, wanted)
        return Times(wanted, True, count_units(moments, wanted), ends)
    zone, note = "UTC", f"the times are {form.name}"
    if form.is_utc:
        moments, zone, said = choose_zone(moments, moments, options)
        note = f"{note}; {said}"
    found = unit or finest_unit(moments)
    counted = count_units(moments, found)
    return Times(found, True, counted, counted, style=TimeStyle(zone), notes=(note,))


def _question_multiples(values: Numbers, written: TimeColumn, options: ReadOptions) -> list[str]:
    """Ask what numbers like 0, 24, 48 count: in a note, or as an error if it was said wrongly."""
    common = int(np.gcd.reduce(values))
    if isinstance(options.tick, int) or len(values) < 3 or not common:
        return []
    said = options.tick or options.unit or ("day" if options.origin is not None else None)
    for number, unit, larger in MULTIPLES:
        if common % number == 0:
            question = (
                f"every time is a multiple of {number}: {unit}s? --unit {unit}, or --unit {larger} "
                f"--tick {number}"
            )
            if said and said != "step" and _position(str(said)) < UNITS.index(unit):
                written.refuse(f"{question}; --tick 1 if they do count {said}s")
            return [] if said else [question]
    if common > 1 and len(values) >= 10 and not said:
        return [f"every time is a multiple of {common}: --tick {common} counts these"]
    return []


def _date_counts(values: Numbers, written: TimeColumn, options: ReadOptions) -> Times:
    """Count from the origin on, in the unit of the numbers."""
    tick, origin = options.tick, str(options.origin)
    if tick == "nanosecond":  # of which 64 bits hold no more than 584 years
        values, tick = values // 1000, "microsecond"
    unit = options.unit or (tick if tick in CALENDAR_CODES else "day")
    if unit not in CALENDAR_CODES:
        written.refuse(f"--origin needs a calendar unit, not {unit}")
    counted = tick if isinstance(tick, str) else str(unit)
    if isinstance(tick, int):
        values = values // tick
    start, first, last = (
        calendar_value(day, counted) for day in (origin, "0001-01-01", "9999-12-31")
    )
    low, high = int(values.min()), int(values.max())
    if not first <= start + low <= start + high <= last:
        written.refuse(
            f"times from {low} to {high}, counted in {counted}s from {origin}, are outside the "
            "years 1 to 9999; give another --unit"
        )
    moments = (start + values).astype(f"M8[{TICK_CODES[counted]}]")
    # Parts of a second are shorter than any unit.
    precision = counted if counted in CALENDAR_CODES else "second"
    ends = count_last_units(moments, precision, str(unit))
    return Times(str(unit), True, count_units(moments, str(unit)), ends)


def _find_step(written: TimeColumn, options: ReadOptions) -> tuple[str, int]:
    """The unit of plain counts, and how many of the numbers make one."""
    tick = options.tick
    if tick is None or isinstance(tick, int):
        return options.unit or "step", tick or 1
    unit = options.unit or (tick if tick in UNITS else "step")
    if unit == "step":
        return unit, 1
    for lengths in LENGTHS:
        if {unit, tick} <= set(lengths) and lengths[unit] % lengths[tick] == 0:
            return unit, lengths[unit] // lengths[tick]
    raise InputError(
        f"{written.where}: {tick}s can be counted by {unit} only from a date on; add --origin"
    )


def _position(unit: str) -> int:
    """The place of a unit from coarse to fine; parts of a second come last."""
    return UNITS.index(unit) if unit in UNITS else len(UNITS)
