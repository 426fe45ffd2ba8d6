"""Tables for train, valid and test in a dictionary."""

import pytest

from small_tables import FACTS, FRAME, PARTS, as_frame, columns, complaint, named, write_splits
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions

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


def test_a_dict_of_hugging_face():
    datasets = pytest.importorskip("datasets", reason="datasets, a large library, is not here")
    rows = datasets.Dataset.from_polars(as_frame(FACTS))
    both = datasets.DatasetDict({"train": rows, "validation": rows, "test": rows})
    assert len(open_dataset(both).train) == len(FACTS)


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


def test_other_splits_are_refused():
    source = dict(zip(("train", "valid", "test"), FRAMES, strict=True))
    assert "comes with splits of its own" in complaint(source, ReadOptions(split="time"))
