"""Dates and ticks, both ways."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from targcn.errors import InputError
from targcn.facts.times.forms import TimeStyle
from targcn.facts.times.timeline import CALENDAR_CODES, Timeline, calendar_value

DAYS = Timeline("day", calendar_value("2014-01-01", "day"), True, [364, 0, 3, 3])
STEPS = Timeline("step", 10, False, [0, 5])


def starting(start: str, unit: str) -> Timeline:
    return Timeline(unit, calendar_value(start, unit), True, [0, 1])


def test_ticks_are_distinct_and_sorted():
    assert DAYS.ticks.tolist() == [0, 3, 364]
    assert (DAYS.first, DAYS.last) == ("2014-01-01", "2014-12-31")
    assert (STEPS.first, STEPS.last, STEPS.label(-10)) == ("10", "15", "0")


def test_ticks_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        DAYS.ticks[0] = 1


@pytest.mark.parametrize(
    ("when", "tick"),
    [
        ("2014-01-04", 3),
        ("2014-01-02", 1),
        ("2013-12-31", -1),
        ("2016-02-29", 789),
        ("2014-01-04T23:59:59", 3),
        ("2014-01-04 23:59", 3),
        ("2014-01-05T01:00+02:00", 3),
        ("2014/01/04", 3),
        ("20140104", 3),
        (20140104, 3),
        (" 2014-01-04 ", 3),
        ("2014-02", 31),
        ("2015", 365),
        (date(2014, 1, 4), 3),
        (datetime(2014, 1, 4, 23, 59), 3),
        (datetime(2014, 1, 4, 23, 59, tzinfo=UTC), 3),
        (datetime(2014, 1, 5, 1, tzinfo=timezone(timedelta(hours=2))), 3),
    ],
)
def test_the_tick_of_any_date(when, tick):
    assert DAYS.tick(when) == tick


@pytest.mark.parametrize(
    ("start", "unit", "when", "tick"),
    [
        ("1945", "year", "2015", 70),
        ("1945", "year", 1944, -1),
        ("1945", "year", date(1946, 12, 31), 1),
        ("1969-12", "month", "1970-02-11", 2),
        ("2014-01-01T22", "hour", "2014-01-02T01:59", 3),
        ("2014-01-01T22:00", "minute", "2014-01-02", 120),
        ("2014-01-01T22:00:00", "second", "2014-01-01T22:00:01.999", 1),
        ("1970-01-01", "day", "1969-12-31T23:59", -1),
    ],
)
def test_every_unit_cuts_down_to_itself(start, unit, when, tick):
    assert starting(start, unit).tick(when) == tick


@pytest.mark.parametrize("unit", CALENDAR_CODES)
@given(data=st.data())
def test_tick_to_label_and_back(unit, data):
    first, last = (calendar_value(day, unit) for day in ("0001-01-01", "9999-12-31"))
    start = data.draw(st.integers(first, last))
    tick = data.draw(st.integers(first - start, last - start))
    timeline = Timeline(unit, start, True, [0])
    assert timeline.tick(timeline.label(tick)) == tick


@given(start=st.integers(-(10**18), 10**18), tick=st.integers(-(10**18), 10**18))
def test_tick_to_label_and_back_without_dates(start, tick):
    timeline = Timeline("step", start, False, [0])
    assert timeline.tick(timeline.label(tick)) == tick


@given(moment=st.datetimes(), unit=st.sampled_from(list(CALENDAR_CODES)))
def test_a_moment_lies_between_its_label_and_the_next(moment, unit):
    timeline = Timeline(unit, 0, True, [0])
    label = timeline.label(timeline.tick(moment))
    assert moment.isoformat().startswith(label)


@pytest.mark.parametrize(("when", "tick"), [(10, 0), ("12", 2), ("-5", -15), (" 99 ", 89)])
def test_steps_are_counted_from_the_first(when, tick):
    assert STEPS.tick(when) == tick


def test_steps_of_several_numbers_keep_the_numbers_of_the_source():
    days = Timeline("day", 1, False, [0, 2], step=24)
    assert (days.first, days.last, days.tick("72"), days.tick(73.0), days.tick(23)) == (
        "24",
        "72",
        2,
        2,
        -1,
    )


def test_questions_take_the_zone_and_the_format_of_the_data():
    style = TimeStyle("Europe/Berlin", date_format="%d-%m-%y")
    days = Timeline("day", calendar_value("2014-01-01", "day"), True, [0], style=style)
    assert [days.tick(when) for when in ("04-01-14", "2014-01-04", "2014-01-03T23:30Z")] == [
        3,
        3,
        3,
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "soon",
        "now",
        "today",
        "NaT",
        "",
        "17",
        "-5",
        "99999",
        "2014-13-01",
        "2014-02-30",
        "2014-10-15T25:00",
        "0000-01-01",
        "0001-01-01T00:00+05:00",
        "36",
        "0000",
        "9" * 5000,
        "२०१४",
    ],
)
def test_what_is_no_date(bad):
    with pytest.raises(InputError, match="is not a date; write it like 2014-10-15"):
        DAYS.tick(bad)


@pytest.mark.parametrize("bad", ["soon", "2014-01-01", "1.5", "9" * 5000, date(2014, 1, 1)])
def test_what_is_no_step(bad):
    with pytest.raises(InputError, match="whole numbers from 10 to 15"):
        STEPS.tick(bad)


@pytest.mark.parametrize("far", ["99999999999999999999", -(2 * 10**18)])
def test_a_step_too_far_for_64_bits_is_refused(far):
    with pytest.raises(InputError, match=f"{far} is too far from the times of this graph, .* 15"):
        STEPS.tick(far)
    assert STEPS.tick(10**18) == 10**18 - 10


# There is no year 0.
YEARS = st.integers(-9000, 9000).filter(lambda year: not -7 <= year <= 0)


@given(YEARS, st.sampled_from(["year", "month", "day", "hour"]))
def test_the_label_of_an_early_time_is_a_question_too(year, unit):
    start = np.datetime64(year - 1970, "Y").astype(f"M8[{CALENDAR_CODES[unit]}]").astype(int)
    timeline = Timeline(unit, int(start), True, [0, 7])
    assert timeline.tick(timeline.label(7)) == 7
