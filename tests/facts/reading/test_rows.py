"""Rows chosen by an expression or drawn for a look."""

import sqlite3
from datetime import date

import pandas as pd
import polars as pl
import pytest

from small_tables import FACTS, FRAME, HEADER, ROWS, as_bytes, as_frame, complaint, write_file
from targcn.errors import InputError
from targcn.facts.open import find_source, open_dataset
from targcn.facts.reading.options import ReadOptions

SCORED = FRAME.with_columns(
    score=pl.Series([1, 9, 10]), seen=pl.Series([date(2014, 1, day) for day in (1, 2, 5)])
)


def read(source: object, where: str | None = None, **options) -> list[tuple[str, ...]]:
    return find_source(source).read_table(source, ReadOptions(where=where, **options)).frame.rows()


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("relation != 'visits'", [1]),
        ("relation LIKE 'v%' AND time >= '2014-01-02'", [2]),
        ("\"object\" IN ('Bob', 'Zoë') OR score IS NULL", [0, 1]),
        ("score >= 9", [1, 2]),
        ("CAST(score AS INT) = 10", [2]),
        ("seen > '2014-01-01'", [1, 2]),
        ("seen > '2014-01-01' AND score < 10", [1]),
    ],
)
def test_one_expression_for_every_source(tmp_path, where, kept):
    with sqlite3.connect(tmp_path / "x.sqlite") as connection:
        connection.execute("CREATE TABLE facts (subject, relation, object, time, score, seen)")
        rows = SCORED.with_columns(pl.col("seen").cast(pl.String)).rows()
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?)", rows)
    sources = [
        SCORED,
        pd.DataFrame(SCORED.to_dict(as_series=False)).astype({"seen": "datetime64[s]"}),
        write_file(tmp_path, "x.csv", SCORED.write_csv()),
        write_file(tmp_path, "x.jsonl", SCORED.write_ndjson()),
        write_file(tmp_path, "x.parquet", as_bytes(SCORED.write_parquet)),
        tmp_path / "x.sqlite",
    ]
    for source in sources:
        assert read(source, where) == [ROWS[row] for row in kept], type(source)


def test_roles_are_known_by_their_own_names_too(tmp_path):
    path = write_file(tmp_path, "x.csv", SCORED.rename({"relation": "verb"}).write_csv())
    assert read(path, "relation = 'meets' AND verb = 'meets'") == [ROWS[1]]
    # Unless a column of that name is something else.
    other = SCORED.rename({"relation": "verb", "score": "relation"})
    assert read(other, "relation = 9", relation="verb") == [ROWS[1]]


def test_a_first_line_without_header(tmp_path):
    path = write_file(tmp_path, "x.csv", FRAME.write_csv(include_header=False))
    assert read(path, "relation = 'meets'") == [ROWS[1]]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("relation =", "--where 'relation =' is no SQL expression: "),
        ("relation = 'x'; DROP TABLE x", "is no SQL expression: "),
        ("relation = 'x' LIMIT 3", "is no SQL expression: "),
        ("colour = 1", "does not fit x.csv: there is no column 'colour' among subject, relation"),
        ("time > 17", "does not fit x.csv: cannot compare string with numeric type"),
        ("relation", "does not fit x.csv: it is not true or false for each row"),
        ("COUNT(*) > 1", "does not fit x.csv: it is not true or false for each row"),
        ("1 = 1", "does not fit x.csv: it is not true or false for each row"),
        ("relation = 'x'", "x.csv: --where \"relation = 'x'\" keeps none of 3 rows"),
    ],
)
def test_a_bad_expression(tmp_path, where, expected):
    path = write_file(tmp_path, "x.csv", SCORED.write_csv())
    assert expected in complaint(path, ReadOptions(where=where))


def test_what_was_kept_is_noted():
    table = as_frame(FACTS)
    dataset = open_dataset(table, ReadOptions(where="relation = 'meets'"))
    kept = sum(row[1] == "meets" for row in FACTS)
    assert dataset.notes[0] == f"--where kept {kept} of 40 rows"
    assert sum(map(len, dataset.splits.values())) == kept


def test_row_numbers_are_said_to_count_chosen_rows():
    holes = FRAME.with_columns(object=pl.Series(["Bob", None, ""]))
    sentence = complaint(holes, ReadOptions(where="relation = 'visits'"))
    assert sentence.startswith(
        "the frame (rows counted after --where): the object is missing in row 2"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"table": "a", "query": "b"}, "--table and --query name two tables"),
        ({"encoding": "latin-99"}, "encoding 'latin-99' is unknown"),
        ({"encoding": "base64"}, "encoding 'base64' is unknown"),
        ({"encoding": "a\0"}, "is unknown"),
    ],
)
def test_options_that_cannot_be(options, expected):
    with pytest.raises(InputError, match=expected):
        ReadOptions(**options)


def test_a_pandas_frame_is_converted_only_where_it_is_needed():
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(extra=[object(), [1], {}], score=[1, 2, 3])
    assert read(frame, "score = 2") == [ROWS[1]]


SPANS = FRAME.rename({"time": "valid from"}).with_columns(until=pl.Series(["2014", "2013", None]))


@pytest.mark.parametrize(
    ("where", "kept"),
    [("start >= '2014-01-02'", [1, 2]), ("until IS NULL", [2]), ("until > '2013'", [0])],
)
def test_starts_and_ends_in_expressions(where, kept):
    assert [row[:3] for row in read(SPANS, where)] == [ROWS[position][:3] for position in kept]


def test_a_role_that_the_table_does_not_have():
    problem = "there is no column 'time' among subject, relation, object, valid from, until"
    assert problem in complaint(SPANS, ReadOptions(where="time > '2014'"))
