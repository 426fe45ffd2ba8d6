"""A column of times, in whatever form, turned into whole numbers of one unit.

Takes a polars series of text, dates, datetimes or integers; gives the unit, whether the numbers
are calendar counts since 1970, and one number per row. Next room: opening.
"""

from dataclasses import dataclass

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.facts.timeline import CALENDAR_CODES, calendar_value

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
        return _read_integers(column.cast(pl.Int64), where, reading)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        wrong = column.filter((whole.cast(pl.Float64) != column).fill_null(True))
        if len(wrong):
            raise _unreadable(column, wrong.unique(), where, "not whole numbers")
        return _read_integers(whole, where, reading)
    if column.dtype == pl.Date:
        return _read_moments(column.cast(pl.Datetime("us")), where, reading)
    if isinstance(column.dtype, pl.Datetime):
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _read_moments(column.cast(pl.Datetime("us")), where, reading)
    raise InputError(f"{where}: times of type {column.dtype} cannot be read; write ISO dates")


def _read_text(distinct: pl.Series, column: pl.Series, where: str, reading: Reading) -> Times:
    text = distinct.str.strip_chars()
    matches = {form: text.str.contains(pattern) for form, pattern in FORMS.items()}
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
        return _read_integers(text.cast(pl.Int64), where, reading)
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
    if moments.null_count():
        bad = distinct.filter(moments.is_null())
        raise _unreadable(column, bad, where, "no dates of the calendar")
    if "zone" in form:
        moments = moments.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
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


def _finest_unit(moments: pl.Series) -> str:
    """The coarsest unit, from day down, that keeps every moment apart from its neighbours."""
    if (moments.dt.second() != 0).any() or (moments.dt.microsecond() != 0).any():
        return "second"
    if (moments.dt.minute() != 0).any():
        return "minute"
    return "hour" if (moments.dt.hour() != 0).any() else "day"


def _read_integers(numbers: pl.Series, where: str, reading: Reading) -> Times:
    if len(numbers) == 0:
        return Times(reading.unit or "step", False, numbers)
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if reading.origin is not None:
        unit = reading.unit or "day"
        if unit not in CALENDAR_CODES:
            raise InputError(f"{where}: --origin needs a unit of the calendar, not {unit}")
        return Times(unit, True, numbers + calendar_value(reading.origin, unit))
    if reading.unit in (None, "year") and low >= 1000 and high <= 2999:
        return Times("year", True, numbers - 1970)
    if reading.unit in (None, "day") and low >= 1000_01_01 and high <= 2999_12_31:
        # Days written as 20150401, as event databases do; other numbers of that size are steps.
        dates = numbers.cast(pl.String).str.to_date("%Y%m%d", strict=False)
        if dates.null_count() == 0:
            return Times("day", True, dates.cast(pl.Int64))
        if dates.null_count() < len(dates) / 2:
            found = _rows_with(numbers, numbers.filter(dates.is_null()))
            raise InputError(
                f"{where}: most times are days like 20150401, but not {found}; mend those, or "
                "give --unit step if they are bare numbers"
            )
    return Times(reading.unit or "step", False, numbers)


def _rows_with(column: pl.Series, values: pl.Series, most: int = 3) -> str:
    """Where the first of these values stand: "row 3 ('x'), row 7 ('y') and 12 more"."""
    rows = column.is_in(values.implode()).arg_true()
    shown = [f"row {row + 1} ({str(column[row])!r})" for row in rows.head(most)]
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return ", ".join(shown) + more


def _unreadable(column: pl.Series, bad: pl.Series, where: str, what: str) -> InputError:
    found = _rows_with(column, bad)
    return InputError(
        f"{where}: times that are {what}: {found}; write them like 2014-10-15, "
        "2014-10-15T08:30, 2014-10, 2014 or 17"
    )
