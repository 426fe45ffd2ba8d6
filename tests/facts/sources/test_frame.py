"""Frames of polars and pandas, and what else has columns of Arrow."""

from itertools import chain

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from small_tables import FRAME, HEADER, ROWS, complaint, named, read_table
from targcn.facts.open import open_dataset


@pytest.mark.parametrize("source", [FRAME, FRAME.lazy(), pd.DataFrame(ROWS, columns=HEADER)])
def test_frames_give_the_same_rows(source):
    assert read_table(source).rows() == ROWS


@pytest.mark.parametrize(
    ("times", "dtype"),
    [
        (pd.to_datetime(["2014-01-01"] * 3), pl.Datetime("us")),
        (pd.to_datetime(["2014-01-01"] * 3).astype("datetime64[s]"), pl.Datetime("us")),
        (
            pd.to_datetime(["2014-01-01"] * 3).tz_localize("Asia/Tokyo"),
            pl.Datetime("us", "Asia/Tokyo"),
        ),
        (pd.to_datetime(["2014-01-01T00:00+02:00"] * 3), pl.String),
        ([2014, 2015, 2016], pl.Int64),
        ([2014.0, 2015.0, 2016.0], pl.Float64),
        (pd.Series([1, 2, 3], dtype="Int64"), pl.Int64),
        (pd.Categorical(["2014", "2015", "2016"]), pl.String),
    ],
)
def test_times_of_a_pandas_frame(times, dtype):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    assert read_table(frame)["time"].dtype == dtype


@pytest.mark.parametrize("hour", ["00:00", "09:00"])
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "+09:00"])
def test_a_zone_of_a_pandas_frame_gives_the_day_that_was_meant(zone, hour):
    times = pd.to_datetime([f"2014-01-01T{hour}"] * 3).tz_localize(zone)
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    timeline = open_dataset(frame).timeline
    assert (timeline.unit, timeline.first) == ("day", "2014-01-01")


def test_a_pandas_frame_may_hold_anything_in_other_columns():
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(extra=[object(), [1], {}])
    assert read_table(frame).rows() == ROWS


def test_a_pandas_frame_with_a_column_twice():
    frame = pd.DataFrame(ROWS, columns=HEADER)
    assert "2 columns could hold the subject" in complaint(pd.concat([frame, frame], axis=1))


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA])
def test_a_hole_in_a_pandas_frame(hole):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(subject=["Ann", hole, "Zoë"])
    assert "the subject is missing in row 2" in complaint(frame)


@pytest.mark.parametrize(
    "times", [pd.to_datetime(["2014", None, "2015"]), [1, float("nan"), 2], ["2014", None, "2015"]]
)
def test_a_hole_among_the_times_of_a_pandas_frame(times):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    assert "the time is missing in row 2" in complaint(frame)


TABLE = pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(HEADER)})


class Foreign:
    """A table of some library that nobody here knows."""

    columns = HEADER

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: TABLE.to_batches()[0],
        lambda: TABLE.to_reader(),
        Foreign,
    ],
)
def test_tables_of_arrow_give_the_same_rows(make):
    assert read_table(make()).rows() == ROWS


def test_an_arrow_table_may_hold_anything_in_other_columns():
    table = TABLE.append_column("extra", pa.array([{"a": [1]}, None, {"a": []}]))
    assert read_table(table).rows() == ROWS


def test_dates_of_an_arrow_table():
    days = pa.array([1, 2, 3], pa.int32()).cast(pa.date32())
    table = TABLE.set_column(3, "time", days)
    assert read_table(table)["time"].dtype == pl.Date


def test_a_hugging_face_data_set():
    datasets = pytest.importorskip("datasets", reason="datasets, a large library, is not here")
    rows = datasets.Dataset.from_dict(TABLE.to_pydict())
    assert read_table(rows).rows() == ROWS
    assert read_table(rows.select([2, 0])).rows() == [ROWS[2], ROWS[0]]


def test_missing_starts_and_ends_of_pandas_are_open():
    years = pd.DataFrame(
        {
            "s": "a",
            "r": "r",
            "o": ["b", "c", "d"],
            "start": [2012, None, 2013],
            "end": [None, 2014, 2013],
        }
    )
    assert sorted(chain(*named(open_dataset(years)).values())) == [
        ("a", "r", "b", "since 2012"),
        ("a", "r", "c", "until 2014"),
        ("a", "r", "d", "2013"),
    ]
    days = years.assign(
        start=pd.to_datetime(["2012-01-01", None, "2013-01-01"]),
        end=pd.to_datetime([None, "2014-01-01", "2013-01-31"]),
    )
    labels = sorted(fact[3] for fact in chain(*named(open_dataset(days)).values()))
    assert labels == ["2013-01-01 – 2013-01-31", "since 2012-01-01", "until 2014-01-01"]
