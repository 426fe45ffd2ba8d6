"""One table in many files, and folders with a table for each split, with and without ids."""

import random

import polars as pl
import pytest

from small_tables import (
    CSV,
    ENTITIES,
    FACTS,
    FRAME,
    PARTS,
    RELATIONS,
    ROWS,
    as_frame,
    as_ids,
    columns,
    complaint,
    named,
    read_table,
    write_file,
    write_listing,
    write_splits,
)
from targcn.errors import InputError
from targcn.facts.dataset import SPLITS
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


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


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        ("txt", {}),
        ("tsv", {}),
        ("csv", {}),
        ("csv", {"separator": ",", "include_header": True}),
        ("csv.gz", {"compression": "gzip"}),
    ],
)
def test_a_folder_of_names_and_dates(tmp_path, ending, options):
    folder = write_splits(tmp_path / "set", PARTS, ending, **options)
    dataset = open_dataset(folder)
    assert list(named(dataset).values()) == list(PARTS)
    assert (dataset.name, dataset.entities.names) == ("set", ENTITIES)


@pytest.mark.parametrize("valid", ["val", "validation", "dev", "Valid"])
def test_other_names_of_the_valid_file(tmp_path, valid):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / "valid.txt").rename(folder / f"{valid}.txt")
    assert len(open_dataset(folder).valid) == 5


@pytest.mark.parametrize("seed", [0, 1])
def test_ids_with_listing_and_names_give_the_same(tmp_path, seed):
    entities = random.Random(seed).sample(ENTITIES, 4)
    relations = random.Random(seed).sample(RELATIONS, 2)
    parts = [as_ids(rows, entities, relations) for rows in PARTS]
    by_id = write_splits(tmp_path / "ids", parts)
    write_listing(by_id, entities, relations)
    by_name = write_splits(tmp_path / "names", PARTS)
    first = open_dataset(by_id, ReadOptions(origin="2014-01-01"))
    second = open_dataset(by_name)
    assert columns(first) == columns(second)
    assert first.entities == second.entities
    assert first.relations == second.relations
    assert first.timeline.first == second.timeline.first


def test_names_with_listing_give_the_same(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    bare = columns(open_dataset(folder))
    write_listing(folder)
    assert columns(open_dataset(folder)) == bare


def test_names_that_are_listed_but_unused_keep_their_place(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    write_listing(folder, ["Aaron", *ENTITIES])
    assert open_dataset(folder).entities.names == ["Aaron", *ENTITIES]


def test_ids_without_listing_are_names_in_order_of_value(tmp_path):
    parts = [[(10, 0, 9, 0), (9, 1, 2, 1)], [(2, 0, 9, 3)], [(2, 1, 10, 7)]]
    dataset = open_dataset(write_splits(tmp_path / "set", parts))
    assert dataset.entities.names == ["2", "9", "10"]
    assert (dataset.timeline.unit, dataset.timeline.ticks.tolist()) == ("step", [0, 1, 3, 7])


def test_a_fifth_column_in_a_folder(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    for name in SPLITS:
        path = folder / f"{name}.txt"
        path.write_text(path.read_text().replace("\n", "\t0\n"))
    assert list(named(open_dataset(folder)).values()) == list(PARTS)


@pytest.mark.parametrize("line", ["4\n", "\n", "\ufeff"])
def test_harmless_first_lines_of_a_listing(tmp_path, line):
    folder = write_splits(tmp_path / "set", PARTS)
    write_listing(folder)
    path = folder / "entity2id.txt"
    path.write_text(line + path.read_text(), encoding="utf-8")
    assert open_dataset(folder).entities.names == ENTITIES


def test_a_listed_name_may_hold_a_rare_line_end(tmp_path):
    rows = [("a\u2028b", "meets", "c\x85d", "2014")] * 3
    folder = write_splits(tmp_path / "set", [rows] * 3)
    write_listing(folder, ["a\u2028b", "c\x85d"], ["meets"])
    assert open_dataset(folder).entities.names == ["a\u2028b", "c\x85d"]


@pytest.mark.parametrize("split", SPLITS)
def test_a_folder_without_one_of_its_files(tmp_path, split):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / f"{split}.txt").unlink()
    assert f"{folder} has no file for the {split} split" in complaint(folder)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("test.csv", b"", "has 2 files for the test split"),
        ("valid.txt", b"", "valid.txt is empty"),
        ("entity2id.txt", "Zoë\t0\n".encode("latin-1"), "entity2id.txt"),
    ],
)
def test_a_folder_with_a_file_that_does_not_fit(tmp_path, name, content, expected):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / name).write_bytes(content)
    assert expected in complaint(folder)


@pytest.mark.parametrize(
    ("place", "role", "bad"),
    [(0, "subject", 4), (0, "subject", -1), (1, "relation", 2), (2, "object", 99)],
)
def test_an_id_out_of_range(tmp_path, place, role, bad):
    parts = [as_ids(rows, ENTITIES, RELATIONS) for rows in PARTS]
    row = list(parts[2][1])
    row[place] = bad
    parts[2][1] = tuple(row)
    folder = write_splits(tmp_path / "set", parts)
    write_listing(folder)
    assert complaint(folder) == (
        f"test.txt: the {role} is not listed in row 2 ('{bad}'); correct it, or add it to the "
        "listing of ids"
    )


def test_a_name_that_is_not_listed(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    write_listing(folder, [*ENTITIES[1:], "Anne"])
    assert "train.txt: the subject is not listed in row 5 ('Ann')" in complaint(folder)


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("", "entity2id.txt should list ids from 0 on"),
        ("Ann 0\n", "entity2id.txt, line 1: expected a name, a tab and an id"),
        ("Ann\t0\nBob\tone\n", "entity2id.txt, line 2: expected a name, a tab and an id"),
        ("Ann\t0\nBob\t²\n", "entity2id.txt, line 2: expected a name, a tab and an id"),
        ("Ann\t" + "9" * 5000, "entity2id.txt, line 1: expected a name, a tab and an id"),
        ("Ann\t0\nBob\t-1\n", "entity2id.txt, line 2: expected a name, a tab and an id"),
        ("Ann\t0\nBob\t0\n", "entity2id.txt should list ids from 0 on, each once"),
        ("Ann\t0\nBob\t2\n", "entity2id.txt should list ids from 0 on"),
        ("Ann\t0\nBob\t1\nAnn\t2\n", "entity2id.txt should list ids from 0 on"),
    ],
)
def test_a_bad_listing(tmp_path, listing, expected):
    folder = write_splits(tmp_path / "set", [as_ids(rows, ENTITIES, RELATIONS) for rows in PARTS])
    write_listing(folder)
    (folder / "entity2id.txt").write_text(listing, encoding="utf-8")
    assert expected in complaint(folder)


def test_a_bad_date_is_found_in_its_own_file(tmp_path):
    rows = [*PARTS[2], ("Ann", "meets", "Bob", "2014-02-30")]
    folder = write_splits(tmp_path / "set", [*PARTS[:2], rows])
    assert complaint(folder).startswith(
        "test.txt: times that are not in the calendar: row 6 ('2014-02-30')"
    )


def test_files_with_different_forms_of_time(tmp_path):
    rows = [("Ann", "meets", "Bob", "17")]
    sentence = complaint(write_splits(tmp_path / "set", [*PARTS[:2], rows]))
    assert "train.txt, valid.txt, test.txt: times of different forms: a number" in sentence


def test_files_with_different_types_of_time(tmp_path):
    for name, rows in zip(SPLITS, PARTS, strict=True):
        as_frame(rows).write_parquet(tmp_path / f"{name}.parquet")
    as_frame(PARTS[2]).with_columns(time=pl.lit(17)).write_parquet(tmp_path / "test.parquet")
    assert "test.parquet are of different types, such as text and numbers" in complaint(tmp_path)


@pytest.mark.parametrize("options", [ReadOptions(split="time"), ReadOptions(split_seed=1)])
def test_a_folder_of_splits_is_not_split_in_another_way(tmp_path, options):
    folder = write_splits(tmp_path / "set", [FACTS[:30], FACTS[30:35], FACTS[35:]])
    with pytest.raises(InputError, match="set comes with splits of its own; leave out --split"):
        open_dataset(folder, options)


def test_intervals_by_id_with_more_about_each_name(tmp_path):
    """As YAGO11k comes: five columns without a header, and lifetimes behind the ids."""
    parts = [["0\t0\t1\t1952-##-##\t1964-##-##", "1\t0\t2\t360-##-##\t####-##-##"],
             ["2\t1\t0\t1925-04-23\t1925-04-23"], ["0\t1\t2\t####-##-##\t-405-##-##"]]  # fmt: skip
    for split, lines in zip(SPLITS, parts, strict=True):
        (tmp_path / f"{split}.txt").write_text("\n".join(lines))
    listed = "<Ann>\t1\t1900-##-##\t####-##-##\n<Zoë>\t0\t1900-##-##\t-5-##-##\n<Bob>\t2\t\t\n"
    (tmp_path / "entity2id.txt").write_text(listed, encoding="utf-8")
    (tmp_path / "relation2id.txt").write_text("<owns>\t0\n<wins>\t1\n")
    assert list(named(open_dataset(tmp_path)).values()) == [
        [("<Zoë>", "<owns>", "<Ann>", "1952 – 1964"), ("<Ann>", "<owns>", "<Bob>", "since 0360")],
        [("<Bob>", "<wins>", "<Zoë>", "1925")],
        [("<Zoë>", "<wins>", "<Bob>", "until -405")],
    ]


def test_times_in_one_split_and_intervals_in_another(tmp_path):
    for split, when in zip(SPLITS, ("2014", "2014\t2015-01-01", "2014"), strict=True):
        (tmp_path / f"{split}.txt").write_text(f"a\tr\tb\t{when}\n")
    assert "some have a time, others a start and an end" in complaint(tmp_path)


def test_an_end_before_its_start_names_its_file(tmp_path):
    for split, end in zip(SPLITS, ("2015-##-##", "2013-##-##", "2014-##-##"), strict=True):
        (tmp_path / f"{split}.txt").write_text(f"a\tr\tb\t2014-##-##\t{end}\n")
    assert complaint(tmp_path).startswith("valid.txt: the end is before the start in row 1")


def test_a_file_whose_ends_are_all_open(tmp_path):
    for split, end in zip(SPLITS, ('"2015"', "null", '"2014"'), strict=True):
        fact = f'{{"s": "a", "r": "r", "o": "b", "start": "2014", "end": {end}}}\n'
        (tmp_path / f"{split}.jsonl").write_text(fact)
    assert open_dataset(tmp_path).named("valid", 0)[3] == "since 2014"
