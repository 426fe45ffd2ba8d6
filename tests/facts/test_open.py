"""Any source opened as a data set."""

import subprocess
import sys

import pytest

from small_tables import ENTITIES, FACTS, as_frame, columns, complaint
from targcn.facts.open import open_dataset


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "csv.gz"])
def test_the_same_facts_from_any_file(tmp_path, ending):
    frame, path = as_frame(FACTS), tmp_path / f"x.{ending}"
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_csv(path, compression="gzip" if ending.endswith("gz") else "uncompressed")
    opened = open_dataset(path)
    assert columns(opened) == columns(open_dataset(frame))
    assert opened.entities.names == ENTITIES
    assert opened.name == "x"


def test_strings_and_paths_are_alike(tmp_path):
    as_frame(FACTS).write_csv(tmp_path / "x.csv")
    assert columns(open_dataset(str(tmp_path / "x.csv"))) == columns(
        open_dataset(tmp_path / "x.csv")
    )


def test_a_file_under_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    as_frame(FACTS).write_csv(tmp_path / "x.csv")
    assert open_dataset("~/x.csv").name == "x"


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
