"""Times that are numbers: dates in digits, counts since 1970, and what plain counts count."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.dates import read_times
from targcn.facts.read_options import ReadOptions
from targcn.facts.timeline import Timeline

SECONDS = [int(np.datetime64(f"2014-10-{day:02}", "s").astype(int)) for day in range(1, 13)]
HOURS = list(range(0, 24 * 365, 24))


def read(times, **choices):
    return read_times(pl.Series(times), "x.csv", ReadOptions(**choices))


def ends(times, **choices) -> tuple[str, str, str]:
    """The unit, and the first and last time as the timeline writes them."""
    found = read(times, **choices)
    start = found.values.min()
    timeline = Timeline.of(found.unit, start, found.dated, found.values - start, found.step)
    return found.unit, timeline.first, timeline.last


def complaint(times, **choices) -> str:
    with pytest.raises(InputError) as caught:
        read(times, **choices)
    return str(caught.value)


@pytest.mark.parametrize("as_written", [int, str, float])
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("seconds since 1970", SECONDS),
        ("milliseconds since 1970", [1000 * second for second in SECONDS]),
        ("microseconds since 1970", [10**6 * second for second in SECONDS]),
        ("nanoseconds since 1970", [10**9 * second for second in SECONDS]),
        ("days as Excel counts them", [second // 86400 + 25569 for second in SECONDS]),
    ],
)
def test_epoch_seconds_and_the_like_are_recognised_by_their_range(name, times, as_written):
    written = [as_written(time) for time in times]
    assert ends(written) == ("day", "2014-10-01", "2014-10-12")
    assert read(written).notes[0].startswith(f"the times are {name}")


@pytest.mark.parametrize("moment", ["1973-03-04", "2001-09-09", "2038-01-20", "2099-12-01"])
@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_the_ranges_reach_from_1973_to_2099(moment, per_second):
    number = int(np.datetime64(moment, "s").astype(int)) * per_second
    assert ends([number]) == ("day", moment, moment)


def test_the_range_of_excel_reaches_from_1970_to_2079():
    serials = [(date(year, 6, 1) - date(1899, 12, 30)).days for year in (1970, 2079)]
    assert ends(serials) == ("day", "1970-06-01", "2079-06-01")


def test_fractions_of_counts_are_times_of_day():
    assert ends([41640.25, 41641.75]) == ("hour", "2014-01-01T06", "2014-01-02T18")
    first = "2014-10-01T00:00:00"
    assert ends([str(SECONDS[0] + 0.5)]) == ("second", first, first)


def test_unit_day_on_epoch_seconds_is_refused_with_the_reason():
    assert complaint(SECONDS, unit="day") == (
        "x.csv: the times are seconds since 1970, not days; leave out --unit, or add --tick second "
        "to have them by day, or --tick 1 if they do count days"
    )
    assert ends(SECONDS, unit="day", tick="second") == ("day", "2014-10-01", "2014-10-12")
    assert ends(SECONDS, unit="month", tick="second") == ("month", "2014-10", "2014-10")
    nanoseconds = [10**9 * second for second in SECONDS]
    assert "--tick nanosecond to have them by day" in complaint(nanoseconds, unit="day")
    assert ends(nanoseconds, unit="day", tick="nanosecond") == ("day", "2014-10-01", "2014-10-12")
    assert ends(SECONDS, unit="second")[1] == "2014-10-01T00:00:00"
    assert ends(SECONDS, unit="day", tick=1) == ("day", str(SECONDS[0]), str(SECONDS[-1]))


def test_epoch_seconds_in_another_zone():
    midnights = [second - 7200 for second in SECONDS]
    assert ends(midnights) == ("hour", "2014-09-30T22", "2014-10-11T22")
    (note,) = read(midnights).notes
    assert note.endswith("(all are at 22:00: the days of another zone?)")
    assert ends(midnights, timezone="Europe/Berlin") == ("day", "2014-10-01", "2014-10-12")


def test_multiples_of_24_are_questioned():
    found = read(HOURS)
    question = "every time is a multiple of 24: hours? --unit hour, or --unit day --tick 24"
    assert (found.unit, found.dated, found.notes) == ("step", False, (question,))
    assert read(range(365)).notes == read([0, 24]).notes == ()


@pytest.mark.parametrize(
    ("number", "unit", "larger"),
    [(86400, "second", "day"), (3600, "second", "hour"), (1440, "minute", "day")],
)
def test_multiples_of_other_units_are_questioned(number, unit, larger):
    (note,) = read([number * step for step in range(10)]).notes
    assert f"a multiple of {number}: {unit}s? --unit {unit}, or --unit {larger} --tick" in note


def test_any_common_factor_of_many_numbers_is_noted():
    assert read(range(0, 150, 15)).notes == (
        "every time is a multiple of 15: --tick 15 counts these",
    )
    assert read(range(0, 150, 15), unit="minute").notes == read([0, 15, 30]).notes == ()


@pytest.mark.parametrize("unit", [None, "day"])
def test_an_origin_on_multiples_of_24_does_not_end_in_2037(unit):
    assert complaint(HOURS, origin="2014-01-01", unit=unit) == (
        "x.csv: every time is a multiple of 24: hours? --unit hour, or --unit day --tick 24; "
        "--tick 1 if they do count days"
    )
    assert ends(HOURS, origin="2014-01-01", unit="hour") == (
        "hour",
        "2014-01-01T00",
        "2014-12-31T00",
    )
    days = ("day", "2014-01-01", "2014-12-31")
    assert ends(HOURS, origin="2014-01-01", unit="day", tick=24) == days
    assert ends(HOURS, origin="2014-01-01", unit="day", tick="hour") == days
    assert ends(HOURS, origin="2014-01-01", tick=1)[2] == "2037-12-02"


def test_the_unit_of_the_source_and_the_wanted_unit_are_two_settings():
    assert complaint(HOURS, unit="day").startswith("x.csv: every time is a multiple of 24")
    found = read(HOURS, unit="day", tick=24)
    assert (found.unit, found.step, found.values.to_list()) == ("day", 24, list(range(365)))
    assert ends(HOURS, unit="day", tick=24) == ("day", "0", "8736")
    assert read(HOURS, unit="day", tick="hour").step == 24
    assert ends(range(365), origin="2014-01-01", unit="month", tick="day") == (
        "month",
        "2014-01",
        "2014-12",
    )
    nanoseconds = [0, 86400 * 10**9, 5 * 86400 * 10**9]
    assert ends(nanoseconds, origin="2014-01-01", unit="day", tick="nanosecond") == (
        "day",
        "2014-01-01",
        "2014-01-06",
    )
    assert read(nanoseconds, unit="day", tick="nanosecond").step == 86400 * 10**9
    assert read([0, 12, 30], unit="year", tick="month").values.sort().to_list() == [0, 1, 2]


def test_days_make_months_only_from_a_date_on():
    assert complaint([0, 1, 2], unit="month", tick="day") == (
        "x.csv: days can be counted by month only from a date on; add --origin"
    )


@pytest.mark.parametrize("stray", [999, 987, 3000, -44])
def test_one_year_below_1000_or_negative_does_not_make_steps_of_years(stray):
    years = [*range(1990, 2015), stray]
    assert complaint(years) == (
        f"x.csv: most times are years like 2014, but not row 26 ('{stray}'); correct them, or give "
        "--unit step if all are plain numbers, or --unit year --tick 1 if all are years"
    )
    assert read(years, unit="step").unit == "step"
    assert ends(years, unit="year", tick=1)[0] == "year"


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("months like 201504", [201401 + month for month in range(12)]),
        ("days like 20150401", [20140101 + day for day in range(31)]),
    ],
)
def test_one_stray_201413_among_dates_does_not_make_steps_of_them(name, fitting):
    row = len(fitting) + 1
    sentence = complaint([*fitting, 201413])
    assert f"most times are {name}, but not row {row} ('201413')" in sentence


def test_a_zero_among_epoch_seconds():
    assert complaint([*SECONDS, 0, 0]) == (
        "x.csv: most times are seconds since 1970, but not row 13 ('0'), row 14 ('0'); correct "
        "them, or give --unit step if all are plain numbers, or --origin 1970-01-01 --tick second "
        "if all count from there"
    )
    assert ends([*SECONDS, 0, -86400], origin="1970-01-01", tick="second", unit="day") == (
        "day",
        "1969-12-31",
        "2014-10-12",
    )


@pytest.mark.parametrize("count", [365, 3000, 4017, 70_000])
@pytest.mark.parametrize("first", [0, 1])
def test_plain_counts_stay_steps(count, first):
    found = read(range(first, first + count))
    assert (found.unit, found.dated, found.notes) == ("step", False, ())


@pytest.mark.parametrize(
    ("number", "unit", "label"),
    [(20150401, "month", "2015-04"), (20150401, "year", "2015"), (201504, "year", "2015")],
)
def test_dates_in_digits_are_rounded_down_to_a_unit(number, unit, label):
    assert ends([number], unit=unit) == (unit, label, label)


def test_a_unit_finer_than_dates_in_digits_is_refused():
    sentence = complaint([201504], unit="day")
    assert "the times are months like 201504, not days" in sentence
    assert ends([201504], unit="day", tick="month") == ("day", "2015-04-01", "2015-04-01")


@pytest.mark.parametrize("tick", [0, -1, "24", "week", "step", 1.5])
def test_a_tick_that_is_no_tick(tick):
    with pytest.raises(InputError, match="should be a whole number above 0, or year, month"):
        ReadOptions(tick=tick)


def test_days_from_an_origin_are_its_days():
    numbers = [0, 31, 365]
    expected = [str(date(2014, 1, 1) + timedelta(number)) for number in numbers]
    assert ends(numbers, origin="2014-01-01")[1:] == (expected[0], expected[-1])
