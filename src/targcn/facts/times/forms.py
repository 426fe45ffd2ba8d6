"""The forms in which people write a time: one table, for columns and for questions.

Columns are read with polars (read.py), questions without it (timeline.py). A pattern finds the
parts of a time (year, month, …), and `assemble` makes a moment of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError

Numbers = NDArray[Any]
Moments = NDArray[np.datetime64]

# From coarse to fine; a step is a plain count.
UNITS: Final = ("year", "month", "day", "hour", "minute", "second", "step")
MONTH_NAME: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
ZONE: Final = (
    "(?P<zone>(?i:z|utc|gmt)|(?P<sign>[+-])(?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?)"
)
# The directives of strptime that are understood, and some of our own. No day and no month is 0.
DIRECTIVES: Final = {
    "Y": "(?P<year>[0-9]{4})",
    "e": "(?P<year>-?[0-9]{1,4})",
    "E": "(?P<year>-?[0-9]{3,4})",
    "D": "(?P<decade>[0-9]{1,3})",
    "C": "(?P<century>[0-9]{1,2})",
    "?": "[0-9#]+",
    "y": "(?P<short_year>[0-9]{2})",
    "q": "(?P<quarter>[1-4])",
    "m": "(?P<month>[1-9][0-9]|0?[1-9])",
    "b": f"(?P<name>(?i:{MONTH_NAME}))[.]?",
    "B": f"(?P<name>(?i:{MONTH_NAME}))[.]?",
    "d": "(?P<day>[1-9][0-9]|0?[1-9])",
    "H": "(?P<hour>[0-9]{1,2})",
    "I": "(?P<hour>[0-9]{1,2})",
    "M": "(?P<minute>[0-9]{2})",
    "S": "(?P<second>[0-9]{2})",
    "f": "(?P<fraction>[0-9]{1,9})",
    "p": "(?P<half>(?i:am|pm))",
    "z": ZONE,
    "a": "[A-Za-z]+[.]?",
    "A": "[A-Za-z]+[.]?",
    "%": "%",
}
# Ours alone, not for --date-format: some of them mean something else elsewhere.
OUR_DIRECTIVES: Final = frozenset("eEDC?q")
# May follow every full date.
TIME_OF_DAY: Final = (
    "(?:(?:T| +)(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})"
    f"(?:[.,](?P<fraction>[0-9]{{1,9}}))?)?)?(?: ?(?P<half>(?i:am|pm)))?(?: ?{ZONE})?)?"
)
# What the parts that are words stand for, by their first three letters.
WORDS: Final = {
    **{MONTH_NAME.split("|")[month][:3]: month + 1 for month in range(12)},
    "am": 0,
    "pm": 12,
    "+": 1,
    "-": 0,
}
WORD_PARTS: Final = ("name", "half", "sign")
ABSENT: Final = -(10**6)
MAX_YEAR: Final = 9999
NUMBER: Final = "^[+-]?[0-9]{1,19}(?:[.][0-9]*)?$"


@dataclass(frozen=True)
class Form:
    """One way to write a time; it is exact to its unit, or finer if a time of day follows."""

    kind: str
    unit: str
    format: str

    @property
    def is_marked(self) -> bool:
        """Whether the writer has marked a month or a day as unknown."""
        return self.format.endswith(("-##", "-00", "-XX"))

    @property
    def span(self) -> int:
        """For how many of its units it stands."""
        return {"a quarter": 3, "a decade": 10, "a century": 100}.get(self.kind, 1)

    @property
    def has_order(self) -> bool:
        """Whether day and month are told apart by their order alone."""
        return self.kind == "a date" and self.format in ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y")

    @property
    def pattern(self) -> str:
        tail = TIME_OF_DAY if self.kind == "a date" else ""
        return f"^{pattern_of(self.format)}{tail}$"


FORMS: Final = tuple(
    Form(kind, unit, format)
    for kind, unit, *formats in (
        ("a date", "day", "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
        ("a date", "day", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"),
        ("a date", "day", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%b %d %Y"),
        ("a month", "month", "%Y-%m", "%Y/%m", "%m/%Y", "%b %Y"),
        ("a quarter", "month", "%Y-Q%q", "%Y Q%q", "%YQ%q"),
        ("a date without its day", "month", "%e-%m-##", "%e-%m-00", "%e-%m-XX"),
        ("a date without its month", "year", "%e-##-##", "%e-00-00", "%e-XX-XX"),
    )
    for format in formats
)
# The years before 1000, in questions and in intervals.
EARLY_FORMS: Final = (
    Form("a date", "day", "%E-%m-%d"),
    Form("a month", "month", "%E-%m"),
    Form("a year", "year", "%E"),
)
# Of a date that is in no calendar, the year may still be one.
IN_NO_CALENDAR: Final = Form("a date in no calendar", "day", "%e-%?-%?")
# What the start or the end of an interval may be as well.
INTERVAL_FORMS: Final = (
    *EARLY_FORMS,
    Form("a decade", "year", "%D#-##-##"),
    Form("a century", "year", "%C##-##-##"),
    IN_NO_CALENDAR,
)


@cache
def pattern_of(format: str) -> str:
    """The pattern of a strptime format; the same for Python and for polars."""
    pattern = ""
    for directive, blanks, literal in re.findall("%(.?)|( +)|(.)", format, re.DOTALL):
        pattern += DIRECTIVES.get(directive, "") or (" +" if blanks else re.escape(literal))
    try:
        parts = re.compile(pattern).groupindex
    except re.error:
        raise InputError(f"--date-format {format!r} has a part twice; name each once") from None
    if not {"year", "short_year", "decade", "century"} & set(parts):
        raise InputError(f"--date-format {format!r} has no year; write it like '%d.%m.%Y'")
    return pattern


def format_of(date_format: str) -> Form:
    """The form of the dates that --date-format describes."""
    known = [letter for letter in DIRECTIVES if letter not in OUR_DIRECTIVES]
    for directive in re.findall("%(.?)", date_format, re.DOTALL):
        if directive not in known:
            listed = " ".join(f"%{letter}" for letter in known)
            raise InputError(f"--date-format {date_format!r}: %{directive} is none of {listed}")
    parts = re.compile(pattern_of(date_format)).groupindex
    finest = "month" if {"month", "name"} & set(parts) else "year"
    # With a time of day, it is a moment.
    finest = "second" if "hour" in parts else "day" if "day" in parts else finest
    return Form(f"a time like {date_format}", finest, date_format)


def assemble(parts: Mapping[str, Numbers]) -> tuple[Moments, Numbers]:
    """Moments by the clock of the writer, and their minutes before UTC; NaT is no moment.

    >>> parts = {"year": np.array([2014, 2014]), "month": np.array([2, 2])}
    >>> moments, _ = assemble(parts | {"day": np.array([3, 30])})
    >>> moments.astype("M8[D]").astype(str).tolist()
    ['2014-02-03', 'NaT']
    """

    def part(name: str, default: Any) -> Numbers:
        values = parts.get(name, np.array(ABSENT))
        return np.where(values == ABSENT, default, values)

    short = part("short_year", 0)
    short = short + np.where(short < 69, 2000, 1900)  # as strptime does
    decade = part("decade", 10 * part("century", ABSENT))
    year = part("year", np.where(decade < 0, short, 10 * decade))
    month = part("month", part("name", 3 * part("quarter", 1) - 2))
    hour, minute, second = (part(name, 0) for name in ("hour", "minute", "second"))
    half, zone_minute = part("half", ABSENT), part("zone_minute", 0)
    known = (year != 0) & (np.abs(year) <= MAX_YEAR) & (month >= 1) & (month <= 12)
    known &= (hour < 24) & (minute < 60) & (second < 60) & (zone_minute < 60)
    known &= (half == ABSENT) | ((hour >= 1) & (hour <= 12))
    year, month = np.where(known, year, 1970), np.where(known, month, 1)
    months = (12 * (year - 1970) + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (part("day", 1) - 1).astype("m8[D]")
    known &= days.astype("M8[M]") == months
    hour = np.where(half == ABSENT, hour, hour % 12 + half)
    microseconds = ((hour * 60 + minute) * 60 + second) * 1_000_000 + part("fraction", 0)
    moments = days.astype("M8[us]") + microseconds.astype("m8[us]")
    offsets = (2 * part("sign", 1) - 1) * (60 * part("zone_hour", 0) + zone_minute)
    in_utc = (moments - offsets * np.timedelta64(1, "m")).astype("M8[Y]").astype(np.int64) + 1970
    known &= (in_utc != 0) & (np.abs(in_utc) <= MAX_YEAR)
    moments = np.where(known, moments, np.datetime64("NaT", "us"))
    return moments, np.broadcast_to(offsets, known.shape)


@dataclass(frozen=True)
class NumberForm:
    """Numbers between two bounds that stand for moments: dates in digits, or counts of a unit."""

    name: str
    unit: str
    low: int
    high: int
    # Of counts: how many of these units of numpy make one, and the number that 1970 has.
    length: float = 0
    code: str = "us"
    zero: int = 0

    @property
    def is_count(self) -> bool:
        return self.length > 0

    @property
    def is_utc(self) -> bool:
        """Whether the numbers count from one moment on, the same everywhere."""
        return self.is_count and self.unit != "day"

    def moments(self, numbers: Numbers) -> Moments:
        """The moments; NaT for a number that does not fit."""
        fits = (numbers >= self.low) & (numbers <= self.high)
        if self.is_count:
            counts = np.rint((np.where(fits, numbers, self.low) - self.zero) * self.length)
            moments = counts.astype(np.int64).astype(f"M8[{self.code}]")
        else:
            fits &= numbers % 1 == 0
            digits, parts = np.where(fits, numbers, self.low).astype(np.int64), {}
            for place in UNITS[UNITS.index(self.unit) : 0 : -1]:
                digits, parts[place] = np.divmod(digits, 100)
            moments, _ = assemble(parts | {"year": digits})
        return np.where(fits, moments.astype("M8[us]"), np.datetime64("NaT", "us"))


# Counts of seconds begin in 1973, since smaller numbers are often plain ones; those of Excel in
# 1970, since 20000 is also today counted from 1970. Both end with the century or before.
NUMBER_FORMS: Final = (
    NumberForm("years like 2014", "year", 1000, 2999),
    NumberForm("months like 201504", "month", 1800_01, 2199_12),
    NumberForm("days like 20150401", "day", 1000_01_01, 2999_12_31),
    NumberForm("moments like 20150401083000", "second", 1000_01_01_00_00_00, 2999_12_31_23_59_59),
    NumberForm("days as Excel counts them", "day", 25569, 65745, 86400, "s", zero=25569),
    NumberForm("seconds since 1970", "second", 10**8, 41 * 10**8, 10**6),
    NumberForm("milliseconds since 1970", "millisecond", 10**11, 41 * 10**11, 1000),
    NumberForm("microseconds since 1970", "microsecond", 10**14, 41 * 10**14, 1),
    NumberForm("nanoseconds since 1970", "nanosecond", 10**17, 41 * 10**17, 0.001),
)


@dataclass(frozen=True)
class TimeStyle:
    """How the times of a source were written, so that questions about it are read alike."""

    # A name such as Europe/Berlin, or as-written: by the clock of whoever wrote the time.
    timezone: str = "UTC"
    date_order: Literal["dmy", "mdy"] | None = None
    date_format: str | None = None

    @property
    def forms(self) -> tuple[Form, ...]:
        return (format_of(self.date_format),) if self.date_format else FORMS


AS_WRITTEN: Final = "as-written"
DEFAULT_STYLE: Final = TimeStyle()
