"""Tables and queries of SQLite and DuckDB files, and of databases by their address.

The addresses are those of SQLite through SQLAlchemy, and of a real PostgreSQL server.
"""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from small_tables import ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset, recognize
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources import databases

CONNECT = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}


def run(path, *commands: str, rows=()) -> None:
    """Run commands in a file; the last one with each of some rows."""
    with closing(CONNECT[kind_of(path)](str(path))) as connection:
        for command in commands[: len(commands) - bool(rows)]:
            connection.execute(command)
        if rows:
            connection.executemany(commands[-1], rows)
        if kind_of(path) == "sqlite":
            connection.commit()


def kind_of(path) -> str:
    return "duckdb" if path.stem == "duck" or path.suffix == ".duckdb" else "sqlite"


@pytest.fixture(params=["x.sqlite", "x.duckdb", "duck.db"])
def path(request, tmp_path):
    path = tmp_path / request.param
    columns = "subject TEXT, relation TEXT, object TEXT, time TEXT, day DATE, n INTEGER"
    rows = [(*row, row[3], number) for number, row in enumerate(ROWS)]
    table = 'TABLE "the ""facts"""'
    insert = 'INSERT INTO "the ""facts""" VALUES (?, ?, ?, ?, ?, ?)'
    run(path, f"CREATE {table} ({columns})", insert, rows=rows)
    return path


def rows_of(frame) -> list:
    return [(*row[:3], str(row[3])) for row in frame.rows()]


def test_the_only_table_of_a_file_gives_its_rows(path):
    assert type(recognize(path)).__name__.removesuffix("File").lower() == kind_of(path)
    options = ReadOptions(time="day")
    assert rows_of(read_table(path, options)) == ROWS
    dataset = open_dataset(path, options)
    assert (dataset.name, dataset.timeline.first) == (path.stem, "2014-01-01")


def test_several_tables_of_a_file(path):
    run(
        path,
        "CREATE TABLE other (a INTEGER)",
        'CREATE VIEW late AS SELECT * FROM "the ""facts""" WHERE n > 0',
    )
    assert complaint(path) == (
        f"{path.name} holds 3 tables: 'late', 'other', 'the \"facts\"'; choose one with --table"
    )
    for table, rows in (('the "facts"', ROWS), ("late", ROWS[1:])):
        assert rows_of(read_table(path, ReadOptions(table=table, time="day"))) == rows
    assert f"{path.name} has no 'missing' among its tables" in complaint(
        path, ReadOptions(table="missing")
    )


def test_a_query_of_a_file(path):
    query = 'SELECT subject, relation, object AS whom, time FROM "the ""facts""" WHERE n < 2'
    assert read_table(path, ReadOptions(query=query, object="whom")).rows() == ROWS[:2]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT", "{}: "),
        ("SELECT * FROM missing", "{}: "),
        ("SELECT * FROM 'x.csv'", "{}: "),
        ('DELETE FROM "the ""facts"""', "{}: "),
        ("SELECT 1 AS a, 2 AS a", "--query gives two columns 'a'; name them apart with AS"),
        ("SELECT 1 AS a", "no column for the subject, relation, object, time among 'a'"),
        ('SELECT time, * FROM "the ""facts""" WHERE n > 7', "two columns 'time'"),
        (
            'SELECT subject, relation, object, time FROM "the ""facts""" WHERE n > 7',
            "{} has columns but no facts",
        ),
    ],
)
def test_a_query_of_a_file_that_gives_no_facts(path, query, expected):
    assert expected.format(path.name) in complaint(path, ReadOptions(query=query))
    assert rows_of(read_table(path, ReadOptions(time="day"))) == ROWS


@pytest.mark.parametrize("name", ["bad.db", "bad.duckdb"])
def test_a_file_that_is_no_database(tmp_path, name):
    assert f"{name}: " in complaint(write_file(tmp_path, name, "nonsense" * 999))


@pytest.mark.parametrize("query", ["SELECT 1; SELECT 2", "PRAGMA user_version = 3"])
def test_commands_that_sqlite_refuses(tmp_path, query):
    run(tmp_path / "x.db", "CREATE TABLE a (b)")
    assert complaint(tmp_path / "x.db", ReadOptions(query=query)).startswith("x.db: ")


def test_a_column_of_sqlite_may_mix_types(tmp_path):
    rows = [*ROWS, (7, "meets", 2.5, 2014)]
    create = "CREATE TABLE facts (subject, relation, object, time)"
    run(tmp_path / "x.db", create, "INSERT INTO facts VALUES (?, ?, ?, ?)", rows=rows)
    assert read_table(tmp_path / "x.db").rows()[-1] == ("7", "meets", "2.5", "2014")
    odd = (tmp_path / "x.db").rename(tmp_path / "a b?mode=rwc#c%20.sqlite")
    assert read_table(odd).rows()[:3] == ROWS


def test_sqlite_without_a_table(tmp_path):
    run(tmp_path / "x.db", "CREATE TABLE a (b)", "DROP TABLE a")
    assert complaint(tmp_path / "x.db") == "x.db holds no tables"


def test_a_view_of_duckdb_reads_no_other_file(tmp_path):
    secret = write_file(tmp_path, "secret.csv", "subject,relation,object,time\na,b,c,2014\n")
    run(tmp_path / "x.duckdb", f"CREATE VIEW spy AS SELECT * FROM read_csv('{secret}')")
    assert "Permission Error" in complaint(tmp_path / "x.duckdb", ReadOptions(table="spy"))


def test_an_id_of_duckdb_is_text(tmp_path):
    columns = "subject UUID DEFAULT uuid(), relation TEXT, object TEXT, time DATE"
    insert = "INSERT INTO facts (relation, object, time) VALUES (?, ?, ?)"
    rows = [row[1:] for row in ROWS]
    run(tmp_path / "x.duckdb", f"CREATE TABLE facts ({columns})", insert, rows=rows)
    frame = read_table(tmp_path / "x.duckdb")
    assert frame["subject"].str.len_chars().to_list() == [36] * 3


TABLES = (
    "CREATE TABLE facts (subject TEXT, relation TEXT, object TEXT, time TEXT)",
    'CREATE TABLE "of two" (s TEXT, r TEXT, o TEXT, day DATE)',
)


@pytest.fixture
def sqlite(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection, connection:
        for table in TABLES:
            connection.execute(table)
        for table in ("facts", '"of two"'):
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", ROWS)
    return f"sqlite:///{tmp_path / 'x.db'}"


def find_program(name: str) -> str | None:
    """A program of PostgreSQL, which Debian keeps outside of the path."""
    known = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(known[-1]) if known else None)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    """The address of a PostgreSQL server with the tables, which lives as long as this module."""
    initdb, control = find_program("initdb"), find_program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("PostgreSQL is not installed here")
    # It refuses to run as root.
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    if user not in [entry.pw_name for entry in pwd.getpwall()]:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    folder, port = tempfile.mkdtemp(prefix="targcn-postgresql-"), free_port()
    shutil.chown(folder, user)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    data = f"{folder}/data"
    try:
        run(initdb, "-D", data, "-U", "me", "--auth=trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(control, "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            address = f"postgresql://me:secret@127.0.0.1:{port}/postgres"
            _fill(address)
            yield address
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(address: str) -> None:
    import psycopg

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA old")
        cursor.execute(
            "CREATE TABLE old.facts (subject TEXT, relation TEXT, object TEXT, "
            "time TIMESTAMPTZ, id UUID DEFAULT gen_random_uuid())"
        )
        for table in TABLES:
            cursor.execute(table)
        for table in ("facts", '"of two"', "old.facts (subject, relation, object, time)"):
            cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", ROWS)


@pytest.fixture(params=["sqlite", "server"])
def address(request):
    return request.getfixturevalue(request.param)


def test_a_table_gives_its_rows(address):
    assert read_table(address, ReadOptions(table="facts")).rows() == ROWS
    assert rows_of(read_table(address, ReadOptions(table="of two"))) == ROWS
    dataset = open_dataset(address, ReadOptions(table="of two"))
    assert dataset.timeline.first == "2014-01-01"
    assert dataset.name in ("x", "postgres")


def test_a_query_is_taken_as_it_is_written(address):
    query = "SELECT * FROM facts WHERE relation LIKE 'v%' AND object <> ':x' ORDER BY time"
    assert read_table(address, ReadOptions(query=query)).rows() == [ROWS[0], ROWS[2]]


def test_rows_come_in_batches(address, monkeypatch):
    monkeypatch.setattr(databases, "BATCH_ROWS", 2)
    assert sorted(read_table(address, ReadOptions(table="facts")).rows()) == sorted(ROWS)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "holds 2 tables: 'facts', 'of two'; choose one with --table"),
        ({"table": "missing"}, "has no 'missing' among its tables"),
        ({"table": "x.missing"}, "x.missing"),
        ({"query": "SELECT * FROM missing"}, "missing"),
        ({"query": "SELEKT"}, "syntax error"),
        ({"query": "SELECT 1 AS a, 2 AS a"}, "--query gives two columns 'a'"),
        ({"query": "SELECT * FROM facts WHERE 1 = 0"}, "has columns but no facts"),
    ],
)
def test_what_gives_no_facts(address, options, expected):
    sentence = complaint(address, ReadOptions(**options))
    assert expected in sentence
    assert "secret" not in sentence


def test_a_query_changes_nothing(address):
    complaint(address, ReadOptions(query="DELETE FROM facts"))
    assert len(read_table(address, ReadOptions(table="facts"))) == 3


def test_a_table_of_another_schema_with_moments_and_ids(server):
    frame = read_table(server, ReadOptions(table="old.facts", subject="id"))
    assert frame["subject"].str.len_chars().to_list() == [36] * 3
    assert open_dataset(server, ReadOptions(table="old.facts")).timeline.unit in ("day", "hour")


def test_the_short_name_of_postgresql(server):
    short = server.replace("postgresql://", "postgres://")
    assert read_table(short, ReadOptions(table="facts")).rows() == ROWS


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x: connection failed"),
        ("postgresql://me:secret@h:port/x", "postgresql://h:port/x is no address of a database"),
        ("nonsense://me:secret@x", "nonsense://x is no kind of database that SQLAlchemy knows"),
        ("mysql+nonsense://me:secret@x", "mysql+nonsense://x is no kind of database"),
        ("oracle+oracledb://me:secret@x", "oracle+oracledb://x needs the driver oracledb; the"),
        (
            "sqlite:////missing/x.db?mode=secret&uri=true",
            "sqlite:////missing/x.db: unable to open database",
        ),
    ],
)
def test_what_cannot_be_reached(address, expected):
    sentence = complaint(address)
    assert expected in sentence
    assert "secret" not in sentence
