"""Databases by their address: SQLite through SQLAlchemy, and a real PostgreSQL server."""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from small_tables import ROWS, complaint, read_table
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources import cursors, database

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


def rows_of(frame) -> list:
    return [(*row[:3], str(row[3])) for row in frame.rows()]


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
    for module in (cursors, database):
        monkeypatch.setattr(module, "BATCH_ROWS", 2)
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
