"""Facts as columns, in three splits."""

from dataclasses import replace

import numpy as np
import pytest

from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Dataset, Facts, join_facts
from targcn.facts.times.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary

MADE = Dataset(
    "made",
    Vocabulary("entity", ["Ann", "Bob\n", "Zoë"]),
    Vocabulary("relation", ["meets"]),
    Timeline("day", 16000, True, [0, 3, 364]),
    {
        "train": Facts.of([0, 1], [0, 0], [1, 2], [0, 3]),
        "valid": Facts.of([2], [0], [0], [364]),
        "test": Facts.of([1], [0], [0], [3]),
    },
)


@pytest.mark.parametrize(
    ("largest", "dtype"), [(2**31 - 1, np.int32), (2**31, np.int64), (-(2**31) - 1, np.int64)]
)
def test_columns_are_as_narrow_as_they_can_be(largest, dtype):
    assert Facts.of([0], [0], [0], [largest]).columns.dtype == dtype


@pytest.mark.parametrize("kept", [[1], [False, True, False]])
def test_facts_at_positions_or_under_a_mask(kept):
    facts = Facts.of([0, 1, 2], [0, 0, 0], [3, 4, 5], [6, 7, 8])
    assert facts.where(np.array(kept)).columns.tolist() == [[1], [0], [4], [7]]


def test_facts_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        MADE.train.times[0] = 5


def test_all_facts_whatever_their_split():
    assert MADE.facts.times.tolist() == [0, 3, 364, 3]


@pytest.mark.parametrize(("context", "times"), [("train", [0, 3]), ("train+valid", [0, 3, 364])])
def test_the_context(context, times):
    assert MADE.context(context).times.tolist() == times


def test_an_unknown_context():
    with pytest.raises(InputError, match="context 'test' is unknown"):
        MADE.context("test")


def test_a_fact_in_words():
    assert MADE.named("valid", 0) == ("Zoë", "meets", "Ann", "2014-10-21")


def test_a_context_of_one_part_is_not_copied():
    assert MADE.context("train") is MADE.train
    assert MADE.context("train+valid").times.tolist() == [0, 3, 364]


def test_a_data_set_shows_itself():
    summary = (
        "2 / 1 / 1 facts (train / valid / test), 3 entities, 1 relations, 3 times from 2013-10-22 "
        "to 2014-10-21 by day"
    )
    assert repr(replace(MADE, source_notes=("split at random",))).splitlines() == [
        f"made: {summary}",
        "subject  relation  object  time",
        "Ann      meets     Bob     2013-10-22",
        "Bob      meets     Zoë     2013-10-25",
        "note: split at random",
    ]
    assert "<td>Zoë</td>" in MADE._repr_html_()


def test_a_large_data_set_shows_a_few_facts_from_everywhere():
    many = replace(
        MADE, splits=MADE.splits | {"train": Facts.of([0] * 99, [0] * 99, [1] * 99, range(99))}
    )
    times = [row["time"] for row in many.as_table().rows]
    assert times == [many.timeline.label(tick) for tick in (0, 24, 49, 74)]
    empty = replace(MADE, splits=MADE.splits | {"train": Facts.of([], [], [], [])})
    assert repr(empty).startswith("made: 0 / 1 / 1 facts")


def test_points_become_intervals_of_one_tick_beside_intervals() -> None:
    points, intervals = Facts.of([0], [0], [1], [5]), Facts.of([0], [0], [1], [OPEN], [7])
    joined = join_facts(points, intervals)
    assert joined.has_intervals
    assert joined.times.tolist() == [5, 0]
    assert joined.ends.tolist() == [5, 7]
    assert joined.columns[3].tolist() == [5, OPEN]
