"""One table in many files: folders of Parquet files, partitions and patterns."""

import polars as pl
import pytest

from small_tables import CSV, FRAME, ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset


def write_parts(folder, ending=".parquet"):
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(FRAME.iter_slices(1)):
        write = part.write_parquet if ending == ".parquet" else part.write_csv
        write(folder / f"part-{number}{ending}")
    return folder


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    folder = write_parts(tmp_path / "facts.parquet")
    write_file(folder, "_SUCCESS", "")
    write_file(folder, ".part-0.parquet.crc", "x")
    assert read_table(folder).rows() == ROWS
    assert open_dataset(folder).name == "facts"


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_pattern_names_files_of_one_kind(tmp_path, ending):
    folder = write_parts(tmp_path / "facts", ending)
    pattern = f"{folder}/part-*{ending}"
    assert read_table(pattern).rows() == ROWS
    assert open_dataset(pattern).name == "facts"
    assert read_table(f"{folder}/part-[01]{ending}").rows() == ROWS[:2]


def test_the_names_of_partitions_are_columns(tmp_path):
    FRAME.write_parquet(pl.PartitionBy(tmp_path / "facts", key="time"), mkdir=True)
    assert sorted(read_table(tmp_path / "facts").cast(pl.String).rows()) == sorted(ROWS)


def test_many_files_are_prepared_like_one(tmp_path):
    many, one = open_dataset(write_parts(tmp_path / "facts")), open_dataset(FRAME)
    assert [*many.entities] == [*one.entities]
    for split, facts in one.splits.items():
        assert (many.splits[split].columns == facts.columns).all()


def test_patterns_that_name_nothing_or_a_mixture(tmp_path):
    folder = write_parts(tmp_path / "facts")
    assert complaint(f"{folder}/*.csv").startswith("no file is named like ")
    write_file(folder, "part-9.csv", CSV)
    assert "not tables of one kind" in complaint(f"{folder}/part-*")
    write_file(folder, "part-8.csv", CSV.replace("object", "colour"))
    assert "no column for the object" in complaint(f"{folder}/part-8*")
    write_file(folder, "part-7.csv", "other," + CSV.replace("\n", "\nx,").removesuffix("x,"))
    assert read_table(f"{folder}/part-[79].csv").rows() == 2 * ROWS


def test_a_damaged_part_is_explained(tmp_path):
    folder = write_parts(tmp_path / "facts")
    write_file(folder, "part-1.parquet", "PAR1 and nothing more")
    assert "facts cannot be read: " in complaint(folder)
