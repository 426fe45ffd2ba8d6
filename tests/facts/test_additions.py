"""Newer facts: which of them join the context, under which ids, and which are refused."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from small_tables import as_frame
from targcn.errors import InputError
from targcn.facts.additions import add_facts
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.times.forms import TimeStyle
from targcn.facts.times.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary

DATASET = Dataset(
    "made",
    Vocabulary("entity", ["Bob", "Zoë"]),
    Vocabulary("relation", ["meets", "visits"]),
    Timeline("day", 16071, True, [0, 3, 5]),  # from 2014-01-01
    {
        "train": Facts.of([0], [0], [1], [0]),
        "valid": Facts.of([1], [0], [0], [3]),
        "test": Facts.of([0], [1], [1], [5]),
    },
)
TRAIN, VALID, TEST = (
    ("Bob", "meets", "Zoë", "2014-01-01"),
    ("Zoë", "meets", "Bob", "2014-01-04"),
    ("Bob", "visits", "Zoë", "2014-01-06"),
)
NEW = ("Ann", "visits", "Zoë", "2014-02-01")


def facts_of(dataset: Dataset, facts: Facts) -> list[tuple[str, str, str, str]]:
    entities, relations = dataset.entities.names, dataset.relations.names
    return [
        (entities[s], relations[r], entities[o], dataset.timeline.label(t))
        for s, r, o, t in facts.columns.T.tolist()
    ]


def add(*rows: tuple[object, ...], context="train+valid", asked=None, to=DATASET) -> Dataset:
    return add_facts(to, as_frame(rows), context, asked)


def complaint(source: object, dataset: Dataset = DATASET) -> str:
    with pytest.raises(InputError) as caught:
        add_facts(dataset, source, "train")
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_facts_join_every_context_and_all_that_is_known():
    grown = add(NEW)
    assert facts_of(grown, grown.added) == [NEW]
    for context, known in (("train", [TRAIN]), ("train+valid", [TRAIN, VALID])):
        assert facts_of(grown, grown.context(context)) == [*known, NEW]
    assert facts_of(grown, grown.facts) == [TRAIN, VALID, TEST, NEW]
    assert grown.splits is DATASET.splits
    assert (grown.addition, DATASET.addition) == (" with 1 added fact", "")


def test_new_entities_come_after_the_others_and_times_are_ticks_of_the_timeline():
    grown = add(NEW, ("Ann", "meets", "Al", "2014-01-03"))
    assert grown.entities.names == ["Bob", "Zoë", "Al", "Ann"]
    assert (grown.num_new_entities, list(grown.new_entities)) == (2, ["Al", "Ann"])
    assert grown.timeline.ticks.tolist() == [0, 2, 3, 5, 31]
    assert list(DATASET.new_entities) == []


def test_facts_are_added_once():
    grown = add(NEW, NEW, TRAIN, VALID)
    assert facts_of(grown, grown.added) == [NEW]
    assert grown.additions == ("facts of the frame: 1 added to the context, 2 in it already",)
    # In another context the valid fact would be news.
    assert facts_of(grown, add(NEW, TRAIN, VALID, context="train").added) == [VALID, NEW]


def test_facts_that_are_asked_about_are_left_out():
    grown = add(NEW, TEST, asked="test")
    assert facts_of(grown, grown.added) == [NEW]
    assert grown.additions[0].endswith("1 left out since the test split asks about them")
    assert facts_of(DATASET, add(TEST).added) == [TEST]


def test_facts_are_added_to_those_added_before():
    later = ("Ann", "meets", "Eve", "2014-03-01")
    grown = add(later, NEW, to=add(NEW))
    assert facts_of(grown, grown.added) == [NEW, later]
    assert list(grown.new_entities) == ["Ann", "Eve"]
    assert len(grown.additions) == 2


def test_facts_come_from_any_source_of_one_table(tmp_path: Path):
    as_frame([NEW]).write_csv(tmp_path / "more.csv")
    as_frame([NEW]).write_parquet(tmp_path / "more.parquet")
    for name in ("more.csv", "more.parquet"):
        grown = add_facts(DATASET, tmp_path / name, "train")
        assert facts_of(grown, grown.added) == [NEW]
        assert grown.additions == (f"facts of {name}: 1 added to the context",)
    assert (len(add(TRAIN).added), add(TRAIN).num_new_entities) == (0, 0)


@pytest.mark.parametrize(
    ("unit", "start", "time", "tick"),
    [("day", 16071, "2014-01-02T23:30", 1), ("year", 44, "2016-05-04", 2), ("year", 44, 2016, 2)],
)
def test_times_are_read_in_the_unit_of_the_timeline(unit, start, time, tick):
    dataset = replace(DATASET, timeline=Timeline(unit, start, True, [0]))
    assert add(("Bob", "meets", "Bob", time), to=dataset).added.times.tolist() == [tick]


@pytest.mark.parametrize(
    "time",
    [1388966400, 1388966400000, "06.01.2014", "Jan 6, 2014", "2014-01-05T23:30Z", "20140106"],
)
def test_times_are_read_in_the_style_of_the_timeline(time):
    style = TimeStyle("Europe/Berlin", "dmy")
    timeline = Timeline("day", 16071, True, [0], style=style)
    added = add(("Bob", "meets", "Bob", time), to=replace(DATASET, timeline=timeline)).added
    assert added.times.tolist() == [5]


def test_numbers_are_counted_in_the_steps_of_the_timeline():
    timeline = Timeline("day", 2, False, [0, 1], step=24)
    grown = add(("Bob", "meets", "Bob", 240), to=replace(DATASET, timeline=timeline))
    assert (grown.added.times.tolist(), grown.timeline.last) == ([8], "240")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("Bob", "visit", "Zoë", "2015")], "relation 'visit' is new (did you mean 'visits'?)"),
        ([("Bob", "meets", "Zoë", "2013-12-31")], "2013-12-31 is before 2014-01-01, where"),
        ([("Bob", "meets", "Zoë", 7)], "are dates by day; write them like 2014-01-06"),
        ([("Bob", "meets", "", "2014-01-01")], "the object is missing in row 1"),
    ],
)
def test_what_cannot_be_added_is_refused(rows, sentence):
    assert sentence in complaint(as_frame(rows))


def test_steps_take_no_dates():
    steps = replace(DATASET, timeline=Timeline("step", 100, False, [0]))
    assert "these times are dates" in complaint(as_frame([NEW]), steps)
    assert add(("Bob", "meets", "Zoë", 120), to=steps).added.times.tolist() == [20]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("congress", "congress is the name of a data set; facts to add are one table"),
        ("more.csv", "no data set, folder or file 'more.csv'"),
        (pl.DataFrame({"colour": ["red"]}), "no column for the subject"),
    ],
)
def test_what_is_no_table_is_refused(source, sentence):
    assert sentence in complaint(source)


def test_a_prepared_folder_does_not_forget_added_facts_silently(tmp_path: Path):
    with pytest.raises(InputError, match="made has added facts, which a prepared folder does not"):
        add(NEW).save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


SPANS = replace(
    DATASET,
    splits={
        "train": Facts.of([0], [0], [1], [0], [2]),
        "valid": Facts.of([1], [0], [0], [3], [OPEN]),
        "test": Facts.of([0], [1], [1], [OPEN], [5]),
    },
)


def test_intervals_join_intervals():
    rows = [
        ("Bob", "meets", "Zoë", "2014-01-01", "2014-01-03"),  # known
        ("Zoë", "meets", "Bob", "2014-01-04", "2014-01-05"),  # known without an end
        ("Bob", "visits", "Zoë", "", "2014-01-06"),  # asked about
        ("Ann", "visits", "Zoë", "2014-01", "2014-02"),
    ]
    frame = pl.DataFrame(rows, schema=["s", "r", "o", "since", "until"], orient="row")
    more = add_facts(SPANS, frame, "train+valid", "test")
    assert more.additions == (
        "facts of the frame: 2 added to the context, 1 in it already, 1 left out since the test "
        "split asks about them",
    )
    assert more.added.columns[3:].tolist() == [[0, 3], [58, 4]]
    assert more.timeline.ticks.tolist() == [0, 3, 4, 5, 58]


def test_a_time_that_joins_intervals_is_one_tick():
    more = add_facts(SPANS, as_frame([NEW, TRAIN]), "train")
    assert more.added.columns.shape == (4, 2)
    assert more.context("train").columns[3:].tolist() == [[0, 0, 31], [2, 0, 31]]


def test_intervals_do_not_join_facts_of_one_time():
    frame = as_frame([NEW]).with_columns(end=pl.lit("2015-01-01")).rename({"time": "start"})
    with pytest.raises(InputError, match="have a start and an end, but those of the data have one"):
        add_facts(DATASET, frame, "train")


def test_an_interval_that_begins_before_the_data_is_refused():
    frame = as_frame([NEW]).with_columns(start=pl.lit("2013"), end=pl.lit("2014-01-02"))
    with pytest.raises(InputError, match="2013-01-01 is before 2014-01-01, where the data begin"):
        add_facts(SPANS, frame.drop("time"), "train")
