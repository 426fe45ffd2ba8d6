"""The kind of source that something is, or what can be read if it is none."""

from pathlib import Path

import pandas as pd
import pytest

from small_tables import FRAME, PARTS, complaint, write_file, write_splits
from targcn.facts import sources
from targcn.facts.open import open_dataset
from targcn.facts.sources.registry import SOURCES, load_sources, recognize
from targcn.facts.sources.table_file import TableFile

SHARED = {"__init__", "registry", "source", "table_file"}


def test_every_source_is_registered():
    modules = {path.stem for path in Path(sources.__file__).parent.glob("*.py")}
    assert set(SOURCES) == modules - SHARED


def kind_of(source: object) -> str | None:
    found = recognize(source)
    return found and type(found).__name__


def test_every_source_is_recognized_by_what_it_is(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    open_dataset(FRAME).save(tmp_path / "prepared")
    found = [
        *("congress", "icews14", tmp_path / "prepared", folder, folder / "train.txt"),
        *(write_file(tmp_path, name, "") for name in ("x.jsonl", "x.parquet")),
        *(FRAME, FRAME.lazy(), pd.DataFrame()),
    ]
    assert list(map(kind_of, found)) == [
        *("NamedDataset", "NamedDataset", "PreparedFolder", "SplitFolder", "DelimitedText"),
        *("JsonLines", "Parquet"),
        *("Frame", "Frame", "Frame"),
    ]


def test_a_path_is_not_the_name_of_a_data_set():
    assert recognize(Path("icews14")) is None


TABLES = [
    f"x{ending}{packed}"
    for ending in (".csv", ".CSV", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson")
    for packed in ("", ".gz", ".zst")
]


@pytest.mark.parametrize("name", [*TABLES, "x.parquet", "x.y.csv"])
def test_tables_are_recognized_by_their_ending(tmp_path, name):
    assert isinstance(recognize(write_file(tmp_path, name, "")), TableFile)


@pytest.mark.parametrize(
    "name", ["x", "x.json", "x.gz", "x.xlsx", "entity2id", "x.csv.bz2", "x.parquet.gz"]
)
def test_other_endings_are_not_tables(tmp_path, name):
    path = write_file(tmp_path, name, "")
    assert recognize(path) is None
    assert complaint(path).startswith(f"{path} cannot be read; give the name of a data set, ")


@pytest.mark.parametrize("source", [None, 17, [1, 2], {"subject": ["a"]}, pd.Series(["a"])])
def test_something_that_is_no_source(source):
    sentence = complaint(source)
    assert sentence.startswith(f"an object of type {type(source).__name__} cannot be read; give ")
    assert all(kind.title in sentence for kind in load_sources())
