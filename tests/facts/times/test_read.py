"""Columns of times in every form, turned into whole numbers of one unit."""

from datetime import date, datetime, time

import numpy as np
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.times.column import Times
from targcn.facts.times.read import read_times
from targcn.facts.times.timeline import Timeline

DAYS = [f"2014-{month:02}-{day:02}" for month in (1, 7, 12) for day in (1, 2, 30)]
SECONDS = [int(np.datetime64(f"2014-10-{day:02}", "s").astype(int)) for day in range(1, 13)]
NANOSECONDS = [10**9 * second for second in SECONDS]
FIVE_DAYS = [0, 86400 * 10**9, 5 * 86400 * 10**9]
MIDNIGHTS = [second - 7200 for second in SECONDS]
HOURS = list(range(0, 24 * 365, 24))
BERLIN = ["2014-10-15T00:30+02:00", "2014-10-15T23:30+02:00"]
UNKNOWN_DAYS = ["1952-##-##", "1953-04-02", "1953-07-00"]
IN_UTC = "times are in UTC; --timezone reads them in another zone"
WHOLE = "a start is the first of what is left open, an end the last"


def read(times, ends=None, rows=None, **choices) -> Times:
    columns = {"time": times} if ends is None else {"start": times, "end": ends}
    return read_times(FactTable("x.csv", pl.DataFrame(columns), rows), ReadOptions(**choices))


def understand(times, **choices) -> tuple[str, list[str]]:
    """The unit found, and each time as the timeline writes it."""
    found = read(times, **choices)
    timeline = Timeline(found.unit, 0, found.dated, [0], found.step)
    return found.unit, [timeline.label(value) for value in found.columns[0]]


def complaint(times, ends=None, rows=None, **choices) -> str:
    with pytest.raises(InputError) as caught:
        read(times, ends, rows, **choices)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def spans(starts, ends, **choices) -> list[str]:
    """Each interval as the timeline writes it."""
    found = read(starts, ends, **choices)
    timeline = Timeline(found.unit, 0, found.dated, [0])
    return [
        " – ".join("" if tick is None else timeline.label(tick) for tick in span)
        for span in zip(*found.columns, strict=True)
    ]


def case(times, expected: str, note: str | None = None, **choices) -> tuple:
    """A column, its unit and labels, and its only note ("" is none), if that matters."""
    unit, *labels = expected.split()
    return times, choices, unit, labels, note


def in_zone(times, zone: str) -> pl.Series:
    moments = [datetime.fromisoformat(time) for time in times]
    return pl.Series(moments).dt.replace_time_zone(zone)


DATES = [
    case(["2014-10-15", "1969-12-31"], "day 2014-10-15 1969-12-31", ""),
    case(["2014/10/15", "1969/12/31"], "day 2014-10-15 1969-12-31"),
    case(["0001-01-01", "9999-12-31"], "day 0001-01-01 9999-12-31"),
    case(["2014-10", "1969-12"], "month 2014-10 1969-12"),
    case(["2014", "1969"], "year 2014 1969"),
    case(["2014-1-5", "2014-12-1"], "day 2014-01-05 2014-12-01"),
    case(["2014/1/1", "2014.1.2"], "day 2014-01-01 2014-01-02"),
    case(["07 Apr 2012", "7-apr-2012"], "day 2012-04-07 2012-04-07"),
    case(["Apr 7, 2012", "April 7 2012"], "day 2012-04-07 2012-04-07"),
    case(["Sept. 7, 2012 8:05 PM"], "minute 2012-09-07T20:05"),
    case(["2014-Q1", "2014Q2", "2014 Q4"], "month 2014-01 2014-04 2014-10"),
    case(["Apr 2012", "5/2012", "2012/6"], "month 2012-04 2012-05 2012-06"),
    case(["1952-##-##", "360-00-00", "1953-XX-XX"], "year 1952 0360 1953"),
    case(["1952-03-##", "1952-04-00"], "month 1952-03 1952-04"),
    case(["2014-10-15T08", "2014-10-15 09"], "hour 2014-10-15T08 2014-10-15T09"),
    case(["2014-10-15T00:00", "2014-10-16 00:00:00"], "day 2014-10-15 2014-10-16"),
    case(["2014-10-15T08:00", "2014-10-15 00:00"], "hour 2014-10-15T08 2014-10-15T00"),
    case(["2014-10-15T08:30"], "minute 2014-10-15T08:30"),
    case(["2014-10-15T08:30:01"], "second 2014-10-15T08:30:01"),
    case([date(2014, 10, 15)], "day 2014-10-15"),
    case([datetime(2014, 10, 15, 8)], "hour 2014-10-15T08"),
    *(
        case(pl.Series([datetime(2014, 10, 15, 8)], dtype=pl.Datetime(unit)), "hour 2014-10-15T08")
        for unit in ("ms", "us", "ns")
    ),
    # Dates in digits, and numbers that are none.
    case([2014, 1969], "year 2014 1969"),
    case([2014.0, 1969.0], "year 2014 1969"),
    case(["2012.0", "2013.0"], "year 2012 2013"),
    case(["20150401", "20160331"], "day 2015-04-01 2016-03-31"),
    case([20150401, 20160331], "day 2015-04-01 2016-03-31"),
    case(["201504", "201603"], "month 2015-04 2016-03"),
    case([201504, 201603], "month 2015-04 2016-03"),
    case([20150218230000, 20150218231500], "minute 2015-02-18T23:00 2015-02-18T23:15"),
    case([201513, 201514], "step 201513 201514"),
    case([20159901, 20159902], "step 20159901 20159902"),
    case([150101, 150201], "step 150101 150201"),
    case(range(200001, 200021), f"step {' '.join(map(str, range(200001, 200021)))}"),
    case(["0", "17", "-3", "+4"], "step 0 17 -3 4"),
    case([0.0, 17.0], "step 0 17"),
    case([999, 2014], "step 999 2014"),
    case([2014, 3000], "step 2014 3000"),
    case([-(10**18), 10**18], f"step -{10**18} {10**18}"),
    # Parts of a second make the unit a second, and are cut down.
    case(["2014-10-15T08:30:01.999999"], "second 2014-10-15T08:30:01"),
    case(["1969-12-31T23:59:58.000001"], "second 1969-12-31T23:59:58"),
    case(["2014-10-15T08:30:01.123456789Z"], "second 2014-10-15T08:30:01"),
    case(["2014-10-15T00:00:00.5"], "second 2014-10-15T00:00:00"),
    case(["2014-10-15T00:00:00.000001Z"], "second 2014-10-15T00:00:00"),
    case([datetime(2014, 10, 15, microsecond=500_000)], "second 2014-10-15T00:00:00"),
    case([datetime(1969, 12, 31, 23, 59, 58, 999_999)], "second 1969-12-31T23:59:58"),
]
ZONES = [
    *(
        case([written], "minute 2014-10-15T08:30", IN_UTC)
        for written in (
            *("2014-10-15T08:30Z", "2014-10-15T08:30z", "2014-10-15T10:30+02:00"),
            *("2014-10-15T10:30+0200", "2014-10-15 03:00:00-05:30", "2014-10-15 10:30:00+02"),
            "2014-10-14T20:30:00.0-12:00",
        )
    ),
    case(["2014-10-15T08:00Z", "2014-10-15T10:00+02:00"], "hour 2014-10-15T08 2014-10-15T08"),
    # Midnights by the clock of their writer, or in UTC, are days.
    case(in_zone(["2014-10-15T00:00"], "Asia/Tokyo"), "day 2014-10-15"),
    case(in_zone(["2014-10-15T09:00"], "Asia/Tokyo"), "day 2014-10-15"),
    case(
        [f"{day}T00:00:00+02:00" for day in DAYS],
        f"day {' '.join(DAYS)}",
        "every time is midnight by its own clock (UTC +2 h) and is read as that day",
    ),
    case(
        [f"{day}T00:00+0{2 if '-07-' in day else 1}:00" for day in DAYS],
        f"day {' '.join(DAYS)}",
        "every time is midnight by its own clock (UTC +1 h or +2 h) and is read as that day",
    ),
    # The zone decides the day.
    case(BERLIN, "day 2014-10-14 2014-10-15", IN_UTC, unit="day"),
    case(
        BERLIN,
        "day 2014-10-15 2014-10-15",
        "times are in the zone Europe/Berlin",
        unit="day",
        timezone="Europe/Berlin",
    ),
    case(
        BERLIN,
        "day 2014-10-15 2014-10-15",
        "times are read by the clock where they were written",
        unit="day",
        timezone="as-written",
    ),
    case(
        ["2014-10-15T00:30"],
        "minute 2014-10-15T00:30",
        "the times have no zone, so that --timezone changes nothing",
        timezone="Europe/Berlin",
    ),
]
CHOICES = [
    *(
        case(["1969-12-31T23:58:57"], f"{unit} {label}", unit=unit)
        for unit, label in {
            "year": "1969",
            "month": "1969-12",
            "day": "1969-12-31",
            "hour": "1969-12-31T23",
            "minute": "1969-12-31T23:58",
            "second": "1969-12-31T23:58:57",
        }.items()
    ),
    *(
        case([3, 1, 17], f"{unit} 3 1 17", unit=unit)
        for unit in ("year", "month", "day", "hour", "minute", "second", "step")
    ),
    case([20150401], "month 2015-04", unit="month"),
    case([20150401], "year 2015", unit="year"),
    case([201504], "year 2015", unit="year"),
    case([201504], "day 2015-04-01", unit="day", tick="month"),
    case(["0", "365"], "day 2014-01-01 2015-01-01", origin="2014-01-01"),
    case(["0", "365"], "hour 2014-01-01T00 2014-01-16T05", origin="2014-01-01", unit="hour"),
    case(["0", "365"], "year 2014 2379", origin="2014", unit="year"),
    case(["0", "365"], "month 2014-02 2044-07", origin="2014-02", unit="month"),
    case(["2014-10-15"], "day 2014-10-15", origin="1999-01-01"),
    case([0, 31], "month 2014-01 2014-02", origin="2014-01-01", unit="month", tick="day"),
    case(
        FIVE_DAYS,
        "day 2014-01-01 2014-01-02 2014-01-06",
        origin="2014-01-01",
        unit="day",
        tick="nanosecond",
    ),
    # What a number counts, and the unit that is wanted, are two settings.
    case(FIVE_DAYS, f"day 0 {FIVE_DAYS[1]} {FIVE_DAYS[2]}", unit="day", tick="nanosecond"),
    case([0, 24, 48], "day 0 24 48", "", unit="day", tick=24),
    case([0, 24, 48], "day 0 24 48", "", unit="day", tick="hour"),
    case([0, 12, 30], "year 0 12 24", unit="year", tick="month"),
    # How dates are written.
    case(["4/7/2012"], "day 2012-07-04", date_order="dmy"),
    case(["4/7/2012"], "day 2012-04-07", date_order="mdy"),
    case(
        ["4/7/2012", "25/4/2012"],
        "day 2012-07-04 2012-04-25",
        "dates begin with the day (--date-order dmy), like '25/4/2012'",
    ),
    case(
        ["4/7/2012", "4/25/2012"],
        "day 2012-04-07 2012-04-25",
        "dates begin with the month (--date-order mdy), like '4/25/2012'",
    ),
    case(["311214", "010115"], "day 2014-12-31 2015-01-01", "", date_format="%d%m%y"),
    case([311214], "day 2014-12-31", date_format="%d%m%y"),
    case(["4/7/2012"], "day 2012-07-04", "", date_format="%d/%m/%Y"),
    case(["3.2.2014 8h05"], "minute 2014-02-03T08:05", date_format="%d.%m.%Y %Hh%M"),
    case(
        UNKNOWN_DAYS,
        "year 1952 1953 1953",
        "all times are read by year, as row 1 ('1952-##-##'), row 3 ('1953-07-00') leave out a "
        "month or day",
    ),
    # Of numbers that count from 1970.
    case([41640.25, 41641.75], "hour 2014-01-01T06 2014-01-02T18"),
    case([25720, 65532], "day 1970-06-01 2079-06-01"),
    case([str(SECONDS[0] + 0.5)], "second 2014-10-01T00:00:00"),
    case(SECONDS[:2], "day 2014-10-01 2014-10-02", unit="day", tick="second"),
    case(SECONDS[:2], "month 2014-10 2014-10", unit="month", tick="second"),
    case(NANOSECONDS[:2], "day 2014-10-01 2014-10-02", unit="day", tick="nanosecond"),
    case(SECONDS[:1], "second 2014-10-01T00:00:00", unit="second"),
    case(SECONDS[:1], f"day {SECONDS[0]}", unit="day", tick=1),
    case(
        [*SECONDS[:1], 0, -86400],
        "day 2014-10-01 1970-01-01 1969-12-31",
        origin="1970-01-01",
        tick="second",
        unit="day",
    ),
    case([1990, 999], "step 1990 999", unit="step"),
    case([1990, 999], "year 1990 999", unit="year", tick=1),
]


@pytest.mark.parametrize(("times", "choices", "unit", "labels", "note"), [*DATES, *ZONES, *CHOICES])
def test_a_column_is_understood(times, choices, unit, labels, note):
    assert understand(times, **choices) == (unit, labels)
    if note is not None:
        assert read(times, **choices).notes == ((note,) if note else ())


@pytest.mark.parametrize("as_written", [int, str, float])
@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("seconds since 1970", SECONDS),
        ("milliseconds since 1970", [1000 * second for second in SECONDS]),
        ("microseconds since 1970", [10**6 * second for second in SECONDS]),
        ("nanoseconds since 1970", NANOSECONDS),
        ("days as Excel counts them", [second // 86400 + 25569 for second in SECONDS]),
    ],
)
def test_epoch_seconds_and_the_like_are_recognised_by_their_range(name, times, as_written):
    written = [as_written(time) for time in times]
    assert understand(written) == ("day", [f"2014-10-{day:02}" for day in range(1, 13)])
    assert read(written).notes[0].startswith(f"the times are {name}")


@pytest.mark.parametrize("moment", ["1973-03-04", "2001-09-09", "2038-01-20", "2099-12-01"])
@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_the_ranges_reach_from_1973_to_2099(moment, per_second):
    number = int(np.datetime64(moment, "s").astype(int)) * per_second
    assert understand([number]) == ("day", [moment])


def test_midnights_of_another_zone_in_epoch_seconds():
    assert understand(MIDNIGHTS)[1][0] == "2014-09-30T22"
    assert read(MIDNIGHTS).notes[0].endswith(IN_UTC)
    assert understand(MIDNIGHTS, timezone="Europe/Berlin")[1][0] == "2014-10-01"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_midnights_written_in_utc_are_days_in_their_zone(zone):
    in_utc = in_zone(DAYS, zone).dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    found = read(in_utc)
    assert found.unit in ("hour", "minute")
    assert found.notes == (IN_UTC,)
    assert understand(in_utc, timezone=zone) == ("day", DAYS)


def test_how_times_were_written_is_kept_for_questions():
    assert read(["4/7/2012", "25/4/2012"]).style.date_order == "dmy"
    assert read(BERLIN, timezone="Europe/Berlin").style.timezone == "Europe/Berlin"


@pytest.mark.parametrize(("first", "last"), [(0, 365), (1, 366), (0, 70_000), (1, 70_001)])
def test_counts_from_the_first_on_are_no_dates(first, last):
    found = read(range(first, last))
    assert (found.unit, found.dated, found.notes) == ("step", False, ())


def test_what_numbers_count_decides_the_dates_after_an_origin():
    assert understand(HOURS, origin="2014-01-01", unit="hour")[1][-1] == "2014-12-31T00"
    for tick in (24, "hour"):
        found = understand(HOURS, origin="2014-01-01", unit="day", tick=tick)
        assert found[1][-1] == "2014-12-31"
    assert understand(HOURS, origin="2014-01-01")[1][-1] == "2037-12-02"


YEARS = list(range(1990, 2015))
NOT_READ = "x.csv: times that are neither dates nor whole numbers: row 2 ({!r}); write them like"
REFUSED = [
    # What is no time at all.
    *(
        (["2014-10-15", bad, "2014-10-16"], {}, NOT_READ.format(bad))
        for bad in ("soon", "15.10.14", "2014-10-15T", "9" * 20, "1,5", "NaN", "٢٠١٤", "1952-#-#")
    ),
    (["2014-10-15", *"xyxzw"], {}, "row 2 ('x'), row 3 ('y'), row 4 ('x') and 2 more;"),
    (["31.12.14", "2014"], {"date_format": "%d.%m.%y"}, "not like %d.%m.%y: row 2 ('2014'); cor"),
    (["4/13/2012"], {"date_format": "%d/%m/%Y"}, "not in the calendar: row 1 ('4/13/2012')"),
    *(([bad], {}, "x.csv: times of type") for bad in (True, time(8), b"2014", ["2014"])),
    *(
        ([1.0, bad], {}, f"not whole numbers: row 2 ('{bad}')")
        for bad in (1.5, float("inf"), float("nan"), 9.3e18)
    ),
    (pl.Series([1, 2**64 - 1], dtype=pl.UInt64), {}, f"too large: row 2 ('{2**64 - 1}')"),
    (pl.Series([1, -(2**63)], dtype=pl.Int64), {}, f"too large: row 2 ('{-(2**63)}')"),
    (pl.Series([1, 2**100], dtype=pl.Int128), {}, f"too large: row 2 ('{2**100}')"),
    # What the calendar does not have.
    *(
        (["2014-10-15", bad], {}, f"not in the calendar: row 2 ({bad!r})")
        for bad in ("2014-02-30", "2014-13-01", "2014/02/29", "0000-01-01")
    ),
    *(
        (["2014-10-15T08:30", bad], {}, f"row 2 ({bad!r})")
        for bad in ("2014-10-15T24:00", "2014-10-15T10:60")
    ),
    (["2014-10-15T08:30Z", "9999-12-31T23:59-02:00"], {}, "row 2 ('9999-12-31T23:59-02:00')"),
    *(
        (dates, {}, "x.csv: times outside the years 1 to 9999 in row 2; correct them")
        for dates in (
            pl.Series([0, 2**31 - 1], dtype=pl.Int32).cast(pl.Date),
            pl.Series([0, 2**63 - 1]).cast(pl.Datetime("ms")),
            pl.Series([0, -(2**63) + 1]).cast(pl.Datetime("us")),
        )
    ),
    (
        [1_400_000_000],
        {"origin": "1970-01-01"},
        "counted in days from 1970-01-01, are outside the years 1 to 9999; give another --unit",
    ),
    # Forms that do not go together.
    (["2014-10-15", "2014-10-16", "2014"], {}, "a number in row 3 ('2014'), a date elsewhere;"),
    (["2014-10-15", "2014-10-16", "2014-10"], {}, "a month in row 3 ('2014-10'), a date elsewhere"),
    (["2014", "2014-10-15T08:30", "2015"], {}, "a datetime in row 2"),
    (
        ["2014-10-15T08:30", "2014-10-15T08:31", "2014-10-15T08:30Z"],
        {},
        "a datetime with zone in row 3 ('2014-10-15T08:30Z'), a datetime elsewhere",
    ),
    (
        UNKNOWN_DAYS,
        {"unit": "day"},
        "row 1 ('1952-##-##'), row 3 ('1953-07-00') leave out a month or day; give --unit year",
    ),
    # Numbers most of which have a form.
    ([20150401, 20150402, 20150230], {}, "days like 20150401, but not row 3 ('20150230')"),
    (["20150401", "20150402", "20150230"], {}, "days like 20150401, but not row 3 ('20150230')"),
    ([201401, 201402, 201413], {}, "months like 201504, but not row 3 ('201413')"),
    ([20140101, 20140102, 201413], {}, "days like 20150401, but not row 3 ('201413')"),
    *(
        (
            [*YEARS, stray],
            {},
            f"x.csv: most times are years like 2014, but not row 26 ('{stray}'); correct them, or "
            "give --unit step if all are plain numbers, or --unit year --tick 1 if all are years",
        )
        for stray in (999, 987, 3000, -44)
    ),
    (
        [*SECONDS, 0, 0],
        {},
        "x.csv: most times are seconds since 1970, but not row 13 ('0'), row 14 ('0'); correct "
        "them, or give --unit step if all are plain numbers",
    ),
    # Choices that do not fit.
    (
        SECONDS,
        {"unit": "day"},
        "x.csv: the times are seconds since 1970, not days; leave out --unit, or add --tick second "
        "to have them by day, or --tick 1 if they do count days",
    ),
    (NANOSECONDS, {"unit": "day"}, "--tick nanosecond to have them by day"),
    ([201504], {"unit": "day"}, "the times are months like 201504, not days"),
    (["2014-10-15"], {"unit": "step"}, "unit step is for integers"),
    ([1], {"origin": "2014", "unit": "step"}, "--origin needs a calendar unit"),
    ([1], {"origin": "soon"}, "'soon' is not a date"),
    (
        [0, 1, 2],
        {"unit": "month", "tick": "day"},
        "x.csv: days can be counted by month only from a date on; add --origin",
    ),
    (BERLIN, {"timezone": "Berlin"}, "the time zone 'Berlin' is unknown; write it like Europe/"),
    # Days and months that no row tells apart, or that rows order differently.
    (
        ["4/7/2012", "07.04.2012"],
        {},
        "x.csv: dates like '07.04.2012' may begin with the day or with the month, and no row "
        "decides it; give --date-order dmy or --date-order mdy",
    ),
    (
        ["4/7/2012", "25.4.2012", "4-25-2012"],
        {},
        "x.csv: the day comes first in row 2 ('25.4.2012'), but the month in row 3 ('4-25-2012'); "
        "correct them",
    ),
    *(
        (
            [first, "31.31.2014"],
            {},
            "x.csv: times that are not in the calendar: row 2 ('31.31.2014'",
        )
        for first in ("25.4.2014", "2014-04-25")
    ),
    (["5.4.2014", "31.31.2014"], {}, "x.csv: dates like '5.4.2014' may begin with the day or"),
]


@pytest.mark.parametrize(("times", "choices", "sentence"), REFUSED)
def test_what_cannot_be_read_is_refused_by_its_rows(times, choices, sentence):
    said = complaint(times, **choices)
    assert said.startswith(sentence) if sentence.startswith("x.csv: ") else sentence in said


def test_a_long_text_is_cut_in_the_message():
    assert len(complaint(["x" * 5000])) < 250


def test_rows_are_those_of_the_source():
    assert "row 10 ('soon')" in complaint(["2014", "soon"], rows=pl.Series([3, 9]))
    assert "row 10 ('soon')" in complaint(["2014"] * 2, ["2015", "soon"], pl.Series([3, 9]))


@pytest.mark.parametrize("tick", [0, -1, "24", "week", "step", 1.5])
def test_a_tick_that_is_no_tick(tick):
    with pytest.raises(InputError, match="should be a whole number above 0, or year, month"):
        ReadOptions(tick=tick)


@pytest.mark.parametrize(
    ("start", "end", "unit", "wanted"),
    [
        ("1952", "1952", "day", "1952-01-01 – 1952-12-31"),
        ("1952-##-##", "1952-02-##", "day", "1952-01-01 – 1952-02-29"),
        ("1952-03", "1952-Q2", "month", "1952-03 – 1952-06"),
        ("1952-03", "1952-Q2", "day", "1952-03-01 – 1952-06-30"),
        ("1952-03-04", "1953", None, "1952 – 1953"),
        ("1952-03-04", "1953-02", None, "1952-03 – 1953-02"),
        ("1952-03-04", "1953-02-01", "month", "1952-03 – 1953-02"),
        ("1952-03-04", "1953-02-01", "hour", "1952-03-04T00 – 1953-02-01T23"),
        ("1952-03-04T08", "1952-03-04T09", None, "1952-03-04T08 – 1952-03-04T09"),
        ("1952-03-04T08", "1952-03-04T09", "minute", "1952-03-04T08:00 – 1952-03-04T09:00"),
        ("19##-##-##", "19##-##-##", None, "1900 – 1999"),
        ("195#-##-##", "19##-##-##", "day", "1950-01-01 – 1999-12-31"),
        ("-405-##-##", "360-##-##", None, "-405 – 0360"),
        ("-405-03-02", "0360-01-01", None, "-405-03-02 – 0360-01-01"),
        ("307-13047-09", "1963-64-65", "year", "0307 – 1963"),
        ("307-13047-09", "1952-##-##", None, "0307 – 1952"),
        (1952, 1964, None, "1952 – 1964"),
        (1952, 1964, "day", "1952-01-01 – 1964-12-31"),
        (195203, 196404, "day", "1952-03-01 – 1964-04-30"),
        (0, 17, None, "0 – 17"),
        (date(1952, 3, 4), date(1964, 1, 1), "month", "1952-03 – 1964-01"),
        (date(1952, 3, 4), date(1964, 1, 1), "hour", "1952-03-04T00 – 1964-01-01T23"),
        (1952, 1964.0, None, "1952 – 1964"),
        ("1952", 1964, None, "1952 – 1964"),
    ],
)
def test_a_start_is_the_first_of_what_is_left_open_and_an_end_the_last(start, end, unit, wanted):
    assert spans([start], [end], unit=unit) == [wanted]


@pytest.mark.parametrize(
    ("starts", "ends", "wanted"),
    [
        (["1952", None, "1960"], [None, "1964", "1960"], ["1952 – ", " – 1964", "1960 – 1960"]),
        ([2012, None], [None, 2014], ["2012 – ", " – 2014"]),
        ([None, None], ["2012", "2014"], [" – 2012", " – 2014"]),
        (["2012", "2014"], [None, None], ["2012 – ", "2014 – "]),
        ([date(2012, 1, 1), None], [None, date(2014, 1, 1)], ["2012-01-01 – ", " – 2014-01-01"]),
    ],
)
def test_what_is_missing_stays_open(starts, ends, wanted):
    assert spans(starts, ends) == wanted


def test_starts_and_ends_share_what_was_inferred():
    # Only an end decides that the day comes first.
    assert spans(["4/7/2012"], ["25/7/2012"]) == ["2012-07-04 – 2012-07-25"]
    # An epoch of a few years beside open ones.
    assert spans([1413331200], [1413417600]) == ["2014-10-15 – 2014-10-16"]


def test_the_unit_of_counted_intervals():
    assert spans([0, 24], [23, 71], unit="day", tick=24) == ["0 – 0", "1 – 2"]
    origin = {"origin": "2014-01-01", "tick": "month", "unit": "day"}
    assert spans([0], [1], **origin) == ["2014-01-01 – 2014-02-28"]


def test_an_end_before_its_start_is_refused_or_taken_as_open():
    starts, ends = ["2014", "2014", "2015"], ["2012", "2014", "2013"]
    assert complaint(starts, ends) == (
        "x.csv: the end is before the start in row 1 ('2014 – 2012'), row 3 ('2015 – 2013'); "
        "correct them, or give --reversed open to take such ends as open"
    )
    assert spans(starts, ends, reversed="open") == ["2014 – ", "2014 – 2014", "2015 – "]
    # Within the unit they are not reversed.
    assert spans(["2014-03-01"], ["2014-02-01"], unit="year") == ["2014 – 2014"]


@pytest.mark.parametrize(
    ("starts", "ends", "problem"),
    [
        (["2014-01-01"], ["2014-64-65"], "not in the calendar: row 1 ('2014-64-65'); correct them"),
        (["0-##-##"], ["2014"], "not in the calendar: row 1 ('0-##-##')"),
        (["2014-01-01"], ["soon"], "neither dates nor whole numbers: row 1 ('soon')"),
        (["2014-01-01"], ["2014-01-01T08"], "times of different forms"),
        ([2014], [987], "most times are years like 2014, but not row 2"),
    ],
)
def test_what_is_no_time_is_refused_by_its_row(starts, ends, problem):
    if problem.startswith("most"):
        starts, ends = [2014, 2015, 2016], [2014, 987, 2016]
    assert problem in complaint(starts, ends)


def test_what_was_left_open_is_noted():
    found = read(["19##-##-##", "1925-04-23"], ["1963-64-65", None])
    assert found.notes == (
        "times that are not in the calendar: row 1 ('1963-64-65'); only their years are read",
        "all times are read by year, as row 1 ('19##-##-##') leave out a month or day",
        f"row 1 ('19##-##-##') leave out some of the year: {WHOLE}",
    )
    assert read(["1952"], ["1953-01-01"], unit="day").notes == (
        f"row 1 ('1952') leave out a month or day: {WHOLE}",
    )


def test_a_date_format_with_a_time_of_day_ends_at_that_moment():
    ends = spans(["1.2.2014 8h"], ["3.2.2014 9h"], date_format="%d.%m.%Y %Hh")
    assert ends == ["2014-02-01T08 – 2014-02-03T09"]
