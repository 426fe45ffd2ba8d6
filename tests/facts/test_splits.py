"""Tables split at random or by time, and repetitions in published splits."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_tables import FACTS, PARTS, as_frame, columns, complaint, named, write_splits
from targcn.facts.dataset import OPEN, SPLITS, Facts
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions
from targcn.facts.splits import distinct_facts, leave_out, leave_out_held


@given(st.randoms(use_true_random=False), st.sampled_from(["random", "time"]))
def test_the_order_of_the_rows_changes_nothing(shuffler, split):
    rows = list(FACTS)
    shuffler.shuffle(rows)
    options = ReadOptions(split=split)
    assert columns(open_dataset(as_frame(rows), options)) == columns(
        open_dataset(as_frame(FACTS), options)
    )


@pytest.mark.parametrize("split", ["random", "time"])
@pytest.mark.parametrize(("number", "sizes"), [(40, [32, 4, 4]), (39, [33, 3, 3]), (3, [1, 1, 1])])
def test_a_table_is_split_80_10_10(split, number, sizes):
    frame = pl.DataFrame({"s": range(number), "r": 0, "o": 1, "t": range(number)})
    dataset = open_dataset(frame, ReadOptions(split=split))
    assert [len(dataset.splits[name]) for name in SPLITS] == sizes


def test_the_seed_decides_the_random_split():
    frame = as_frame(FACTS)
    first, again, other = (
        columns(open_dataset(frame, ReadOptions(split_seed=seed))) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other


def test_a_split_by_time_shares_no_moment():
    dataset = open_dataset(as_frame(FACTS), ReadOptions(split="time"))
    assert dataset.train.times.max() < dataset.valid.times.min()
    assert dataset.valid.times.max() < dataset.test.times.min()
    assert "split by time" in dataset.notes[-1]


def test_too_few_moments_to_split_by_time():
    rows = [(f"{name}", "r", "o", "2014") for name in range(20)]
    assert "too few distinct times" in complaint(as_frame(rows), ReadOptions(split="time"))


def test_duplicates_and_overlaps_of_a_folder_are_kept_and_noted(tmp_path):
    parts = (PARTS[0] + PARTS[0][:2], PARTS[1] + PARTS[0][:1], PARTS[2] + PARTS[1][:3])
    dataset = open_dataset(write_splits(tmp_path / "set", parts))
    assert list(named(dataset).values()) == list(parts)
    assert dataset.notes == (
        "2 facts are repeated within train; kept as published",
        "1 facts of valid are also in an earlier split, which leaks their answers into training; "
        "kept as published",
        "3 facts of test are also in an earlier split, which leaks their answers into training; "
        "kept as published",
    )


def test_a_clean_folder_needs_no_note(tmp_path):
    assert open_dataset(write_splits(tmp_path / "set", PARTS)).notes == ()


def spans(number=40):
    """Facts in pairs that differ in their end alone; every fifth has no start, or no end."""
    rows = []
    for row in range(number):
        start, end = row // 2, row // 2 + 2 + row % 2
        rows.append(("a", "r", f"b{row // 4}", start, end))
    rows += [("c", "r", "d", None, end) for end in range(5, 9)]
    rows += [("c", "r", "e", start, None) for start in range(5, 9)]
    return rows


@given(st.randoms(use_true_random=False), st.sampled_from(["random", "time"]))
def test_the_order_of_intervals_changes_nothing_and_they_are_kept_once(shuffler, split):
    rows = spans()
    wanted = columns(open_dataset(as_frame(rows), split=split))
    shuffled = rows + rows[:7]
    shuffler.shuffle(shuffled)
    dataset = open_dataset(as_frame(shuffled), split=split)
    assert columns(dataset) == wanted
    assert len(dataset.facts) == len(rows)
    assert "7 repeated facts of the table were dropped" in dataset.notes


def test_intervals_are_split_by_their_first_tick():
    dataset = open_dataset(as_frame(spans()), split="time")
    assert dataset.train.times.max() < dataset.valid.times.min()
    assert dataset.valid.times.max() < dataset.test.times.min()
    # What has no start comes first.
    assert (dataset.train.columns[3] == OPEN).sum() == 4


def test_facts_that_differ_in_their_end_are_no_repetition(tmp_path):
    for name, end in zip(SPLITS, (2015, 2016, 2015), strict=True):
        (tmp_path / f"{name}.csv").write_text(f"s,r,o,start,end\na,r,b,2014,{end}\n")
    assert [note for note in open_dataset(tmp_path).notes if "earlier split" in note] == [
        "1 facts of test are also in an earlier split, which leaks their answers into training; "
        "kept as published"
    ]


def test_a_time_among_intervals_is_one_of_one_tick():
    spans = Facts.of([0, 0, 0], [0, 0, 0], [1, 1, 1], [5, 5, OPEN], [5, 6, 5])
    times = Facts.of([0, 0], [0, 0], [1, 1], [5, 6])
    assert leave_out(spans, times).columns[3:].tolist() == [[5, OPEN], [6, 5]]
    assert leave_out(times, spans).times.tolist() == [6]


def test_what_is_asked_about_is_left_out_whenever_it_holds() -> None:
    asked = Facts.of([0, 0], [0, 0], [1, 2], [3, OPEN], [5, OPEN])
    given = Facts.of([0] * 5, [0] * 5, [1, 1, 1, 2, 3], [5, 6, 0, 9, 4], [6, 9, 2, 9, 4])
    assert leave_out_held(given, asked).columns.T.tolist() == [
        [0, 0, 1, 6, 9],
        [0, 0, 1, 0, 2],
        [0, 0, 3, 4, 4],
    ]


@given(
    st.lists(st.tuples(*(st.integers(0, 3) for _ in range(3)), st.integers(-1, 4)), min_size=1),
    st.booleans(),
)
def test_distinct_facts_are_the_sorted_set(rows, is_long):
    # Times this far apart do not fit into one number with the ids.
    far = 2**60 if is_long else 1
    rows = [(subject, relation, object_, time * far) for subject, relation, object_, time in rows]
    found = distinct_facts(Facts.of(*zip(*rows, strict=True))).columns.T.tolist()
    by_time = sorted({(row[3], *row[:3]) for row in rows})
    assert found == [[*row[1:], row[0]] for row in by_time]
