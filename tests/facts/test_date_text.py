"""Times that are text: which part is the day, what is left out, and what is said about misfits."""

import polars as pl
import pytest

from reading_times import complaint, understand
from targcn.errors import InputError
from targcn.facts.dates import read_times
from targcn.facts.read_options import ReadOptions


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
    times = read_times(pl.Series(written), "x.csv", ReadOptions())
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
    (note,) = read_times(pl.Series(times), "x.csv", ReadOptions()).notes
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
    with pytest.raises(InputError, match=r"row 10 \('soon'\)"):
        read_times(pl.Series(["2014", "soon"]), "x.csv", ReadOptions(), pl.Series([3, 9]))


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
