"""What the numbers of a column mean: dates in digits, counts since 1970, or plain counts."""

import numpy as np
import polars as pl

from targcn.facts.reading.options import ReadOptions
from targcn.facts.times.column import TimeColumn, Times, count_units, last_moments
from targcn.facts.times.forms import NUMBER_FORMS, UNITS, NumberForm, Numbers
from targcn.facts.times.timeline import CALENDAR_CODES, MAX_TIME, TICK_CODES, calendar_value


def read_numbers(column: TimeColumn, distinct: pl.Series) -> Times:
    """Read distinct cells that are numbers, perhaps as text."""
    numbers = distinct
    if distinct.dtype == pl.String:
        digits = distinct.str.replace(r"[.]0*$", "").cast(pl.Int64, strict=False)
        numbers = distinct.cast(pl.Float64) if digits.null_count() else digits
    whole = numbers.cast(pl.Int64, strict=False)
    is_whole = whole.is_between(-MAX_TIME, MAX_TIME) & (whole.cast(numbers.dtype) == numbers)
    is_whole = is_whole.fill_null(False)
    values = (whole if is_whole.all() else numbers.cast(pl.Float64)).to_numpy()
    if form := _find_form(values, column.options):
        return _read_form(column, form, values, distinct)
    if not is_whole.all():
        problem = "too large" if numbers.dtype.is_integer() else "not whole numbers"
        rows = column.rows_with(distinct.filter(~is_whole))
        column.refuse(f"times that are {problem}: {rows}; write them like 2014-10-15, 2014 or 17")
    if column.options.origin is not None:
        return _date_counts(column, values, column.options.origin)
    unit, step = _find_step(column)
    counts = pl.Series(values // step)
    return Times(unit, False, (counts, counts), step)


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


def _read_form(column: TimeColumn, form: NumberForm, values: Numbers, distinct: pl.Series) -> Times:
    tick, unit, moments = column.options.tick, column.options.unit, form.moments(values)
    if (misfits := np.isnat(moments)).any():
        rows = column.rows_with(distinct.filter(pl.Series(misfits)))
        plain = "--unit step if all are plain numbers"
        if form.unit == "year":
            plain += ", or --unit year --tick 1 if all are years"
        column.refuse(f"most times are {form.name}, but not {rows}; correct them, or give {plain}")
    is_other = unit not in (None, form.unit)
    if is_other and not form.is_count:
        # Of an interval, the start of a year is its first day, and the end its last.
        is_finer = UNITS.index(str(unit)) > UNITS.index(form.unit)
        is_other = is_finer and not column.has_intervals
    if tick is None and is_other:
        column.refuse(
            f"the times are {form.name}, not {unit}s; leave out --unit, or add --tick {form.unit} "
            f"to have them by {unit}, or --tick 1 if they do count {unit}s"
        )
    if form.is_utc:
        moments = column.choose_zone(moments, moments, f"the times are {form.name}; ")
    elif form.is_count:
        column.notes.append(f"the times are {form.name}")
    last = moments if form.is_count else last_moments(moments, form.unit)
    return column.count(moments, last, form.unit)


def _date_counts(column: TimeColumn, values: Numbers, origin: str) -> Times:
    """Count from the origin on, in the unit of the numbers."""
    tick = column.options.tick
    unit = str(column.options.unit or (tick if tick in CALENDAR_CODES else "day"))
    if unit not in CALENDAR_CODES:
        column.refuse(f"--origin needs a calendar unit, not {unit}")
    if isinstance(tick, int):
        values = values // tick
    elif tick == "nanosecond":  # of which 64 bits hold no more than 584 years
        values, tick = values // 1000, "microsecond"
    counted = tick if isinstance(tick, str) else unit
    start, first, last = (
        calendar_value(day, counted) for day in (origin, "0001-01-01", "9999-12-31")
    )
    low, high = int(values.min()), int(values.max())
    if not first <= start + low <= start + high <= last:
        column.refuse(
            f"times from {low} to {high}, counted in {counted}s from {origin}, are outside the "
            "years 1 to 9999; give another --unit"
        )
    moments = (start + values).astype(f"M8[{TICK_CODES[counted]}]")
    lasts = last_moments(moments, counted)
    return Times(unit, True, (count_units(moments, unit), count_units(lasts, unit)))


def _find_step(column: TimeColumn) -> tuple[str, int]:
    """The unit of plain counts, and how many of the numbers make one."""
    tick = column.options.tick
    unit = column.options.unit or (tick if tick in UNITS else "step")
    if not isinstance(tick, str) or unit == "step":
        return str(unit), tick if isinstance(tick, int) else 1
    codes = TICK_CODES | {"nanosecond": "ns"}
    try:
        step = int(np.ones((), f"m8[{codes[unit]}]") // np.ones((), f"m8[{codes[tick]}]"))
    except TypeError:  # months have no length in days
        step = 0
    if not step:
        column.refuse(f"{tick}s can be counted by {unit} only from a date on; add --origin")
    return unit, step
