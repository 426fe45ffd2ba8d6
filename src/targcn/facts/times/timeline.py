"""Convert dates to ticks and back.

A tick counts units (years … seconds, or plain steps) since the first time of the data set, so
that ticks keep the true distance between irregular dates.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.times.forms import (
    ABSENT,
    AS_WRITTEN,
    DEFAULT_STYLE,
    EARLY_FORMS,
    FORMS,
    NUMBER,
    NUMBER_FORMS,
    UNITS,
    WORD_PARTS,
    WORDS,
    TimeStyle,
    assemble,
)

# The codes of numpy; a step is a plain count and has none.
CALENDAR_CODES: Final = dict(zip(UNITS[:-1], "YMDhms", strict=True))
# What the whole numbers of a source may count.
TICK_CODES: Final = CALENDAR_CODES | {"millisecond": "ms", "microsecond": "us"}
# The largest time of a data set; the distance between larger ones might not fit into 64 bits.
MAX_TIME: Final = 10**18
# Stands for a beginning or an end that is not known: the fact holds since ever, or still.
OPEN: Final = -1


def calendar_value(when: str, unit: str, style: TimeStyle = DEFAULT_STYLE) -> int:
    """A date or datetime in any form as a number of units since 1970, rounded down.

    >>> calendar_value("1970-02-11", "month"), calendar_value("1970-01-01T02:00+01:00", "hour")
    (1, 1)
    """
    moment = read_moment(when, style)
    if moment is None:
        raise InputError(f"{when!r} is not a date; write it like 2014-10-15 or 2014-10-15T08:30")
    return int(moment.astype(f"M8[{TICK_CODES[unit]}]").astype(np.int64))


@dataclass(frozen=True, eq=False)
class Timeline:
    """The unit, the first time and the distinct ticks of a data set.

    >>> days = Timeline("day", calendar_value("2014-01-01", "day"), True, [0, 3, 364])
    >>> days.tick("2014-01-04"), days.label(364), days.tick("2013-12-31"), days.label(400)
    (3, '2014-12-31', -1, '2015-02-05')
    >>> days.tick("soon")
    Traceback (most recent call last):
    targcn.errors.InputError: 'soon' is not a date; write it like 2014-10-15 or 2014-10-15T08:30
    """

    unit: str
    # The time of tick 0: units since 1970 if `dated`, otherwise the first integer.
    start: int
    dated: bool
    # Given in any order, perhaps repeated.
    ticks: NDArray[np.int64]
    # How many of the source's whole numbers make one tick; 1 if `dated`.
    step: int = 1
    style: TimeStyle = DEFAULT_STYLE

    def __post_init__(self) -> None:
        distinct = np.unique(np.asarray(self.ticks, dtype=np.int64))
        distinct.setflags(write=False)
        object.__setattr__(self, "ticks", distinct)

    def tick(self, when: str | int | date | datetime) -> int:
        """The tick of any time, also of one that the data set does not have."""
        if self.dated:
            text = when.isoformat() if isinstance(when, date) else str(when).strip()
            return calendar_value(text, self.unit, self.style) - self.start
        known = f"from {self.label(0)} to {self.last}"
        try:
            tick = int(re.sub(r"\.0*$", "", str(when).strip())) // self.step - self.start
        except ValueError:
            what = "not a time of this graph, whose times are whole numbers"
            raise InputError(f"{str(when)!r} is {what} {known}") from None
        if abs(tick) > 2 * MAX_TIME:
            what = "too far from the times of this graph, which run"
            raise InputError(f"{when} is {what} {known}")
        return tick

    def label(self, tick: int) -> str:
        """The date of a tick in ISO form, or its number if the times are not dates."""
        value = self.start + int(tick)
        if not self.dated:
            return str(value * self.step)
        return str(np.datetime64(value, CALENDAR_CODES[self.unit]))  # type: ignore[call-overload]

    def label_interval(self, first: int, last: int) -> str:
        """The dates of the first and the last tick of a fact, either of which may be OPEN.

        >>> years = Timeline("year", calendar_value("1952", "year"), True, [0, 12])
        >>> years.label_interval(0, 12), years.label_interval(0, OPEN), years.label_interval(0, 0)
        ('1952 – 1964', 'since 1952', '1952')
        >>> years.label_interval(OPEN, 12)
        'until 1964'
        """
        if first == last:
            return self.label(first) if first != OPEN else "at any time"
        if OPEN in (first, last):
            return f"since {self.label(first)}" if last == OPEN else f"until {self.label(last)}"
        return f"{self.label(first)} – {self.label(last)}"

    def calendar(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Year, month and day of each tick, one row each; hours are a fraction of the day.

        Times that are not dates count as years.

        >>> hours = Timeline("hour", calendar_value("2014-03-09T00", "hour"), True, [0])
        >>> hours.calendar(np.array([0, 36])).tolist()
        [[2014.0, 2014.0], [3.0, 3.0], [9.0, 10.5]]
        """
        values = self.start + ticks
        if not self.dated:
            return np.stack([values, np.zeros_like(values), np.zeros_like(values)]).astype(float)
        moments = values.astype(f"M8[{CALENDAR_CODES[self.unit]}]")
        months = moments.astype("M8[M]")
        years, months_of_year = np.divmod(months.astype(np.int64), 12)
        in_month = (moments.astype("M8[s]") - months.astype("M8[s]")) / np.timedelta64(1, "D")
        return np.stack([years + 1970.0, months_of_year + 1.0, in_month + 1.0])

    @property
    def ticks_per_day(self) -> int:
        """How many ticks make a day; 1 if a tick is a day or longer, or a plain step."""
        return {"hour": 24, "minute": 1440, "second": 86400}.get(self.unit, 1)

    @property
    def first(self) -> str:
        return self.label(int(self.ticks[0]))

    @property
    def last(self) -> str:
        return self.label(int(self.ticks[-1]))


# Questions and tables ask about the same moments again and again.
@lru_cache(maxsize=4096)
def read_moment(text: str, style: TimeStyle) -> np.datetime64 | None:
    """The moment that a single text means, by the clock of the style's zone, if it means any."""
    for form in (*style.forms, *FORMS, *EARLY_FORMS):
        match = re.fullmatch(form.pattern, text)
        if match is None:
            continue
        parts = {name: _number_of(name, word) for name, word in match.groupdict().items()}
        if form.has_order and _is_month_first(text, parts, style.date_order):
            parts["month"], parts["day"] = parts["day"], parts["month"]
        (moment,), (offset,) = assemble({name: np.array([part]) for name, part in parts.items()})
        if np.isnat(moment):
            return None
        if not match.groupdict().get("zone") or style.timezone == AS_WRITTEN:
            return np.datetime64(moment)
        return _at_zone(moment - np.timedelta64(offset, "m"), style.timezone)
    if re.fullmatch(NUMBER, text):
        number = np.array([float(text) if float(text) % 1 else int(text.split(".")[0])])
        for known in NUMBER_FORMS:
            (moment,) = known.moments(number)
            if not np.isnat(moment):
                is_local = not known.is_utc or style.timezone == AS_WRITTEN
                return np.datetime64(moment) if is_local else _at_zone(moment, style.timezone)
    return None


def _number_of(name: str, word: str | None) -> int:
    if word is None:
        return ABSENT
    if name in WORD_PARTS:
        return WORDS[word.lower()[:3]]
    if name == "fraction":
        return int(word.ljust(6, "0")[:6])
    return int(word) if name != "zone" else 0


def _is_month_first(text: str, parts: Mapping[str, int], order: str | None) -> bool:
    if order is None and max(parts["day"], parts["month"]) <= 12:
        raise InputError(
            f"{text!r} may begin with the day or with the month; write it like 2014-10-15"
        )
    return order == "mdy" or (order is None and parts["month"] > 12)


def _at_zone(moment: np.datetime64, zone: str) -> np.datetime64:
    """What the clocks of a zone show at a moment in UTC."""
    if zone == "UTC":
        return np.datetime64(moment)
    from zoneinfo import ZoneInfo

    in_utc: datetime = moment.astype("M8[us]").item().replace(tzinfo=UTC)
    try:
        local = in_utc.astimezone(ZoneInfo(zone))
    except (KeyError, ValueError, OverflowError):
        raise unknown_zone(zone) from None
    return np.datetime64(local.replace(tzinfo=None))


def unknown_zone(zone: str) -> InputError:
    return InputError(f"the time zone {zone!r} is unknown; write it like Europe/Berlin")
