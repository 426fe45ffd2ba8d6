"""The table of forms: what a column and what a single question make of the same text."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.times.column import Times
from targcn.facts.times.forms import FORMS, TimeStyle, format_of
from targcn.facts.times.read import read_times
from targcn.facts.times.timeline import Timeline, calendar_value, read_moment

WRITTEN = [
    *(
        "2014-10-15",
        "2014-1-5",
        "2014/1/5",
        "2014.1.5",
        "07 Apr 2012",
        "7-apr-2012",
        "April 7, 2012",
    ),
    *("25/4/2012", "25.04.2012", "4-25-2012", "2014-10", "2014/10", "10/2014", "Oct 2014"),
    *("2014-Q3", "2014Q3", "2014 Q3", "1952-##-##", "1952-00-00", "1952-03-00", "1952-03-XX"),
    *("2014-10-15T08", "2014-10-15 08:30", "2014-10-15T08:30:01.123456", "7/13/2014 8:05 pm"),
    *(
        "2014-10-15T08:30Z",
        "2014-10-15 08:30+02",
        "2014-10-15T08:30:00 -0530",
        "12 May 2014 12:00 AM",
    ),
    *("2014", "201410", "20141015", "20141015083000", "41640", "1413331200", "1413331200000"),
    *("1413331200000000", "1413331200.5", "2012.0"),
]


def read_text(text: str, **choices) -> Times:
    return read_times(FactTable("x", pl.DataFrame({"time": [text]})), ReadOptions(**choices))


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("zone", [None, "Asia/Kolkata", "as-written"])
def test_a_question_is_read_like_a_column(text, zone):
    column = read_text(text, timezone=zone)
    second = Timeline("second", 0, True, [0], style=column.style)
    moment = np.datetime64(second.tick(text), "s")
    label = Timeline(column.unit, 0, True, [0]).label(column.columns[0][0])
    assert column.dated
    assert str(moment).startswith(label)


def strptime_of(form) -> str:
    return form.format.replace("%e", "%Y")


@pytest.mark.parametrize("form", [form for form in FORMS if "%q" not in form.format])
@given(moment=st.datetimes(min_value=datetime(1000, 1, 1)))
def test_every_form_is_read_as_strptime_does(form, moment):
    text = moment.strftime(strptime_of(form))
    expected = datetime.strptime(text, strptime_of(form))
    assert read_moment(text, TimeStyle(date_order="dmy")) == np.datetime64(expected)


@given(
    moment=st.datetimes(min_value=datetime(1969, 1, 1), max_value=datetime(2068, 12, 31)),
    format=st.sampled_from(
        ["%d%m%y", "%Y%m%d%H%M%S%f", "%A, %d %B %Y, %I:%M:%S %p", "%d.%m.%Y %H.%M", "%b/%y", "%Y%%"]
    ),
)
def test_a_date_format_means_what_strptime_means(moment, format):
    text = moment.strftime(format)
    expected = np.datetime64(datetime.strptime(text, format))
    assert read_moment(text, TimeStyle(date_format=format)) == expected
    column = read_text(text, date_format=format, unit="second")
    assert column.columns[0][0] == expected.astype("M8[s]").astype(int)


@pytest.mark.parametrize(
    ("format", "sentence"),
    [
        ("%d.%m.", "has no year"),
        ("%Y %Q", "%Q is none of %Y %y %m"),
        ("%C %Y", "%C is none of %Y %y %m"),
        ("%Y-%Y", "has a part twice"),
        ("%Y %", "% is none of"),
    ],
)
def test_a_date_format_that_makes_no_sense(format, sentence):
    with pytest.raises(InputError, match=sentence):
        format_of(format)


def test_a_question_whose_day_and_month_are_in_doubt():
    with pytest.raises(InputError, match="'4/7/2012' may begin with the day or with the month"):
        calendar_value("4/7/2012", "day")
    for order, label in (("dmy", "2012-07-04"), ("mdy", "2012-04-07")):
        style = TimeStyle(date_order=order)
        assert calendar_value("4/7/2012", "day", style) == calendar_value(label, "day")
