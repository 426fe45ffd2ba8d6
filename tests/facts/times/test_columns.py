"""Columns of times in every form, turned into whole numbers of one unit."""

from datetime import date, datetime, time

import numpy as np
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.times.columns import Times, read_times
from targcn.facts.times.timeline import Timeline

DAYS = [f"2014-{month:02}-{day:02}" for month in (1, 7, 12) for day in (1, 2, 30)]
SECONDS = [int(np.datetime64(f"2014-10-{day:02}", "s").astype(int)) for day in range(1, 13)]
HOURS = list(range(0, 24 * 365, 24))


def read(times, ends=None, rows=None, **choices) -> Times:
    ends = None if ends is None else pl.Series(ends)
    return read_times(pl.Series(times), "x.csv", ReadOptions(**choices), rows, ends)


def understand(times, **choices) -> tuple[str, list[str]]:
    """The unit found, and each time as the timeline writes it."""
    found = read(times, **choices)
    timeline = Timeline(found.unit, 0, found.dated, [0])
    return found.unit, [timeline.label(value) for value in found.values]


def understand_with_notes(times, **choices) -> tuple[str, list[str], tuple[str, ...]]:
    return *understand(times, **choices), read(times, **choices).notes


def ends(times, **choices) -> tuple[str, str, str]:
    """The unit, and the first and last time as the timeline writes them."""
    found = read(times, **choices)
    start = found.values.min()
    timeline = Timeline(found.unit, start, found.dated, found.values - start, found.step)
    return found.unit, timeline.first, timeline.last


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
        for span in zip(found.values, found.ends, strict=True)
    ]


@pytest.mark.parametrize(
    ("times", "unit", "labels"),
    [
        (["2014-10-15", "1969-12-31"], "day", ["2014-10-15", "1969-12-31"]),
        (["2014/10/15", "1969/12/31"], "day", ["2014-10-15", "1969-12-31"]),
        (["0001-01-01", "9999-12-31"], "day", ["0001-01-01", "9999-12-31"]),
        (["2014-10", "1969-12"], "month", ["2014-10", "1969-12"]),
        (["2014", "1969"], "year", ["2014", "1969"]),
        ([2014, 1969], "year", ["2014", "1969"]),
        ([2014.0, 1969.0], "year", ["2014", "1969"]),
        (["20150401", "20160331"], "day", ["2015-04-01", "2016-03-31"]),
        ([20150401, 20160331], "day", ["2015-04-01", "2016-03-31"]),
        (["201504", "201603"], "month", ["2015-04", "2016-03"]),
        ([201504, 201603], "month", ["2015-04", "2016-03"]),
        ([201513, 201514], "step", ["201513", "201514"]),
        (range(200001, 200021), "step", [str(number) for number in range(200001, 200021)]),
        ([150101, 150201], "step", ["150101", "150201"]),
        (["0", "17", "-3", "+4"], "step", ["0", "17", "-3", "4"]),
        ([0.0, 17.0], "step", ["0", "17"]),
        ([999, 2014], "step", ["999", "2014"]),
        (["2012.0", "2013.0"], "year", ["2012", "2013"]),
        (["2014-1-5", "2014-12-1"], "day", ["2014-01-05", "2014-12-01"]),
        (["2014/1/1", "2014.1.2"], "day", ["2014-01-01", "2014-01-02"]),
        (["07 Apr 2012", "7-apr-2012", "Apr 7, 2012", "April 7 2012"], "day", ["2012-04-07"] * 4),
        (["Sept. 7, 2012 8:05 PM"], "minute", ["2012-09-07T20:05"]),
        (["2014-Q1", "2014Q2", "2014 Q4"], "month", ["2014-01", "2014-04", "2014-10"]),
        (["Apr 2012", "5/2012", "2012/6"], "month", ["2012-04", "2012-05", "2012-06"]),
        (["1952-##-##", "360-00-00", "1953-XX-XX"], "year", ["1952", "0360", "1953"]),
        (["1952-03-##", "1952-04-00"], "month", ["1952-03", "1952-04"]),
        (["2014-10-15 08:30:00+02", "2014-10-15T08:30+02"], "minute", ["2014-10-15T06:30"] * 2),
        (["2014-10-15T08", "2014-10-15 09"], "hour", ["2014-10-15T08", "2014-10-15T09"]),
        ([20150218230000, 20150218231500], "minute", ["2015-02-18T23:00", "2015-02-18T23:15"]),
        ([2014, 3000], "step", ["2014", "3000"]),
        ([20159901, 20159902], "step", ["20159901", "20159902"]),
        ([-(10**18), 10**18], "step", [f"-{10**18}", f"{10**18}"]),
        (["2014-10-15T00:00", "2014-10-16 00:00:00"], "day", ["2014-10-15", "2014-10-16"]),
        (["2014-10-15T08:00", "2014-10-15 00:00"], "hour", ["2014-10-15T08", "2014-10-15T00"]),
        (["2014-10-15T08:30"], "minute", ["2014-10-15T08:30"]),
        (["2014-10-15T08:30:01"], "second", ["2014-10-15T08:30:01"]),
        ([date(2014, 10, 15)], "day", ["2014-10-15"]),
        ([datetime(2014, 10, 15, 8)], "hour", ["2014-10-15T08"]),
    ],
)
def test_forms_and_the_unit_found(times, unit, labels):
    assert understand(times) == (unit, labels)


@pytest.mark.parametrize(
    "written",
    [
        "2014-10-15T08:30Z",
        "2014-10-15T08:30z",
        "2014-10-15T10:30+02:00",
        "2014-10-15T10:30+0200",
        "2014-10-15 03:00:00-05:30",
        "2014-10-14T20:30:00.0-12:00",
    ],
)
def test_zones_are_converted_to_utc(written):
    assert understand([written]) == ("minute", ["2014-10-15T08:30"])


def test_different_zones_may_stand_in_one_column():
    times = ["2014-10-15T08:00Z", "2014-10-15T10:00+02:00"]
    assert understand(times) == ("hour", ["2014-10-15T08"] * 2)


@pytest.mark.parametrize("hour", [0, 9])
def test_the_zone_of_a_column_gives_the_day_that_was_meant(hour):
    times = pl.Series([datetime(2014, 10, 15, hour)]).dt.replace_time_zone("Asia/Tokyo")
    assert understand(times) == ("day", ["2014-10-15"])


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_the_precision_of_a_column_does_not_matter(unit):
    times = pl.Series([datetime(2014, 10, 15, 8, 30)], dtype=pl.Datetime(unit))
    assert understand(times) == ("minute", ["2014-10-15T08:30"])


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("2014-10-15T08:30:01.999999", "2014-10-15T08:30:01"),
        ("1969-12-31T23:59:58.000001", "1969-12-31T23:59:58"),
        ("2014-10-15T08:30:01.123456789Z", "2014-10-15T08:30:01"),
    ],
)
def test_parts_of_a_second_are_cut_down(written, label):
    assert understand([written]) == ("second", [label])


@pytest.mark.parametrize(
    "times",
    [
        ["2014-10-15T00:00:00", "2014-10-15T00:00:00.5"],
        ["2014-10-15T00:00:00Z", "2014-10-15T00:00:00.000001Z"],
        [datetime(2014, 10, 15), datetime(2014, 10, 15, microsecond=500_000)],
    ],
)
def test_a_fraction_of_a_second_makes_the_unit_a_second(times):
    assert understand(times) == ("second", ["2014-10-15T00:00:00"] * 2)


@pytest.mark.parametrize(
    ("moment", "second"),
    [
        (datetime(1970, 1, 1, microsecond=999_999), 0),
        (datetime(1970, 1, 1, 0, 0, 1), 1),
        (datetime(1969, 12, 31, 23, 59, 59), -1),
        (datetime(1969, 12, 31, 23, 59, 59, 1), -1),
        (datetime(1969, 12, 31, 23, 59, 58, 999_999), -2),
    ],
)
def test_seconds_are_rounded_down_before_1970_too(moment, second):
    found = read([moment])
    assert (found.unit, found.values.to_list()) == ("second", [second])


@pytest.mark.parametrize(
    ("unit", "label"),
    [
        ("year", "1969"),
        ("month", "1969-12"),
        ("day", "1969-12-31"),
        ("hour", "1969-12-31T23"),
        ("minute", "1969-12-31T23:58"),
        ("second", "1969-12-31T23:58:57"),
    ],
)
def test_a_unit_that_is_set_cuts_times_down(unit, label):
    assert understand(["1969-12-31T23:58:57"], unit=unit) == (unit, [label])


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour", "minute", "second", "step"])
def test_a_unit_may_be_set_for_bare_numbers(unit):
    assert understand([3, 1, 17], unit=unit) == (unit, ["3", "1", "17"])


@pytest.mark.parametrize(
    ("choices", "labels"),
    [
        ({"origin": "2014-01-01"}, ["2014-01-01", "2015-01-01"]),
        ({"origin": "2014-01-01", "unit": "hour"}, ["2014-01-01T00", "2014-01-16T05"]),
        ({"origin": "2014", "unit": "year"}, ["2014", "2379"]),
        ({"origin": "2014-02", "unit": "month"}, ["2014-02", "2044-07"]),
    ],
)
def test_an_origin_dates_the_numbers(choices, labels):
    assert understand(["0", "365"], **choices)[1] == labels


def test_an_origin_leaves_written_dates_alone():
    assert understand(["2014-10-15"], origin="1999-01-01") == ("day", ["2014-10-15"])


def test_distances_of_irregular_dates_are_true():
    values = read(["2016-02-28", "2016-03-01", "2017-03-01"]).values
    assert values.diff().drop_nulls().to_list() == [2, 365]


@pytest.mark.parametrize("as_text", [str, int])
def test_a_number_that_is_almost_a_day(as_text):
    times = [as_text(number) for number in (20150401, 20150402, 20150230, 20150404)]
    assert "days like 20150401, but not row 3 ('20150230')" in complaint(times)
    times = [as_text(number) for number in (*range(201501, 201514), *range(201601, 201613))]
    assert "months like 201504, but not row 13 ('201513')" in complaint(times)


@pytest.mark.parametrize("bad", [1.5, float("inf"), float("nan"), 9.3e18])
def test_a_float_that_is_not_whole(bad):
    assert f"not whole numbers: row 2 ('{bad}')" in complaint([1.0, bad])


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([1, 2**64 - 1], dtype=pl.UInt64),
        pl.Series([1, -(2**63)], dtype=pl.Int64),
        pl.Series([1, 2**100], dtype=pl.Int128),
    ],
)
def test_numbers_too_large_to_tell_their_distance(times):
    assert f"too large: row 2 ('{times[1]}')" in complaint(times)


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([0, 2**31 - 1], dtype=pl.Int32).cast(pl.Date),
        pl.Series([0, 2**63 - 1]).cast(pl.Datetime("ms")),
        pl.Series([0, -(2**63) + 1]).cast(pl.Datetime("us")),
    ],
)
def test_dates_beyond_four_digits(times):
    assert complaint(times) == "x.csv: times outside the years 1 to 9999 in row 2; correct them"


def test_numbers_that_an_origin_carries_out_of_the_calendar():
    assert (
        "counted in days from 1970-01-01, are outside the years 1 to 9999; give another --unit"
        in complaint([1_400_000_000], origin="1970-01-01")
    )


def test_unit_step_is_not_for_dates():
    assert "unit step is for integers" in complaint(["2014-10-15"], unit="step")


def test_an_origin_needs_a_unit_of_the_calendar():
    assert "--origin needs a calendar unit" in complaint([1], origin="2014", unit="step")


def test_an_origin_that_is_no_date():
    assert "'soon' is not a date" in complaint([1], origin="soon")


@pytest.mark.parametrize("times", [[True], [time(8)], [b"2014"], [["2014"]]])
def test_columns_that_hold_no_times(times):
    assert "x.csv: times of type" in complaint(times)


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
        "row 1 ('19##-##-##') leave out some of the year: a start is the first of what is left "
        "open, an end the last",
    )
    assert read(["1952"], ["1953-01-01"], unit="day").notes == (
        "row 1 ('1952') leave out a month or day: a start is the first of what is left open, an "
        "end the last",
    )


@pytest.mark.parametrize(
    "bad",
    ["soon", "15.10.14", "2014-10-15T", "9" * 20, "1,5", "NaN", "٢٠١٤", "2014-Q5", "1952-#-#"],
)
def test_an_unparsable_time(bad):
    sentence = complaint(["2014-10-15", bad, "2014-10-16"])
    assert sentence.startswith(
        f"x.csv: times that are neither dates nor whole numbers: row 2 ({bad!r}); write them like"
    )


@pytest.mark.parametrize("order", ["dmy", "mdy"])
def test_day_and_month_are_told_apart_by_any_row_that_decides_it(order):
    written = ["4/7/2012", "25/4/2012"] if order == "dmy" else ["4/7/2012", "4/25/2012"]
    labels = ["2012-07-04" if order == "dmy" else "2012-04-07", "2012-04-25"]
    assert understand(written) == ("day", labels)
    times = read(written)
    first = {"dmy": "day", "mdy": "month"}[order]
    assert times.notes == (
        f"dates begin with the {first} (--date-order {order}), like {written[1]!r}",
    )
    assert times.style.date_order == order


def test_day_and_month_that_no_row_tells_apart():
    assert complaint(["4/7/2012", "07.04.2012"]) == (
        "x.csv: dates like '07.04.2012' may begin with the day or with the month, and no row "
        "decides it; give --date-order dmy or --date-order mdy"
    )
    assert understand(["4/7/2012"], date_order="dmy")[1] == ["2012-07-04"]
    assert understand(["4/7/2012"], date_order="mdy")[1] == ["2012-04-07"]


def test_day_and_month_that_rows_order_differently():
    sentence = complaint(["4/7/2012", "25.4.2012", "4-25-2012"])
    assert (
        "the day comes first in row 2 ('25.4.2012'), but the month in row 3 ('4-25-2012')"
        in sentence
    )
    assert "calendar" not in sentence


def test_a_date_without_any_month_is_not_asked_which_part_comes_first():
    stray = "times that are not in the calendar: row 2 ('31.31.2014'); correct them"
    assert complaint(["25.4.2014", "31.31.2014"]) == f"x.csv: {stray}"
    assert complaint(["2014-04-25", "31.31.2014"]) == f"x.csv: {stray}"
    sentence = complaint(["5.4.2014", "31.31.2014"])
    assert "dates like '5.4.2014' may begin with the day or with the month" in sentence
    assert sentence.endswith(stray)


def test_a_date_format_reads_what_no_form_does():
    assert understand(["311214", "010115"], date_format="%d%m%y") == (
        "day",
        ["2014-12-31", "2015-01-01"],
    )
    assert understand([311214], date_format="%d%m%y")[1] == ["2014-12-31"]
    assert understand(["3.2.2014 8h05"], date_format="%d.%m.%Y %Hh%M")[1] == ["2014-02-03T08:05"]
    sentence = complaint(["31.12.14", "2014-12-31"], date_format="%d.%m.%y")
    assert sentence == (
        "x.csv: times that are not like %d.%m.%y: row 2 ('2014-12-31'); correct them or "
        "--date-format"
    )


def test_dates_without_month_or_day_make_all_of_them_years():
    times = ["1952-##-##", "1953-04-02", "1953-07-00"]
    assert understand(times) == ("year", ["1952", "1953", "1953"])
    (note,) = read(times).notes
    assert note == (
        "all times are read by year, as row 1 ('1952-##-##'), row 3 ('1953-07-00') leave out a "
        "month or day"
    )
    assert complaint(times, unit="day") == (
        "x.csv: row 1 ('1952-##-##'), row 3 ('1953-07-00') leave out a month or day; give --unit "
        "year"
    )


def test_all_that_is_wrong_with_the_times_is_said_at_once():
    sentence = complaint(["2014-10-15", "soon", "2014-02-30", "2014"])
    assert "neither dates nor whole numbers: row 2 ('soon')" in sentence
    assert "a number in row 4 ('2014'), a date elsewhere" in sentence
    assert "not in the calendar: row 3 ('2014-02-30')" in sentence


def test_rows_are_those_of_the_source():
    assert "row 10 ('soon')" in complaint(["2014", "soon"], rows=pl.Series([3, 9]))
    assert "row 10 ('soon')" in complaint(["2014"] * 2, ["2015", "soon"], pl.Series([3, 9]))


@pytest.mark.parametrize("bad", ["2014-02-30", "2014-13-01", "2014/02/29", "0000-01-01"])
def test_a_date_that_the_calendar_does_not_have(bad):
    good = "2014/10/15" if "/" in bad else "2014-10-15"
    assert f"not in the calendar: row 3 ({bad!r})" in complaint([good, good, bad])


@pytest.mark.parametrize("bad", ["2014-10-15T24:00", "2014-10-15T10:60", "9999-12-31T23:59-02:00"])
def test_a_moment_that_the_calendar_does_not_have(bad):
    good = "2014-10-15T08:30" + ("Z" if bad.count("-") > 2 else "")
    assert f"row 2 ({bad!r})" in complaint([good, bad])


def test_only_the_first_unparsable_times_are_listed():
    times = ["2014-10-15", "x", "y", "x", "z", "w"]
    assert "row 2 ('x'), row 3 ('y'), row 4 ('x') and 2 more;" in complaint(times)


def test_a_long_cell_is_shown_in_part():
    assert len(complaint(["x" * 5000])) < 250


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (
            ["2014-10-15", "2014-10-16", "2014"],
            "a number in row 3 ('2014'), a date elsewhere",
        ),
        (["2014-10-15", "2014-10-16", "2014-10"], "a month in row 3 ('2014-10'), a date elsewhere"),
        (["2014", "2014-10-15T08:30", "2015"], "a datetime in row 2"),
    ],
)
def test_mixed_forms(times, expected):
    sentence = complaint(times)
    assert f"x.csv: times of different forms: {expected}" in sentence
    assert sentence.endswith("write all in the same form")


def test_mixed_zones():
    times = ["2014-10-15T08:30", "2014-10-15T08:31", "2014-10-15T08:30Z"]
    assert "a datetime with zone in row 3 ('2014-10-15T08:30Z'), a datetime elsewhere" in (
        complaint(times)
    )


def test_daily_stamps_with_an_offset_become_the_days_that_were_meant():
    unit, labels, (note,) = understand_with_notes([f"{day}T00:00:00+02:00" for day in DAYS])
    assert (unit, labels) == ("day", DAYS)
    assert note == "every time is midnight by its own clock (UTC +2 h) and is read as that day"


def test_daily_stamps_in_summer_and_winter_time():
    times = [f"{day}T00:00+0{2 if '-07-' in day else 1}:00" for day in DAYS]
    unit, labels, (note,) = understand_with_notes(times)
    assert (unit, labels) == ("day", DAYS)
    assert "(UTC +1 h or +2 h)" in note


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_midnights_written_in_utc_are_days_in_their_zone(zone):
    local = pl.Series([datetime.fromisoformat(day) for day in DAYS]).dt.replace_time_zone(zone)
    in_utc = local.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    unit, _, (note,) = understand_with_notes(in_utc)
    assert unit in ("hour", "minute")
    assert note.endswith(": the days of another zone?)")
    in_zone = ("day", DAYS, (f"times are in the zone {zone}",))
    assert understand_with_notes(in_utc, timezone=zone) == in_zone


def test_the_zone_decides_the_day():
    times = ["2014-10-15T00:30+02:00", "2014-10-15T23:30+02:00"]
    assert understand_with_notes(times, unit="day") == (
        "day",
        ["2014-10-14", "2014-10-15"],
        ("times are in UTC; --timezone reads them in another zone",),
    )
    for zone in ("Europe/Berlin", "as-written"):
        assert understand_with_notes(times, unit="day", timezone=zone)[1] == ["2014-10-15"] * 2


def test_a_zone_that_is_unknown():
    with pytest.raises(InputError, match="the time zone 'Berlin' is unknown; write it like Europe"):
        understand_with_notes(["2014-10-15T00:30+02:00"], timezone="Berlin")


def test_a_zone_for_times_that_have_none():
    _, labels, notes = understand_with_notes(["2014-10-15T00:30"], timezone="Europe/Berlin")
    assert labels == ["2014-10-15T00:30"]
    assert notes == ("the times have no zone, so that --timezone changes nothing",)


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
