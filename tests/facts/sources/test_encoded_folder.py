"""A folder of ids that another program wrote: DuckDB, with nothing of this package."""

import json

import polars as pl
import pytest

from small_tables import FACTS, PARTS, as_frame, complaint, named
from targcn.facts.dataset import SPLITS
from targcn.facts.open import open_dataset

duckdb = pytest.importorskip("duckdb")

# What a warehouse would run; ids in whatever order.
WRITE = """
CREATE TABLE facts AS SELECT * FROM read_csv('{source}', all_varchar = true);
CREATE TABLE entities AS SELECT row_number() OVER () - 1 AS id, name
  FROM (SELECT DISTINCT subject AS name FROM facts UNION SELECT object FROM facts);
CREATE TABLE relations AS SELECT row_number() OVER () - 1 AS id, relation AS name
  FROM (SELECT DISTINCT relation FROM facts);
CREATE TABLE ids AS SELECT split, s.id AS subject, r.id AS relation, o.id AS object,
    date_diff('day', DATE '2014-01-01', CAST(time AS DATE)) AS time
  FROM facts JOIN entities s ON s.name = subject JOIN entities o ON o.name = object
    JOIN relations r ON r.name = relation;
COPY entities TO '{folder}/entities.parquet';
COPY relations TO '{folder}/relations.parquet';
COPY (SELECT * EXCLUDE split FROM ids WHERE split = 'train')
  TO '{folder}/train.parquet' (FORMAT parquet, PER_THREAD_OUTPUT);
COPY (SELECT * EXCLUDE split FROM ids WHERE split = 'valid') TO '{folder}/valid.parquet';
COPY (SELECT * EXCLUDE split FROM ids WHERE split = 'test') TO '{folder}/test.parquet';
COPY (SELECT 'facts' AS name, 'day' AS unit, '2014-01-01' AS start)
  TO '{folder}/encoded.json' (FORMAT json);
"""


@pytest.fixture
def folder(tmp_path):
    frames = [
        as_frame(rows).with_columns(split=pl.lit(split))
        for split, rows in zip(SPLITS, PARTS, strict=True)
    ]
    pl.concat(frames).write_csv(tmp_path / "facts.csv")
    found = tmp_path / "encoded"
    found.mkdir()
    with duckdb.connect() as connection:
        connection.execute(WRITE.format(source=tmp_path / "facts.csv", folder=found))
    return found


def test_what_duckdb_wrote_is_read_as_the_same_facts(folder):
    dataset, expected = open_dataset(folder), open_dataset(as_frame(FACTS))
    assert (folder / "train.parquet").is_dir()
    assert [*dataset.entities] == [*expected.entities]
    assert [*dataset.relations] == [*expected.relations]
    assert dataset.timeline.first == expected.timeline.first
    assert dataset.timeline.ticks.tolist() == expected.timeline.ticks.tolist()
    for split, rows in zip(SPLITS, PARTS, strict=True):
        assert sorted(named(dataset)[split]) == sorted(rows)


def test_a_folder_with_train_alone(folder):
    for split in ("valid", "test"):
        (folder / f"{split}.parquet").unlink()
    assert [len(open_dataset(folder).splits[split]) for split in SPLITS] == [30, 0, 0]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("entities", pl.col("id") + 1, "the ids of entities should be 0 to 3, once"),
        ("entities", pl.lit("Ann").alias("name"), "every id of entities needs a name of its own"),
        (
            "relations",
            pl.col("name") + " ",
            "every id of relations needs a name of its own, in NFC and without outer",
        ),
        ("valid", pl.col("subject") + 9, "a subject of valid of encoded is not among the ids"),
        ("test", pl.col("time") - 99, "a time of test of encoded is below 0"),
        ("test", pl.col("time").cast(pl.String), "time of test should be whole numbers"),
        ("test", pl.col("time").alias("day"), None),
    ],
)
def test_what_does_not_fit(folder, name, change, said):
    path = folder / f"{name}.parquet"
    frame = pl.read_parquet(path).with_columns(change)
    (frame if said else frame.drop("time")).write_parquet(path)
    assert (said or "test.parquet with the columns subject, relation") in complaint(folder)


@pytest.mark.parametrize("content", ["[", "{}", '{"name": "x", "unit": "eon", "start": 1}'])
def test_a_manifest_that_does_not_fit(folder, content):
    (folder / "encoded.json").write_text(content)
    assert "encoded.json" in complaint(folder)


def test_plain_steps(folder):
    (folder / "encoded.json").write_text(json.dumps({"name": "x", "unit": "step", "start": 7}))
    assert open_dataset(folder).timeline.first == "7"
