"""The prepared folder that a data set is kept in."""

import json
import os
import pickle

import numpy as np
import pytest

from targcn.errors import InputError
from targcn.facts.dataset import NO_FACTS, OPEN, SPLITS, Dataset, Facts
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources import prepared_folder
from targcn.facts.times.forms import TimeStyle
from targcn.facts.times.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary

FILES = ["dataset.json", "entities.json", "relations.json", "times.npy"] + [
    f"{split}.npy" for split in SPLITS
]


def made(**changes) -> Dataset:
    parts = {
        "name": "made",
        "entities": Vocabulary("entity", ["Ann", "Bob\n", "Zoë"]),
        "relations": Vocabulary("relation", ["meets"]),
        "timeline": Timeline("day", 16000, True, [0, 3, 364]),
        "splits": {
            "train": Facts.of([0, 1], [0, 0], [1, 2], [0, 3]),
            "valid": Facts.of([2], [0], [0], [364]),
            "test": Facts.of([1], [0], [0], [3]),
        },
        "source_notes": ("3 facts stand twice", "né"),
    }
    return Dataset(**{**parts, **changes})


def assert_same(first: Dataset, second: Dataset) -> None:
    assert (first.name, first.notes) == (second.name, second.notes)
    assert (first.entities, first.relations) == (second.entities, second.relations)
    for field in ("unit", "start", "dated", "step", "style"):
        assert getattr(first.timeline, field) == getattr(second.timeline, field)
    assert first.timeline.ticks.tolist() == second.timeline.ticks.tolist()
    for split in SPLITS:
        assert first.splits[split].columns.dtype == second.splits[split].columns.dtype
        assert np.array_equal(first.splits[split].columns, second.splits[split].columns)


@pytest.fixture
def folder(tmp_path):
    made().save(tmp_path / "set")
    return tmp_path / "set"


def complaint(folder) -> str:
    with pytest.raises(InputError) as caught:
        Dataset.load(folder)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def edit_manifest(folder, **changes) -> None:
    path = folder / "dataset.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    "dataset",
    [
        made(),
        made(source_notes=()),
        made(timeline=Timeline("step", -5, False, [0, 3, 364])),
        made(timeline=Timeline("day", -5, False, [0, 3, 364], step=24)),
        made(
            timeline=Timeline("day", 16000, True, [0, 3, 364], style=TimeStyle("Asia/Tokyo", "dmy"))
        ),
        made(splits={**made().splits, "valid": NO_FACTS}),
        made(splits={**made().splits, "valid": NO_FACTS, "test": NO_FACTS}),
        made(
            timeline=Timeline("second", 16000, True, [3_000_000_000]),
            splits={split: Facts.of([0], [0], [1], [3_000_000_000]) for split in SPLITS},
        ),
        made(splits={split: Facts.of([0], [0], [1], [0], [OPEN]) for split in SPLITS}),
        made(splits={**made().splits, "train": Facts.of([0], [0], [1], [3], [364])}),
        made(
            splits={**dict.fromkeys(SPLITS, NO_FACTS), "train": Facts.of([0], [0], [1], [0], [3])}
        ),
    ],
)
def test_saved_and_loaded(tmp_path, dataset):
    dataset.save(tmp_path / "set")
    assert_same(Dataset.load(tmp_path / "set"), dataset)


def test_loaded_columns_are_memory_mapped(folder):
    loaded = Dataset.load(folder)
    assert isinstance(loaded.train.columns, np.memmap)
    assert not loaded.train.columns.flags.writeable


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"garbage",
        b"\x93NUMPY garbage",
        b"PK\x03\x04 no archive",
        b"\xff\xfe[1, 2]",
        b"[" * 100000,
        b"null",
        b"{}",
        b"[1, 2, 3]",
    ],
)
def test_a_damaged_file(folder, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    sentence = complaint(folder)
    assert str(folder) in sentence
    assert "prepare" in sentence


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((4, 3), np.int32), "of shape (4, 3)"),
        (np.zeros((3, 2), np.int32), "of shape (3, 2)"),
        (np.zeros(8, np.int32), "of shape (8,)"),
        (np.zeros((4, 2), np.float64), "float64 of shape"),
        (np.full((4, 2), 3, np.int32), "some ids have no name"),
        (np.full((4, 2), -1, np.int32), "some ids have no name"),
        ([[0, 1], [0, 0], [1, 2], [0, 365]], "damaged or half-written (some times are not on"),
    ],
)
def test_an_array_that_does_not_fit(folder, array, expected):
    np.save(folder / "train.npy", array)
    assert expected in complaint(folder)


def test_many_facts_are_checked_again_only_if_their_file_was_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared_folder, "MOST_CHECKED_ALWAYS", 1)
    folder, read = tmp_path / "set", []
    made().save(folder)
    monkeypatch.setattr(prepared_folder, "_find_fault", lambda facts, last: read.append(len(facts)))
    Dataset.load(folder)
    # Of valid and test; train has two facts.
    assert read == [1, 1]
    np.save(folder / "train.npy", np.full((4, 2), 9, np.int32))
    os.utime(folder / "train.npy", ns=(1, 1))
    assert "train.npy is damaged or half-written (some ids have no name)" in complaint(folder)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


@pytest.mark.parametrize("name", ["train.npy", "times.npy"])
def test_a_pickle_is_refused(folder, name):
    np.save(folder / name, np.array([Bomb()], dtype=object), allow_pickle=True)
    assert f"{name} is damaged" in complaint(folder)
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    assert f"{name} is damaged" in complaint(folder)


@pytest.mark.parametrize("format", [0, 3, None, "1"])
def test_a_folder_of_another_format(folder, format):
    edit_manifest(folder, format=format)
    assert f"prepared in format {format!r}, but this version reads formats 1 and 2; prepare it" in (
        complaint(folder)
    )


INTERVALS = {
    "train": Facts.of([0, 1], [0, 0], [1, 2], [0, OPEN], [3, 3]),
    "valid": Facts.of([2], [0], [0], [364], [364]),
    "test": Facts.of([1], [0], [0], [3], [OPEN]),
}


def test_intervals_have_a_format_of_their_own(tmp_path):
    dataset = made(splits=INTERVALS)
    dataset.save(tmp_path / "set")
    assert json.loads((tmp_path / "set" / "dataset.json").read_text())["format"] == 2
    assert Dataset.load(tmp_path / "set").named("test", 0)[3] == "since 2013-10-25"
    edit_manifest(tmp_path / "set", format=1)
    assert "train.npy is damaged" in complaint(tmp_path / "set")
    edit_manifest(tmp_path / "set", format=2)
    np.save(tmp_path / "set" / "train.npy", np.zeros((6, 2), dtype=np.int32))
    assert "facts have four rows of numbers, or five" in complaint(tmp_path / "set")


@pytest.mark.parametrize(
    ("first", "last", "problem"),
    [
        (3, 0, "some facts end before they begin"),
        (OPEN, OPEN, "some facts have neither a beginning nor an end"),
        (-2, 3, "some times are not on its timeline"),
        (0, 365, "some times are not on its timeline"),
        (365, OPEN, "some times are not on its timeline"),
    ],
)
def test_impossible_intervals_are_refused(tmp_path, first, last, problem):
    made(splits=INTERVALS).save(tmp_path / "set")
    columns = Facts.of([0, 1], [0, 0], [1, 2], [0, first], [3, last]).columns
    np.save(tmp_path / "set" / "train.npy", columns)
    assert f"train.npy is damaged or half-written ({problem})" in complaint(tmp_path / "set")


@pytest.mark.parametrize(
    "changes",
    [
        {"num_entities": 4},
        {"num_relations": 2},
        {"num_facts": {"train": 3, "valid": 1, "test": 1}},
        {"num_facts": {"train": 2, "valid": 1}},
        {"num_facts": {"train": 2, "valid": 0, "test": 1}},
        {"num_facts": 4},
        {"unit": "week"},
        {"unit": ["day"]},
        {"unit": "step"},
        {"start": "soon"},
        {"start": float("inf")},
        {"notes": None},
        {"last_touched": 7},
        {"last_touched": {"train": "yesterday"}},
    ],
)
def test_a_manifest_that_does_not_fit(folder, changes):
    edit_manifest(folder, **changes)
    assert "is damaged or half-written" in complaint(folder)


@pytest.mark.parametrize(
    "options", [ReadOptions(split="time"), ReadOptions(unit="year"), ReadOptions(time="x")]
)
def test_a_prepared_folder_is_not_read_in_another_way(folder, options):
    with pytest.raises(InputError, match="set is prepared: its columns, times and splits are"):
        open_dataset(folder, options)


@pytest.mark.parametrize("names", [["Ann", "Ann", "Zoë"], ["Ann", "\ud800", "Zoë"]])
def test_names_that_stand_twice_or_are_no_text_are_refused(folder, names):
    (folder / "entities.json").write_text(json.dumps(names))
    assert "entities.json is damaged" in complaint(folder)


@pytest.mark.parametrize("start", [10**17, -(10**17), 10**18, 2**63, 10**400, -(2**70)])
@pytest.mark.parametrize("dated", [True, False])
def test_a_start_that_no_time_could_have_is_refused(folder, start, dated):
    unit = "day" if dated else "step"
    if not dated and abs(start) == 10**17:
        return
    edit_manifest(folder, start=start, dated=dated, unit=unit)
    assert "its times are none that there could be" in complaint(folder)


@pytest.mark.parametrize("ticks", [[0, 364, 3], [0, 3, 3, 364], [-5, 0, 364], []])
def test_ticks_that_are_out_of_order_are_refused(folder, ticks):
    np.save(folder / "times.npy", np.array(ticks, dtype=np.int64))
    assert "is damaged" in complaint(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert name in complaint(folder)


@pytest.mark.parametrize(
    "style", [7, [], {"date_format": True}, {"timezone": 3}, {"date_format": "%q"}, {"x": 1}]
)
def test_a_style_of_times_that_is_none_is_refused(folder, style):
    edit_manifest(folder, style=style)
    assert "dataset.json is damaged" in complaint(folder)
