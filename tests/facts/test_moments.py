"""The zone in which moments are read, and the unit that they need."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.dates import read_times
from targcn.facts.moments import finest_unit
from targcn.facts.read_options import ReadOptions
from targcn.facts.timeline import Timeline

DAYS = [f"2014-{month:02}-{day:02}" for month in (1, 7, 12) for day in (1, 2, 30)]


def read(times, **choices) -> tuple[str, list[str], tuple[str, ...]]:
    """The unit, each time as the timeline writes it, and the notes."""
    found = read_times(pl.Series(times), "x.csv", ReadOptions(**choices))
    timeline = Timeline.of(found.unit, 0, found.dated, found.values.to_list())
    return found.unit, [timeline.label(value) for value in found.values], found.notes


def test_daily_stamps_with_an_offset_become_the_days_that_were_meant():
    unit, labels, (note,) = read([f"{day}T00:00:00+02:00" for day in DAYS])
    assert (unit, labels) == ("day", DAYS)
    assert note == "every time is midnight by its own clock (UTC +2 h) and is read as that day"


def test_daily_stamps_in_summer_and_winter_time():
    times = [f"{day}T00:00+0{2 if '-07-' in day else 1}:00" for day in DAYS]
    unit, labels, (note,) = read(times)
    assert (unit, labels) == ("day", DAYS)
    assert "(UTC +1 h or +2 h)" in note


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_midnights_written_in_utc_are_days_in_their_zone(zone):
    local = pl.Series([datetime.fromisoformat(day) for day in DAYS]).dt.replace_time_zone(zone)
    in_utc = local.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    unit, _, (note,) = read(in_utc)
    assert unit in ("hour", "minute")
    assert note.endswith(": the days of another zone?)")
    assert read(in_utc, timezone=zone) == ("day", DAYS, (f"times are in the zone {zone}",))


def test_the_zone_decides_the_day():
    times = ["2014-10-15T00:30+02:00", "2014-10-15T23:30+02:00"]
    assert read(times, unit="day") == (
        "day",
        ["2014-10-14", "2014-10-15"],
        ("times are in UTC; --timezone reads them in another zone",),
    )
    for zone in ("Europe/Berlin", "as-written"):
        assert read(times, unit="day", timezone=zone)[1] == ["2014-10-15"] * 2


def test_a_zone_that_is_unknown():
    with pytest.raises(InputError, match="the time zone 'Berlin' is unknown; write it like Europe"):
        read(["2014-10-15T00:30+02:00"], timezone="Berlin")


def test_a_zone_for_times_that_have_none():
    _, labels, notes = read(["2014-10-15T00:30"], timezone="Europe/Berlin")
    assert labels == ["2014-10-15T00:30"]
    assert notes == ("the times have no zone, so that --timezone changes nothing",)


@pytest.mark.parametrize(
    ("moment", "unit"),
    [("2014-10-15", "day"), ("2014-10-15T08", "hour"), ("2014-10-15T08:01", "minute")],
)
def test_the_finest_unit(moment, unit):
    assert finest_unit(np.array(["2014-10-15", moment], "M8[us]")) == unit
    assert finest_unit(np.array([moment, "2014-10-15T08:01:01.5"], "M8[us]")) == "second"
