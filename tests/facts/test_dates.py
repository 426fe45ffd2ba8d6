"""Columns of times in every form, turned into whole numbers of one unit."""

from datetime import date, datetime, time

import polars as pl
import pytest

from reading_times import complaint, understand
from targcn.errors import InputError
from targcn.facts.dates import read_intervals, read_times
from targcn.facts.read_options import ReadOptions
from targcn.facts.timeline import Timeline


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
    found = read_times(pl.Series([moment]), "x.csv", ReadOptions())
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


def test_unit_step_keeps_years_as_numbers():
    assert not read_times(pl.Series([2014]), "x.csv", ReadOptions(unit="step")).dated


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
    values = read_times(
        pl.Series(["2016-02-28", "2016-03-01", "2017-03-01"]), "x.csv", ReadOptions()
    ).values
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


def spans(starts, ends, **choices) -> tuple[str, list[str]]:
    """The unit found, and each interval as the timeline writes it."""
    found = read_intervals(pl.Series(starts), pl.Series(ends), "x.csv", ReadOptions(**choices))
    timeline = Timeline.of(found.unit, 0, found.dated, [0])
    labels = [
        " – ".join("" if one is None else timeline.label(one) for one in span)
        for span in zip(found.values, found.ends, strict=True)
    ]
    return found.unit, labels


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
    found, labels = spans([start], [end], unit=unit)
    assert labels == [wanted]
    assert unit in (None, found)


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
    assert spans(starts, ends)[1] == wanted


def test_starts_and_ends_share_what_was_inferred():
    # Only an end decides that the day comes first.
    assert spans(["4/7/2012"], ["25/7/2012"])[1] == ["2012-07-04 – 2012-07-25"]
    # An epoch of a few years beside open ones.
    assert spans([1413331200], [1413417600])[1] == ["2014-10-15 – 2014-10-16"]


def test_the_unit_of_counted_intervals():
    assert spans([0, 24], [23, 71], unit="day", tick=24)[1] == ["0 – 0", "1 – 2"]
    origin = {"origin": "2014-01-01", "tick": "month", "unit": "day"}
    assert spans([0], [1], **origin)[1] == ["2014-01-01 – 2014-02-28"]


def span_complaint(starts, ends, **choices) -> str:
    with pytest.raises(InputError) as caught:
        read_intervals(pl.Series(starts), pl.Series(ends), "x.csv", ReadOptions(**choices))
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_an_end_before_its_start_is_refused_or_taken_as_open():
    starts, ends = ["2014", "2014", "2015"], ["2012", "2014", "2013"]
    assert span_complaint(starts, ends) == (
        "x.csv: the end is before the start in row 1 ('2014 – 2012'), row 3 ('2015 – 2013'); "
        "correct them, or give --reversed open to take such ends as open"
    )
    assert spans(starts, ends, reversed="open")[1] == ["2014 – ", "2014 – 2014", "2015 – "]
    # Within the unit they are not reversed.
    assert spans(["2014-03-01"], ["2014-02-01"], unit="year")[1] == ["2014 – 2014"]


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
    assert problem in span_complaint(starts, ends)


def test_what_was_left_open_is_noted():
    found = read_intervals(
        pl.Series(["19##-##-##", "1925-04-23"]), pl.Series(["1963-64-65", None]), "x", ReadOptions()
    )
    assert found.notes == (
        "times that are not in the calendar: row 1 ('1963-64-65'); only their years are read",
        "all times are read by year, as row 1 ('19##-##-##') leave out a month or day",
        "row 1 ('19##-##-##') leave out some of the year: a start is the first of what is left "
        "open, an end the last",
    )
    days = read_intervals(
        pl.Series(["1952"]), pl.Series(["1953-01-01"]), "x", ReadOptions(unit="day")
    )
    assert days.notes == (
        "row 1 ('1952') leave out a month or day: a start is the first of what is left open, an "
        "end the last",
    )
