"""Names and times of tables, encoded as ids and ticks."""

from datetime import date
from itertools import chain

import numpy as np
import polars as pl
import pytest

from small_tables import ENTITIES, FACTS, RELATIONS, as_frame, columns, complaint, named
from targcn.facts.dataset import OPEN
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def test_ids_are_positions_among_sorted_names_and_ticks_keep_true_distances():
    dataset = open_dataset(as_frame(FACTS))
    assert (dataset.entities.names, dataset.relations.names) == (ENTITIES, RELATIONS)
    assert sorted(chain(*named(dataset).values())) == sorted(FACTS)
    assert dataset.timeline.ticks.tolist() == list(range(0, 28, 3))
    assert (dataset.timeline.unit, dataset.timeline.first) == ("day", "2014-01-01")


@pytest.mark.parametrize("rows", [FACTS[:1], FACTS[:2], FACTS[:2] * 5])
def test_fewer_than_three_facts(tmp_path, rows):
    as_frame(rows).write_csv(tmp_path / "few.csv")
    sentence = complaint(tmp_path / "few.csv")
    assert (
        f"few.csv has {len(set(rows))} distinct facts; train, valid and test need at least 3"
        in sentence
    )


def test_duplicates_in_a_table_are_dropped_and_noted():
    dataset = open_dataset(as_frame(FACTS + FACTS[:7]))
    assert columns(dataset) == columns(open_dataset(as_frame(FACTS)))
    assert dataset.notes[0] == "7 repeated facts of the table were dropped"


def test_times_cut_to_one_unit_make_duplicates():
    dataset = open_dataset(as_frame([*FACTS, *FACTS[:1]]), ReadOptions(unit="year"))
    assert "repeated facts" in dataset.notes[0]
    assert dataset.timeline.ticks.tolist() == [0]


def test_seconds_over_a_century_need_64_bits():
    times = ["1920-01-01T00:00:01", "1970-01-01T00:00:00", "2020-01-01T00:00:00"]
    dataset = open_dataset(as_frame([("a", "r", "b", time) for time in times]))
    assert dataset.train.columns.dtype == np.int64
    assert dataset.timeline.last == "2020-01-01T00:00:00"


def test_intervals_count_from_the_first_known_time():
    rows = [
        ("a", "r", "b", "2012", None),
        ("b", "r", "a", None, "2010"),
        ("a", "r", "a", "2011", "2015"),
    ]
    frame = pl.DataFrame(rows, schema=["s", "r", "o", "start", "end"], orient="row")
    dataset = open_dataset(frame, split="none")
    assert dataset.train.columns.tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
        [OPEN, 1, 2],
        [0, 5, OPEN],
    ]
    assert dataset.timeline.ticks.tolist() == [0, 1, 2, 5]
    assert (dataset.timeline.unit, dataset.timeline.first) == ("year", "2010")


@pytest.mark.parametrize("times", [[2012, 2013, 2014], [date(2012, 1, day) for day in (1, 2, 3)]])
def test_facts_of_one_time_have_no_ends(times):
    dataset = open_dataset(pl.DataFrame({"s": "a", "r": "r", "o": "b", "t": times}))
    assert not dataset.has_intervals
