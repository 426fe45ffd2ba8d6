"""A column of times, in whatever form, turned into whole numbers of one unit.

Takes a polars series of text, dates, datetimes or integers; gives the unit, whether the numbers
are calendar counts since 1970, and one number per row. Next room: opening.
"""

from dataclasses import dataclass

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.facts.timeline import CALENDAR_CODES, MOST, calendar_value

# The forms of a written time. A column must be of one form: a year beside a full date, or a
# datetime with a zone beside one without, would put facts at distances that nobody meant.
FORMS = {
    "a whole number": r"^[+-]?\d{1,18}$",
    "a month": r"^\d{4}-\d{2}$",
    "a date": r"^\d{4}[-/]\d{2}[-/]\d{2}$",
    "a datetime": r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?$",
    "a datetime with zone": (
        r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|z|[+-]\d{2}:?\d{2})$"
    ),
}
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
TICKS_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
MICROSECONDS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@dataclass(frozen=True)
class Times:
    """Whole numbers of one unit, one per row; counted from 1970 where `dated`."""

    unit: str
    dated: bool
    values: pl.Series


def read_times(column: pl.Series, where: str, reading: Reading) -> Times:
    """Understand a column of times without nulls, or say which rows cannot be understood.

    >>> read_times(pl.Series(["2014-03", "2013-12"]), "the table", Reading())  # doctest: +ELLIPSIS
    Times(unit='month', dated=True, values=shape: (2,)...530...527...)
    """
    if column.dtype == pl.String:
        # Every distinct text is read once: there are far fewer dates than facts.
        distinct = column.unique()
        times = _read_text(distinct, column, where, reading)
        values = column.replace_strict(distinct, times.values, return_dtype=pl.Int64)
        return Times(times.unit, times.dated, values)
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        beyond = column.filter(~whole.is_between(-MOST, MOST).fill_null(False))
        if len(beyond):
            raise _unreadable(column, beyond.unique(), where, "too large")
        return _read_integers(whole, whole, where, reading)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        wrong = column.filter(
            ((whole.cast(pl.Float64) != column) | ~whole.is_between(-MOST, MOST)).fill_null(True)
        )
        if len(wrong):
            raise _unreadable(column, wrong.unique(), where, "not whole numbers")
        return _read_integers(whole, whole, where, reading)
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        _check_years(column, where)
    if column.dtype == pl.Date:
        return _read_moments(column.cast(pl.Datetime("us")), where, reading)
    if isinstance(column.dtype, pl.Datetime):
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _read_moments(column.cast(pl.Datetime("us")), where, reading)
    raise InputError(f"{where}: times of type {column.dtype} cannot be read; write ISO dates")


def _read_text(distinct: pl.Series, column: pl.Series, where: str, reading: Reading) -> Times:
    text = distinct.str.strip_chars()
    # Digits of ASCII only: others are not understood by the casts below.
    matches = {form: text.str.contains(f"(?-u){pattern}") for form, pattern in FORMS.items()}
    known = pl.DataFrame(matches).select(pl.any_horizontal(pl.all())).to_series()
    if not known.all():
        raise _unreadable(column, distinct.filter(~known), where, "neither dates nor whole numbers")
    present = {form: match for form, match in matches.items() if match.any()}
    if len(present) > 1:
        rarest = min(present, key=lambda form: int(present[form].sum()))
        others = " and ".join(form for form in present if form != rarest)
        found = _rows_with(column, distinct.filter(present[rarest]))
        raise InputError(
            f"{where}: times of different forms: {rarest} in {found}, elsewhere {others}; "
            "write them all alike"
        )
    (form,) = present
    if form == "a whole number":
        return _read_integers(text.cast(pl.Int64), column, where, reading)
    if form == "a month":
        text, dates = text + "-01", "%Y-%m-%d"
    elif form == "a date":
        text, dates = text.str.replace_all("/", "-"), "%Y-%m-%d"
    else:
        # One shape for the parser: T between, seconds always, no colon needed in the zone.
        text = text.str.replace(" ", "T").str.replace("[Zz]$", "+00:00")
        text = text.str.replace(r"(T\d{2}:\d{2})($|[+-])", "${1}:00${2}")
        dates = "%Y-%m-%dT%H:%M:%S%.f" + ("%#z" if "zone" in form else "")
    moments = text.str.to_datetime(dates, time_unit="us", strict=False)
    if "zone" in form:
        moments = moments.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    known = moments.dt.year().is_between(1, 9999).fill_null(False)
    if not known.all():
        raise _unreadable(column, distinct.filter(~known), where, "no dates of the calendar")
    return _read_moments(moments, where, reading, finest="month" if form == "a month" else None)


def _read_moments(
    moments: pl.Series, where: str, reading: Reading, finest: str | None = None
) -> Times:
    unit = reading.unit or finest or _finest_unit(moments)
    if unit == "step":
        raise InputError(f"{where}: unit step is for times that are integers; these are dates")
    if unit == "year":
        values = moments.dt.year().cast(pl.Int64) - 1970
    elif unit == "month":
        values = (moments.dt.year().cast(pl.Int64) - 1970) * 12 + moments.dt.month() - 1
    elif unit == "day":
        values = moments.dt.date().cast(pl.Int64)
    else:
        values = moments.cast(pl.Int64) // MICROSECONDS[unit]
    return Times(unit, True, values)


def _check_years(column: pl.Series, where: str) -> None:
    """Refuse years that four digits cannot write; polars cannot even print some of them."""
    days = column.to_physical().cast(pl.Int64)
    if isinstance(column.dtype, pl.Datetime):
        days = days // TICKS_PER_DAY[column.dtype.time_unit]
    first, last = (calendar_value(day, "day") for day in (FIRST_DAY, LAST_DAY))
    beyond = (~days.is_between(first, last)).arg_true()
    if len(beyond):
        rows = ", ".join(f"row {row + 1}" for row in beyond.head(3))
        more = f" and {len(beyond) - 3:,} more" if len(beyond) > 3 else ""
        raise InputError(f"{where}: times outside the years 1 to 9999 in {rows}{more}; mend those")


def _finest_unit(moments: pl.Series) -> str:
    """The coarsest unit, from day down, that keeps every moment apart from its neighbours."""
    if (moments.dt.second() != 0).any() or (moments.dt.microsecond() != 0).any():
        return "second"
    if (moments.dt.minute() != 0).any():
        return "minute"
    return "hour" if (moments.dt.hour() != 0).any() else "day"


def _read_integers(numbers: pl.Series, column: pl.Series, where: str, reading: Reading) -> Times:
    """Numbers may be the distinct ones only; the column says in which rows they stand."""
    if len(numbers) == 0:
        return Times(reading.unit or "step", False, numbers)
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if reading.origin is not None:
        unit = reading.unit or "day"
        if unit not in CALENDAR_CODES:
            raise InputError(f"{where}: --origin needs a unit of the calendar, not {unit}")
        origin = calendar_value(reading.origin, unit)
        first, last = (calendar_value(day, unit) for day in (FIRST_DAY, LAST_DAY))
        if not first <= origin + low <= origin + high <= last:
            raise InputError(
                f"{where}: times from {low} to {high}, counted in {unit}s from {reading.origin}, "
                "leave the years 1 to 9999; give --unit"
            )
        return Times(unit, True, numbers + origin)
    if reading.unit in (None, "year") and low >= 1000 and high <= 2999:
        return Times("year", True, numbers - 1970)
    # Days written as 20150401, as event databases do; other numbers of that size are steps.
    for unit, example, first, last in (
        ("day", 20150401, 1000_01_01, 2999_12_31),
        ("month", 201504, 1800_01, 2199_12),
    ):
        if reading.unit not in (None, unit) or low < first or high > last:
            continue
        days = numbers if unit == "day" else numbers * 100 + 1
        dates = days.cast(pl.String).str.to_date("%Y%m%d", strict=False)
        if dates.null_count() == 0:
            return _read_moments(dates.cast(pl.Datetime("us")), where, reading, finest=unit)
        # Six digits say less than eight.
        few = len(dates) / (2 if unit == "day" or reading.unit else 10)
        if dates.null_count() < few:
            found = _rows_with(column.cast(pl.Int64), numbers.filter(dates.is_null()))
            raise InputError(
                f"{where}: most times are {unit}s like {example}, but not {found}; mend those, or "
                "give --unit step if they are bare numbers"
            )
    return Times(reading.unit or "step", False, numbers)


def _rows_with(column: pl.Series, values: pl.Series, most: int = 3) -> str:
    """Where the first of these values stand: "row 3 ('x'), row 7 ('y') and 12 more"."""
    rows = column.is_in(values.implode()).arg_true()
    shown = [f"row {row + 1} ({str(column[row])[:40]!r})" for row in rows.head(most)]
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return ", ".join(shown) + more


def _unreadable(column: pl.Series, bad: pl.Series, where: str, what: str) -> InputError:
    found = _rows_with(column, bad)
    return InputError(
        f"{where}: times that are {what}: {found}; write them like 2014-10-15, "
        "2014-10-15T08:30, 2014-10, 2014 or 17"
    )
