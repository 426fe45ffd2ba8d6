"""Any source opened as a data set."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from small_tables import (
    ENTITIES,
    FACTS,
    FRAME,
    PARTS,
    as_frame,
    columns,
    complaint,
    named,
    write_file,
    write_splits,
)
from targcn.errors import InputError
from targcn.facts import sources
from targcn.facts.open import MODULES, load_sources, open_dataset, recognize
from targcn.facts.reading.options import ReadOptions

SHARED = {"__init__", "copies", "table_source"}


def test_a_file_is_named_by_its_path_in_any_form(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    as_frame(FACTS).write_csv(tmp_path / "x.csv")
    expected = columns(open_dataset(as_frame(FACTS)))
    for source in (tmp_path / "x.csv", str(tmp_path / "x.csv"), "~/x.csv"):
        opened = open_dataset(source)
        assert (columns(opened), opened.entities.names, opened.name) == (expected, ENTITIES, "x")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("icews41", "no data set, folder or file 'icews41'; did you mean 'icews14'?"),
        ("Congress", "did you mean 'congress'?"),
        ("quite another", "'targcn data list' shows the named data sets"),
        ("~nobody-of-that-name/x.csv", "no data set, folder or file"),
        ("x" * 5000, "no data set, folder or file"),
        ("x\0.csv", "no data set, folder or file"),
        ("missing.csv", "no data set, folder or file 'missing.csv'"),
    ],
)
def test_an_unknown_source(source, expected):
    assert expected in complaint(source)


def test_the_embedded_set_is_the_default():
    dataset = open_dataset()
    assert (dataset.name, dataset.timeline.unit, dataset.timeline.last) == (
        "congress",
        "year",
        "2015",
    )


def open_without_polars(source) -> subprocess.CompletedProcess:
    program = (
        "import sys; sys.modules['polars'] = None\n"
        "from targcn.facts.open import open_dataset\n"
        "print(len(open_dataset(sys.argv[1]).train))"
    )
    command = [sys.executable, "-c", program, str(source)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_prepared_folder_opens_without_polars(tmp_path):
    open_dataset(as_frame(FACTS)).save(tmp_path / "set")
    ran = open_without_polars(tmp_path / "set")
    assert (ran.stdout, ran.stderr) == ("32\n", "")


def test_a_missing_library_is_named(tmp_path):
    as_frame(FACTS).write_csv(tmp_path / "x.csv")
    assert open_without_polars(tmp_path / "x.csv").stderr.splitlines()[-1] == (
        f"targcn.errors.InputError: reading {tmp_path / 'x.csv'} needs polars, which is not "
        "installed; run 'pip install polars'"
    )


def test_a_mistyped_name_is_reported_without_polars():
    sentence = open_without_polars("icews41").stderr.splitlines()[-1]
    assert sentence.endswith("no data set, folder or file 'icews41'; did you mean 'icews14'?")


def test_every_source_is_registered():
    modules = {path.stem for path in Path(sources.__file__).parent.glob("*.py")}
    assert set(MODULES) == modules - SHARED


def kind_of(source: object) -> str | None:
    found = recognize(source)
    return found and type(found).__name__


def test_every_source_is_recognized_by_what_it_is(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    open_dataset(FRAME).save(tmp_path / "prepared")
    found = [
        *("congress", "icews14", tmp_path / "prepared", folder, folder / "train.txt"),
        *(write_file(tmp_path, name, "") for name in ("x.jsonl", "x.parquet", "x.arrow")),
        *(write_file(tmp_path, name, "") for name in ("x.json", "x.db", "x.xls", "x.nt", "x.xz")),
        *("-", "HTTPS://example.org/x.csv", "postgresql+psycopg://localhost/x"),
        *(FRAME, FRAME.lazy(), pd.DataFrame(), pa.table({}), nx.MultiDiGraph()),
        {"train": FRAME},
    ]
    assert list(map(kind_of, found)) == [
        *("NamedDataset", "NamedDataset", "PreparedFolder", "SplitFolder", "DelimitedText"),
        *("JsonLines", "Parquet", "ArrowFile"),
        *("JsonArray", "SqliteFile", "Excel", "Rdf", "Packed"),
        *("StandardInput", "WebAddress", "Database"),
        *("Frame", "Frame", "Frame", "Frame", "NetworkxGraph"),
        "DictOfSplits",
    ]


def test_a_path_is_not_the_name_of_a_data_set():
    assert recognize(Path("icews14")) is None


@pytest.mark.parametrize(
    "name", ["x", "x.py", "x.docx", "entity2id", "x.csv.rar", "x.parquet.zst", "x.tar"]
)
def test_other_endings_are_not_tables(tmp_path, name):
    path = write_file(tmp_path, name, "")
    assert recognize(path) is None
    sentence = complaint(path)
    assert sentence.startswith(f"the ending of {path} is not known; rename it, or pipe it in as -")
    assert "(.csv .tsv .tab .txt, also .gz or .zst)" in sentence
    assert "(.xlsx" in sentence


@pytest.mark.parametrize(
    "source", [None, 17, [1, 2], {"subject": ["a"]}, pd.Series(["a"]), pl.Series(["a"])]
)
def test_something_that_is_no_source(source):
    sentence = complaint(source)
    assert sentence.startswith(f"an object of type {type(source).__name__} cannot be read; give ")
    assert all(kind.title in sentence for kind in load_sources(("objects",)))


@pytest.mark.parametrize("form", ["table", "splits", "prepared"])
def test_without_splits_every_fact_is_in_train_once(tmp_path, form):
    parts = (PARTS[0], [*PARTS[1], PARTS[0][0]], PARTS[2])
    source = write_splits(tmp_path / "set", parts)
    if form == "table":
        source = as_frame([*FACTS, FACTS[0]])
    elif form == "prepared":
        open_dataset(source).save(tmp_path / "prepared")
        source = tmp_path / "prepared"
    dataset = open_dataset(source, ReadOptions(split="none"))
    assert sorted(named(dataset)["train"]) == sorted(FACTS)
    assert [len(dataset.valid), len(dataset.test)] == [0, 0]
    assert dataset.notes[-1] == (
        "not split: all 40 facts are in train, none are left to evaluate on"
    )
    assert not any("random" in note or "leaks" in note for note in dataset.notes)
    dataset.save(tmp_path / "kept")
    assert columns(open_dataset(tmp_path / "kept")) == columns(dataset)


def test_options_are_keywords_too():
    frame = FRAME.rename({"subject": "who"})
    options = ReadOptions(subject="who")
    opened = open_dataset(frame, options, split="time")
    assert opened.train.times.max() <= opened.valid.times.min()
    assert columns(opened) == columns(open_dataset(frame, subject="who", split="time"))
    assert columns(opened) != columns(open_dataset(frame, options))


@pytest.mark.parametrize(
    ("read", "message"),
    [
        ({"splti": "time"}, "open_dataset.splti is unknown; did you mean 'split'?"),
        ({"split": "tmie"}, "open_dataset.split is 'tmie'; choose one of random, time, none"),
        ({"split_seed": -1}, "split_seed is -1; it cannot be negative"),
    ],
)
def test_keywords_that_are_no_options(read, message):
    with pytest.raises(InputError) as caught:
        open_dataset(FRAME, **read)
    assert str(caught.value) == message


DAYS = pl.DataFrame(
    {
        "subject": ["Ann", "Bob", "Zoë"],
        "relation": "leads",
        "object": ["Bob", "Zoë", "Ann"],
        "valid from": [date(2014, 1, 1), None, date(2014, 3, 1)],
        "valid to": [date(2014, 2, 1), date(2014, 1, 5), None],
    }
)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.csv", DAYS.write_csv),
        ("x.tsv", lambda path: DAYS.write_csv(path, separator="\t")),
        ("x.jsonl", DAYS.write_ndjson),
        ("x.json", DAYS.write_json),
        ("x.parquet", DAYS.write_parquet),
        ("x.xlsx", DAYS.write_excel),
    ],
)
def test_every_source_may_hold_intervals(tmp_path, name, write):
    write(tmp_path / name)
    dataset = open_dataset(tmp_path / name, split="none")
    assert [dataset.named("train", position)[3] for position in range(3)] == [
        "until 2014-01-05",
        "2014-01-01 – 2014-02-01",
        "since 2014-03-01",
    ]
