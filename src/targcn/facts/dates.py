"""Read a column of times, in any form, as whole numbers of one unit."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from targcn.errors import InputError
from targcn.facts.columns import list_rows
from targcn.facts.read_options import ReadOptions
from targcn.facts.timeline import CALENDAR_CODES, MAX_TIME, calendar_value

# The forms of a written time. A column must have one form: a year next to a full date, or a
# datetime with a zone next to one without, would give distances that nobody meant.
FORMS = {
    "a whole number": r"^[+-]?\d{1,18}$",
    "a month": r"^\d{4}-\d{2}$",
    "a date": r"^\d{4}[-/]\d{2}[-/]\d{2}$",
    "a datetime": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$",
    "a datetime with zone": (
        r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|z|[+-]\d{2}:?\d{2})$"
    ),
}


@dataclass(frozen=True)
class Times:
    """Whole numbers of one unit, one per row, counted from 1970 if `dated`."""

    unit: str
    dated: bool
    values: pl.Series


def read_times(column: pl.Series, where: str, options: ReadOptions) -> Times:
    """Read text, dates, datetimes or numbers without nulls, or say which rows are unreadable.

    >>> months = read_times(pl.Series(["2014-03", "2013-12"]), "the table", ReadOptions())
    >>> months.unit, months.dated, months.values.to_list()
    ('month', True, [530, 527])
    """
    if column.dtype == pl.String:
        distinct = column.unique()  # far fewer than facts, and each is read once
        times = _read_text(distinct, column, where, options)
        values = column.replace_strict(distinct, times.values, return_dtype=pl.Int64)
        return Times(times.unit, times.dated, values)
    if column.dtype.is_integer() or column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        fits = whole.is_between(-MAX_TIME, MAX_TIME) & (whole.cast(column.dtype) == column)
        wrong = column.filter(~fits.fill_null(False))
        if len(wrong):
            problem = "too large" if column.dtype.is_integer() else "not whole numbers"
            raise _unreadable(column, wrong.unique(), where, problem)
        return _read_integers(whole, whole, where, options)
    if column.dtype in (pl.Date, pl.Datetime):
        _check_years(column, where)
        # Without its zone, a datetime is in UTC.
        return _read_moments(column.cast(pl.Datetime("us")), where, options)
    raise InputError(f"{where}: times of type {column.dtype} cannot be read; write ISO dates")


def _read_text(distinct: pl.Series, column: pl.Series, where: str, options: ReadOptions) -> Times:
    text = distinct.str.strip_chars()
    # ASCII digits only, since the casts below do not read others.
    matches = {form: text.str.contains(f"(?-u){pattern}") for form, pattern in FORMS.items()}
    known = pl.DataFrame(matches).select(pl.any_horizontal(pl.all())).to_series()
    if not known.all():
        raise _unreadable(column, distinct.filter(~known), where, "neither dates nor whole numbers")
    present = {form: match for form, match in matches.items() if match.any()}
    if len(present) > 1:
        rarest = min(present, key=lambda form: int(present[form].sum()))
        others = " and ".join(form for form in present if form != rarest)
        found = _list_rows_with(column, distinct.filter(present[rarest]))
        raise InputError(
            f"{where}: times of different forms: {rarest} in {found}, {others} elsewhere; "
            "write all in the same form"
        )
    (form,) = present
    if form == "a whole number":
        return _read_integers(text.cast(pl.Int64), column, where, options)
    if form == "a month":
        text, dates = text + "-01", "%Y-%m-%d"
    elif form == "a date":
        text, dates = text.str.replace_all("/", "-"), "%Y-%m-%d"
    else:
        # One form for the parser: a T before the hour, seconds, and a zone with or without colon.
        text = text.str.replace(" ", "T").str.replace("[Zz]$", "+00:00")
        text = text.str.replace(r"(T\d{2}:\d{2})($|[+-])", "${1}:00${2}")
        dates = "%Y-%m-%dT%H:%M:%S%.f" + ("%#z" if "zone" in form else "")
    moments = text.str.to_datetime(dates, time_unit="us", strict=False)
    if "zone" in form:
        moments = moments.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    known = moments.dt.year().is_between(1, 9999).fill_null(False)
    if not known.all():
        raise _unreadable(column, distinct.filter(~known), where, "not in the calendar")
    return _read_moments(moments, where, options, finest="month" if form == "a month" else None)


def _read_moments(
    moments: pl.Series, where: str, options: ReadOptions, finest: str | None = None
) -> Times:
    unit = options.unit or finest or _finest_unit(moments)
    if unit == "step":
        raise InputError(f"{where}: unit step is for integers, but these times are dates")
    values = moments.to_numpy().astype(f"M8[{CALENDAR_CODES[unit]}]").astype(np.int64)
    return Times(unit, True, pl.Series(values))


def _check_years(column: pl.Series, where: str) -> None:
    """Refuse years that do not have four digits; polars cannot even print some of them."""
    days = column.cast(pl.Date, strict=False).to_physical()
    beyond = (~days.is_between(*_range_of("day")).fill_null(False)).arg_true()
    if len(beyond):
        rows = list_rows(beyond)
        raise InputError(f"{where}: times outside the years 1 to 9999 in {rows}; correct them")


def _range_of(unit: str) -> tuple[int, int]:
    return calendar_value("0001-01-01", unit), calendar_value("9999-12-31", unit)


def _finest_unit(moments: pl.Series) -> str:
    """The coarsest unit, from day down to second, that loses at most fractions of a second."""
    steps = {"day": "1d", "hour": "1h", "minute": "1m"}
    whole = (unit for unit, step in steps.items() if (moments == moments.dt.truncate(step)).all())
    return next(whole, "second")


def _read_integers(
    numbers: pl.Series, column: pl.Series, where: str, options: ReadOptions
) -> Times:
    """Read integers; `numbers` may be the distinct values of `column`, which has the rows."""
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if options.origin is not None:
        unit = options.unit or "day"
        if unit not in CALENDAR_CODES:
            raise InputError(f"{where}: --origin needs a calendar unit, not {unit}")
        origin = calendar_value(options.origin, unit)
        first, last = _range_of(unit)
        if not first <= origin + low <= origin + high <= last:
            raise InputError(
                f"{where}: times from {low} to {high}, counted in {unit}s from {options.origin}, "
                "are outside the years 1 to 9999; give another --unit"
            )
        return Times(unit, True, numbers + origin)
    if options.unit in (None, "year") and low >= 1000 and high <= 2999:
        return Times("year", True, numbers - 1970)
    # Event databases write days as 20150401; other numbers of that size are steps.
    for unit, example, first, last in (
        ("day", 20150401, 1000_01_01, 2999_12_31),
        ("month", 201504, 1800_01, 2199_12),
    ):
        if options.unit not in (None, unit) or low < first or high > last:
            continue
        days = numbers if unit == "day" else numbers * 100 + 1
        dates = days.cast(pl.String).str.to_date("%Y%m%d", strict=False)
        if dates.null_count() == 0:
            return _read_moments(dates.cast(pl.Datetime("us")), where, options, finest=unit)
        # Six digits are more often a mere number than eight are.
        few = len(dates) / (2 if unit == "day" or options.unit else 10)
        if dates.null_count() < few:
            found = _list_rows_with(column.cast(pl.Int64), numbers.filter(dates.is_null()))
            raise InputError(
                f"{where}: most times are {unit}s like {example}, but not {found}; correct them, "
                "or give --unit step if all are plain numbers"
            )
    return Times(options.unit or "step", False, numbers)


def _list_rows_with(column: pl.Series, values: pl.Series) -> str:
    return list_rows(column.is_in(values.implode()).arg_true(), column)


def _unreadable(column: pl.Series, bad: pl.Series, where: str, what: str) -> InputError:
    return InputError(
        f"{where}: times that are {what}: {_list_rows_with(column, bad)}; write them like "
        "2014-10-15, 2014-10-15T08:30, 2014-10, 2014 or 17"
    )
