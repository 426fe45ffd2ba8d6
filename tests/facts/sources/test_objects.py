"""Frames, graphs of NetworkX, and tables for train, valid and test in a dictionary."""

from itertools import chain

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from small_tables import (
    FACTS,
    FRAME,
    HEADER,
    PARTS,
    ROWS,
    as_frame,
    columns,
    complaint,
    named,
    read_table,
    write_splits,
)
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


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


def test_other_columns_of_an_arrow_table_may_hold_anything():
    days = pa.array([1, 2, 3], pa.int32()).cast(pa.date32())
    table = TABLE.append_column("extra", pa.array([{"a": [1]}, None, {"a": []}]))
    assert read_table(table.set_column(3, "time", days))["time"].dtype == pl.Date


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


def as_graph(rows, kind=nx.MultiDiGraph, relation="relation", **others):
    graph = kind()
    for s, r, o, t in rows:
        graph.add_edge(s, o, **{relation: r, "time": t}, **others)
    return graph


def test_the_edges_of_a_multigraph():
    graph = as_graph(FACTS)
    assert sorted(read_table(graph).rows()) == sorted(FACTS)
    assert open_dataset(graph).notes == ("split at random with seed 0",)


def test_the_relation_may_be_the_key_of_an_edge():
    graph = nx.MultiDiGraph(name="visits")
    for s, r, o, t in ROWS:
        graph.add_edge(s, o, key=r, time=t)
    assert read_table(graph).rows() == ROWS
    assert open_dataset(graph).name == "visits"


def test_a_plain_graph_and_columns_of_other_names():
    graph = as_graph(ROWS, nx.DiGraph, relation="what", source="news", weight=1)
    options = ReadOptions(relation="what", where="weight = 1")
    assert read_table(graph, options).rows() == ROWS
    assert read_table(graph, ReadOptions(relation="what", subject="source")).row(0)[0] == "news"


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.MultiDiGraph(), "the graph: no column for the "),
        (nx.path_graph(3), "the graph: no column for the "),
        (as_graph([*ROWS, ("Ann", "meets", "Zoë", None)]), "the time is missing in row 2"),
        # A key that is a number is no relation.
        (
            nx.MultiDiGraph([("a", "b", {"time": 2014})]),
            "the graph: no column for the relation among 'subject', 'object', 'time'",
        ),
    ],
)
def test_a_graph_without_facts(graph, expected):
    assert expected in complaint(graph)


def test_a_graph_without_directions_says_so():
    dataset = open_dataset(as_graph(ROWS, nx.MultiGraph))
    assert dataset.notes[0] == (
        "the graph has no directions: each edge is read from its first node to its second"
    )


def test_edges_may_have_a_start_and_an_end():
    graph = nx.MultiDiGraph()
    graph.add_edge("Ann", "Bob", relation="owns", since=2012, until=2014)
    graph.add_edge("Bob", "Ann", relation="owns", since=2013)
    assert read_table(graph).rows() == [
        ("Ann", "owns", "Bob", 2012, 2014),
        ("Bob", "owns", "Ann", 2013, None),
    ]


FRAMES = [as_frame(rows) for rows in PARTS]


@pytest.mark.parametrize("valid", ["valid", "validation", "dev"])
def test_splits_are_kept_as_in_a_folder(tmp_path, valid):
    given = open_dataset(dict(zip(("test", "train", valid), FRAMES[2:] + FRAMES[:2], strict=True)))
    folder = open_dataset(write_splits(tmp_path / "set", PARTS))
    assert named(given) == named(folder)


def test_train_alone_is_split():
    assert columns(open_dataset({"train": as_frame(FACTS)})) == columns(
        open_dataset(as_frame(FACTS))
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"train": FRAME, "test": FRAME}, "holds 'train', 'test'; give one table each for train,"),
        ({"train": FRAME, "val": FRAME, "dev": FRAME, "test": FRAME}, "holds 'train', 'val',"),
        ({"train": FRAME, "val": "congress", "test": FRAME}, "valid of the dictionary is the name"),
        ({"train": 17, "val": FRAME, "test": FRAME}, "an object of type int cannot be read"),
        (
            {"train": FRAME, "val": as_frame([("a", "b", "c", "soon")]), "test": FRAME},
            "valid of the dictionary: times that are neither dates nor whole numbers: row 1",
        ),
    ],
)
def test_what_is_no_dictionary_of_splits(source, expected):
    assert expected in complaint(source)
