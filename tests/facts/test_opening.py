"""From any source to a data set: ids, ticks, splits, and what is said of bad sources."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from targcn.errors import InputError
from targcn.facts import opening
from targcn.facts.catalog import CATALOG
from targcn.facts.dataset import SPLITS, Dataset
from targcn.facts.opening import open_dataset
from targcn.facts.reading import Reading

HEADER = ["subject", "relation", "object", "time"]
ENTITIES = ["Ann", "Bob", "Chad, the state", "Zoë"]
RELATIONS = ["meets", "visits"]
DATA = Path(os.environ.get("TARGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(
    not (DATA / "icews14" / "train.txt").exists(), reason="the benchmark files are not here"
)


def made_facts(number: int = 40, seed: int = 0) -> list[tuple[str, str, str, str]]:
    rng = random.Random(seed)
    rows = {
        (rng.choice(ENTITIES), rng.choice(RELATIONS), rng.choice(ENTITIES), f"2014-01-{day:02}")
        for day in range(1, 29, 3)
        for _ in range(20)
    }
    return rng.sample(sorted(rows), number)


def as_frame(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=HEADER, orient="row")


def columns(dataset: Dataset) -> dict[str, list]:
    return {split: facts.columns.tolist() for split, facts in dataset.splits.items()}


def named(dataset: Dataset) -> dict[str, list]:
    return {
        split: [dataset.named(split, position) for position in range(len(facts))]
        for split, facts in dataset.splits.items()
    }


def write_splits(folder: Path, splits, ending="txt", **options) -> Path:
    folder.mkdir()
    for name, rows in zip(("train", "valid", "test"), splits, strict=True):
        options = {"separator": "\t", "include_header": False, **options}
        as_frame(rows).cast(pl.String).write_csv(folder / f"{name}.{ending}", **options)
    return folder


def write_listing(folder: Path, entities=ENTITIES, relations=RELATIONS) -> None:
    for stem, names in (("entity2id", entities), ("relation2id", relations)):
        lines = "".join(f"{name}\t{position}\n" for position, name in enumerate(names))
        (folder / f"{stem}.txt").write_text(lines, encoding="utf-8")


def as_ids(rows, entities, relations):
    first_day = np.datetime64("2014-01-01")
    return [
        (
            entities.index(subject),
            relations.index(relation),
            entities.index(object_),
            int((np.datetime64(day) - first_day).astype(int)),
        )
        for subject, relation, object_, day in rows
    ]


def complaint(source: object, reading: Reading | None = None) -> str:
    with pytest.raises(InputError) as caught:
        open_dataset(source, reading)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


ROWS = made_facts()
PARTS = (ROWS[:30], ROWS[30:35], ROWS[35:])


# One table.


def test_ids_are_positions_among_sorted_names():
    dataset = open_dataset(as_frame(ROWS))
    assert (dataset.entities.names, dataset.relations.names) == (ENTITIES, RELATIONS)


def test_facts_survive_with_their_names_and_dates():
    dataset = open_dataset(as_frame(ROWS))
    assert sorted(chain(*named(dataset).values())) == sorted(ROWS)


def test_ticks_keep_true_distances():
    dataset = open_dataset(as_frame(ROWS))
    assert dataset.timeline.ticks.tolist() == list(range(0, 28, 3))
    assert (dataset.timeline.unit, dataset.timeline.first) == ("day", "2014-01-01")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "csv.gz"])
def test_the_same_facts_from_any_file(tmp_path, ending):
    frame, path = as_frame(ROWS), tmp_path / f"x.{ending}"
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


@given(st.randoms(use_true_random=False), st.sampled_from(["random", "time"]))
def test_the_order_of_the_rows_changes_nothing(shuffler, split):
    rows = list(ROWS)
    shuffler.shuffle(rows)
    reading = Reading(split=split)
    assert columns(open_dataset(as_frame(rows), reading)) == columns(
        open_dataset(as_frame(ROWS), reading)
    )


def test_strings_and_paths_are_alike(tmp_path):
    as_frame(ROWS).write_csv(tmp_path / "x.csv")
    assert columns(open_dataset(str(tmp_path / "x.csv"))) == columns(
        open_dataset(tmp_path / "x.csv")
    )


def test_a_file_under_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    as_frame(ROWS).write_csv(tmp_path / "x.csv")
    assert open_dataset("~/x.csv").name == "x"


@pytest.mark.parametrize("split", ["random", "time"])
@pytest.mark.parametrize(("number", "sizes"), [(40, [32, 4, 4]), (39, [33, 3, 3]), (3, [1, 1, 1])])
def test_a_table_is_split_80_10_10(split, number, sizes):
    frame = pl.DataFrame({"s": range(number), "r": 0, "o": 1, "t": range(number)})
    dataset = open_dataset(frame, Reading(split=split))
    assert [len(dataset.splits[name]) for name in SPLITS] == sizes


def test_the_seed_decides_the_random_split():
    frame = as_frame(ROWS)
    first, again, other = (
        columns(open_dataset(frame, Reading(split_seed=seed))) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other


def test_no_fact_stands_in_two_parts():
    parts = named(open_dataset(as_frame(ROWS)))
    assert len(set(chain(*parts.values()))) == len(ROWS)


def test_a_split_by_time_shares_no_moment():
    dataset = open_dataset(as_frame(ROWS), Reading(split="time"))
    assert dataset.train.times.max() < dataset.valid.times.min()
    assert dataset.valid.times.max() < dataset.test.times.min()
    assert "split by time" in dataset.notes[-1]


def test_too_few_moments_to_split_by_time():
    rows = [(f"{name}", "r", "o", "2014") for name in range(20)]
    assert "too few distinct times" in complaint(as_frame(rows), Reading(split="time"))


@pytest.mark.parametrize("rows", [ROWS[:1], ROWS[:2], ROWS[:2] * 5])
def test_fewer_than_three_facts(tmp_path, rows):
    as_frame(rows).write_csv(tmp_path / "few.csv")
    sentence = complaint(tmp_path / "few.csv")
    assert f"few.csv has {len(set(rows))} distinct facts; at least 3 are needed" in sentence


def test_duplicates_in_a_table_are_dropped_and_noted():
    dataset = open_dataset(as_frame(ROWS + ROWS[:7]))
    assert columns(dataset) == columns(open_dataset(as_frame(ROWS)))
    assert dataset.notes[0] == "7 facts stand in the table more than once and are kept once"


def test_times_cut_to_one_unit_make_duplicates():
    dataset = open_dataset(as_frame([*ROWS, *ROWS[:1]]), Reading(unit="year"))
    assert "more than once" in dataset.notes[0]
    assert dataset.timeline.ticks.tolist() == [0]


def test_seconds_over_a_century_need_64_bits():
    times = ["1920-01-01T00:00:01", "1970-01-01T00:00:00", "2020-01-01T00:00:00"]
    dataset = open_dataset(as_frame([("a", "r", "b", time) for time in times]))
    assert dataset.train.columns.dtype == np.int64
    assert dataset.timeline.last == "2020-01-01T00:00:00"


# A folder with train, valid and test.


@pytest.mark.parametrize("ending", ["txt", "tsv", "csv", "csv.gz"])
def test_a_folder_of_names_and_dates(tmp_path, ending):
    options = {"compression": "gzip"} if ending.endswith("gz") else {}
    folder = write_splits(tmp_path / "set", PARTS, ending, **options)
    dataset = open_dataset(folder)
    assert list(named(dataset).values()) == list(PARTS)
    assert (dataset.name, dataset.entities.names) == ("set", ENTITIES)


def test_a_folder_of_parquet(tmp_path):
    for name, rows in zip(("train", "valid", "test"), PARTS, strict=True):
        as_frame(rows).write_parquet(tmp_path / f"{name}.parquet")
    assert list(named(open_dataset(tmp_path)).values()) == list(PARTS)


@pytest.mark.parametrize("valid", ["val", "validation", "dev", "Valid"])
def test_other_names_of_the_valid_file(tmp_path, valid):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / "valid.txt").rename(folder / f"{valid}.txt")
    assert len(open_dataset(folder).valid) == 5


def test_a_folder_with_header(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS, "csv", separator=",", include_header=True)
    assert list(named(open_dataset(folder)).values()) == list(PARTS)


@pytest.mark.parametrize("seed", [0, 1])
def test_ids_with_listing_and_names_give_the_same(tmp_path, seed):
    entities = random.Random(seed).sample(ENTITIES, 4)
    relations = random.Random(seed).sample(RELATIONS, 2)
    parts = [as_ids(rows, entities, relations) for rows in PARTS]
    by_id = write_splits(tmp_path / "ids", parts)
    write_listing(by_id, entities, relations)
    by_name = write_splits(tmp_path / "names", PARTS)
    first = open_dataset(by_id, Reading(origin="2014-01-01"))
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


def test_duplicates_and_overlaps_of_a_folder_are_kept_and_noted(tmp_path):
    parts = (PARTS[0] + PARTS[0][:2], PARTS[1] + PARTS[0][:1], PARTS[2] + PARTS[1][:3])
    dataset = open_dataset(write_splits(tmp_path / "set", parts))
    assert list(named(dataset).values()) == list(parts)
    assert dataset.notes == (
        "2 facts stand more than once in train; kept as published",
        "1 facts of valid stand in an earlier split too: their answers leak into training; "
        "kept as published",
        "3 facts of test stand in an earlier split too: their answers leak into training; "
        "kept as published",
    )


def test_a_clean_folder_needs_no_note(tmp_path):
    assert open_dataset(write_splits(tmp_path / "set", PARTS)).notes == ()


# Bad folders.


@pytest.mark.parametrize("split", SPLITS)
def test_a_folder_without_one_of_its_files(tmp_path, split):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / f"{split}.txt").unlink()
    assert f"{folder} has no file for the {split} split" in complaint(folder)


def test_a_folder_with_two_files_for_a_split(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / "test.csv").write_text("")
    assert "has 2 files for the test split" in complaint(folder)


def test_a_folder_named_like_a_file(tmp_path):
    (tmp_path / "x.csv").mkdir()
    assert "x.csv has no file for the train split" in complaint(tmp_path / "x.csv")


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
    last = 1 if role == "relation" else 3
    assert complaint(folder) == (
        f"test.txt, row 2: {role} id {bad} is out of range; the listing has ids 0 to {last}"
    )


def test_a_name_that_is_not_listed(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    write_listing(folder, [*ENTITIES[1:], "Anne"])
    assert complaint(folder) == "entity 'Ann' is not in this graph; did you mean 'Anne'?"


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("", "entity2id.txt lists no names"),
        ("Ann 0\n", "entity2id.txt, line 1: a name, a tab and an id were expected"),
        ("Ann\t0\nBob\tone\n", "entity2id.txt, line 2: a name, a tab and an id"),
        ("Ann\t0\nBob\t²\n", "entity2id.txt, line 2: a name, a tab and an id"),
        ("Ann\t" + "9" * 5000, "entity2id.txt, line 1: a name, a tab and an id"),
        ("Ann\t0\nBob\t-1\n", "entity2id.txt, line 2: a name, a tab and an id"),
        ("Ann\t0\nBob\t0\n", "entity2id.txt, line 2: id 0 was given before"),
        ("Ann\t0\nBob\t2\n", "entity2id.txt: the ids do not run from 0 to 1"),
        ("Ann\t0\nBob\t1\nAnn\t2\n", "entity2id.txt: the name 'Ann' stands for two ids"),
    ],
)
def test_a_bad_listing(tmp_path, listing, expected):
    folder = write_splits(tmp_path / "set", [as_ids(rows, ENTITIES, RELATIONS) for rows in PARTS])
    write_listing(folder)
    (folder / "entity2id.txt").write_text(listing, encoding="utf-8")
    assert expected in complaint(folder)


def test_a_listing_that_is_not_utf8(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / "entity2id.txt").write_bytes("Zoë\t0\n".encode("latin-1"))
    assert "entity2id.txt" in complaint(folder)


def test_a_bad_date_is_found_in_its_own_file(tmp_path):
    rows = [*PARTS[2], ("Ann", "meets", "Bob", "2014-02-30")]
    folder = write_splits(tmp_path / "set", [*PARTS[:2], rows])
    assert complaint(folder).startswith(
        "test.txt: times that are no dates of the calendar: row 6 ('2014-02-30')"
    )


def test_files_with_different_forms_of_time(tmp_path):
    rows = [("Ann", "meets", "Bob", "17")]
    sentence = complaint(write_splits(tmp_path / "set", [*PARTS[:2], rows]))
    assert "train.txt, valid.txt, test.txt: times of different forms: a whole number" in sentence


def test_files_with_different_types_of_time(tmp_path):
    for name, rows in zip(SPLITS, PARTS, strict=True):
        as_frame(rows).write_parquet(tmp_path / f"{name}.parquet")
    as_frame(PARTS[2]).with_columns(time=pl.lit(17)).write_parquet(tmp_path / "test.parquet")
    assert "the times differ in kind: String in train.parquet" in complaint(tmp_path)


def test_an_empty_file_in_a_folder(tmp_path):
    folder = write_splits(tmp_path / "set", PARTS)
    (folder / "valid.txt").write_text("")
    assert "valid.txt is empty" in complaint(folder)


# Names.


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("icews41", "no data set, folder or file 'icews41'; did you mean 'icews14'?"),
        ("Congress", "did you mean 'congress'?"),
        ("quite another", "'targcn data list' shows the named sets"),
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


def test_a_wrong_set_under_a_published_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TARGCN_DATA", str(tmp_path))
    write_splits(tmp_path / "icews14", PARTS)
    sentence = complaint("icews14")
    assert f"{tmp_path / 'icews14'} is not icews14: (30, 5, 5) facts of 4 entities" in sentence
    assert "(72826, 8941, 8963) of 7128" in sentence


@pytest.fixture
def small_gdelt(monkeypatch, tmp_path):
    """GDELT's place in the catalogue, with the counts of a generated set."""
    small = replace(CATALOG["gdelt"], num_facts=(30, 5, 5), num_entities=4)
    monkeypatch.setattr(opening, "CATALOG", {**CATALOG, "gdelt": small})
    monkeypatch.setenv("TARGCN_DATA", str(tmp_path))
    days = {f"2014-01-{day:02}": f"2015-04-{day:02}" for day in range(1, 31)}
    return [[(*row[:3], days[row[3]]) for row in rows] for rows in PARTS]


def test_gdelt_as_names_and_dates(tmp_path, small_gdelt):
    write_splits(tmp_path / "gdelt", small_gdelt)
    dataset = open_dataset("gdelt")
    assert list(named(dataset).values()) == small_gdelt
    assert (dataset.timeline.unit, dataset.timeline.first) == ("day", "2015-04-01")


@pytest.mark.parametrize("listing", [True, False])
def test_gdelt_as_ids(tmp_path, small_gdelt, listing):
    by_name = open_dataset(write_splits(tmp_path / "names", small_gdelt))
    write_splits(tmp_path / "gdelt", [as_ids(rows, ENTITIES, RELATIONS) for rows in PARTS])
    if listing:
        write_listing(tmp_path / "gdelt")
    dataset = open_dataset("gdelt")
    assert columns(dataset) == columns(by_name)
    assert dataset.timeline.first == "2015-04-01"


@needs_data
@pytest.mark.parametrize(
    ("name", "last"), [("icews14", "2014-12-31"), ("icews05-15", "2015-12-31")]
)
def test_a_published_set(monkeypatch, name, last):
    monkeypatch.setenv("TARGCN_DATA", str(DATA))
    dataset, published = open_dataset(name), CATALOG[name]
    assert tuple(len(dataset.splits[split]) for split in SPLITS) == published.num_facts
    assert len(dataset.entities) == published.num_entities
    assert len(dataset.relations) == published.num_relations
    assert len(dataset.timeline.ticks) == published.num_times
    assert (dataset.timeline.unit, dataset.timeline.first, dataset.timeline.last) == (
        "day",
        published.origin,
        last,
    )


@needs_data
def test_a_published_set_as_ids_and_as_names_is_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("TARGCN_DATA", str(DATA))
    by_id = open_dataset("icews14")
    (tmp_path / "icews14").mkdir()
    for split, facts in by_id.splits.items():
        dates = np.datetime64("2014-01-01") + facts.times
        entities, relations = np.array(by_id.entities.names), np.array(by_id.relations.names)
        pl.DataFrame(
            [entities[facts.subjects], relations[facts.relations], entities[facts.objects], dates]
        ).write_csv(tmp_path / "icews14" / f"{split}.txt", separator="\t", include_header=False)
    monkeypatch.setenv("TARGCN_DATA", str(tmp_path))
    by_name = open_dataset("icews14")
    for split in SPLITS:
        assert np.array_equal(by_id.splits[split].columns, by_name.splits[split].columns)
    assert (by_id.entities, by_id.relations) == (by_name.entities, by_name.relations)


# What is settled already.


@pytest.mark.parametrize(
    "reading", [Reading(split="time"), Reading(unit="year"), Reading(time="x")]
)
def test_a_prepared_folder_is_not_read_in_another_way(tmp_path, reading):
    open_dataset(as_frame(ROWS)).save(tmp_path / "set")
    with pytest.raises(InputError, match="set is prepared, its columns, times and splits are"):
        open_dataset(tmp_path / "set", reading)


@pytest.mark.parametrize("reading", [Reading(split="time"), Reading(split_seed=1)])
def test_a_folder_of_splits_is_not_split_in_another_way(tmp_path, reading):
    folder = write_splits(tmp_path / "set", [ROWS[:30], ROWS[30:35], ROWS[35:]])
    with pytest.raises(InputError, match="set comes with splits of its own; leave out --split"):
        open_dataset(folder, reading)


# A machine without polars.


def test_a_prepared_folder_opens_without_polars(tmp_path):
    open_dataset(as_frame(ROWS)).save(tmp_path / "set")
    program = (
        "import sys; sys.modules['polars'] = None\n"
        "from targcn.facts.opening import open_dataset\n"
        f"print(len(open_dataset({str(tmp_path / 'set')!r}).train))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("32\n", "")
