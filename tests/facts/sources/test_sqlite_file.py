"""Tables and queries of SQLite files."""

import sqlite3
from contextlib import closing

import pytest

from small_tables import ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


@pytest.fixture
def path(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection, connection:
        connection.execute('CREATE TABLE "the ""facts""" (subject, relation, object, time, n)')
        rows = [(*row, number) for number, row in enumerate(ROWS)]
        connection.executemany('INSERT INTO "the ""facts""" VALUES (?, ?, ?, ?, ?)', rows)
    return tmp_path / "x.sqlite"


def run(path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)


def test_the_only_table_gives_its_rows(path):
    assert read_table(path).rows() == ROWS
    assert open_dataset(path).name == "x"


def test_several_tables(path):
    run(
        path,
        'CREATE TABLE other (a); CREATE VIEW late AS SELECT * FROM "the ""facts""" WHERE n > 0',
    )
    assert complaint(path) == (
        "x.sqlite holds 3 tables: 'late', 'other', 'the \"facts\"'; choose one with --table"
    )
    assert read_table(path, ReadOptions(table='the "facts"')).rows() == ROWS
    assert read_table(path, ReadOptions(table="late")).rows() == ROWS[1:]
    assert "x.sqlite has no 'missing' among its tables" in complaint(
        path, ReadOptions(table="missing")
    )


def test_a_query(path):
    query = 'SELECT subject, relation, object AS whom, time FROM "the ""facts""" WHERE n < 2'
    assert read_table(path, ReadOptions(query=query, object="whom")).rows() == ROWS[:2]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT", "x.sqlite: "),
        ("SELECT 1; SELECT 2", "x.sqlite: "),
        ("SELECT * FROM missing", "x.sqlite: no such table: missing"),
        ('DELETE FROM "the ""facts"""', "x.sqlite: attempt to write a readonly database"),
        ("PRAGMA user_version = 3", "x.sqlite: "),
        ("SELECT 1 AS a, 2 AS a", "--query gives two columns 'a'; name them apart with AS"),
        ("SELECT 1 AS a", "no column for the subject, relation, object, time among 'a'"),
        ('SELECT * FROM "the ""facts""" WHERE n > 7', "x.sqlite has columns but no facts"),
    ],
)
def test_a_query_that_gives_no_facts(path, query, expected):
    assert expected in complaint(path, ReadOptions(query=query))
    assert read_table(path).rows() == ROWS


def test_a_column_may_mix_types(path):
    run(path, 'INSERT INTO "the ""facts""" VALUES (7, \'meets\', 2.5, 2014, NULL)')
    assert read_table(path).rows()[-1] == ("7", "meets", "2.5", "2014")


def test_no_table(tmp_path):
    run(tmp_path / "x.db", "CREATE TABLE a (b); DROP TABLE a")
    assert complaint(tmp_path / "x.db") == "x.db holds no tables"


def test_a_file_that_is_no_database(tmp_path):
    assert complaint(write_file(tmp_path, "bad.db", "nonsense" * 999)) == (
        "bad.db: file is not a database"
    )


def test_names_with_signs_of_an_address(path):
    odd = path.rename(path.with_name("a b?mode=rwc#c%20.sqlite"))
    assert read_table(odd).rows() == ROWS
