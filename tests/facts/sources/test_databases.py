"""Tables and queries of SQLite and DuckDB files, and of databases by their address.

The addresses are those of SQLite through SQLAlchemy, and of a real PostgreSQL server.
"""

import os
import pwd
import shutil
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

TABLES = (
    "CREATE TABLE facts (subject TEXT, relation TEXT, object TEXT, time TEXT)",
    'CREATE TABLE "of two" (s TEXT, r TEXT, o TEXT, day DATE)',
)
CONNECT = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}
FILES = ["x.sqlite", "x.duckdb", "duck.db"]


def kind_of(path) -> str:
    return "duckdb" if path.stem == "duck" or path.suffix == ".duckdb" else "sqlite"


def run(path, *commands: str, rows=()) -> None:
    """Run commands in a file; the last one with each of some rows."""
    with closing(CONNECT[kind_of(path)](str(path))) as connection:
        for command in commands[: len(commands) - bool(rows)]:
            connection.execute(command)
        if rows:
            connection.executemany(commands[-1], rows)
        if kind_of(path) == "sqlite":
            connection.commit()


def rows_of(frame) -> list:
    return [(*row[:3], str(row[3])) for row in frame.rows()]


def find_program(name: str) -> str | None:
    """A program of PostgreSQL, which Debian keeps outside of the path."""
    known = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(known[-1]) if known else None)


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
    folder = tempfile.mkdtemp(prefix="targcn-postgresql-")
    shutil.chown(folder, user)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    data = f"{folder}/data"
    try:
        run(initdb, "-D", data, "-U", "me", "--auth=trust", "-E", "UTF8", "--no-sync")
        # A socket in its folder, as another program may take any port meanwhile.
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run(control, "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "-t", "1200", "start")
        try:
            address = f"postgresql://me:secret@/postgres?host={folder}"
            _fill(address)
            yield address
        finally:
            run(control, "-D", data, "-m", "immediate", "-w", "-t", "1200", "stop")
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


@pytest.fixture(params=[*FILES, "address", "server"])
def source(request, tmp_path):
    """A file, or an address, with two tables."""
    if request.param == "server":
        return request.getfixturevalue("server")
    path = tmp_path / (request.param if request.param in FILES else FILES[0])
    for table, name in zip(TABLES, ("facts", '"of two"'), strict=True):
        run(path, table, f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows=ROWS)
    return path if request.param in FILES else f"sqlite:///{path}"


def test_a_table_gives_its_rows(source):
    assert read_table(source, ReadOptions(table="facts")).rows() == ROWS
    assert rows_of(read_table(source, ReadOptions(table="of two"))) == ROWS
    dataset = open_dataset(source, ReadOptions(table="of two"))
    assert dataset.timeline.first == "2014-01-01"
    assert dataset.name in ("x", "duck", "postgres")


def test_a_query_is_taken_as_it_is_written(source):
    query = (
        "SELECT subject, relation, object AS whom, time FROM facts "
        "WHERE relation LIKE 'v%' AND object <> ':x' ORDER BY time"
    )
    assert read_table(source, ReadOptions(query=query, object="whom")).rows() == [ROWS[0], ROWS[2]]


def test_rows_come_in_batches(source, monkeypatch):
    monkeypatch.setattr(databases, "BATCH_ROWS", 2)
    assert sorted(read_table(source, ReadOptions(table="facts")).rows()) == sorted(ROWS)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "holds 2 tables: 'facts', 'of two'; choose one with --table"),
        ({"table": "missing"}, "has no 'missing' among its tables"),
        ({"table": "x.missing"}, "x.missing"),
        ({"query": "SELECT * FROM missing"}, "missing"),
        ({"query": "SELEKT"}, "syntax error"),
        ({"query": "SELECT 1 AS a, 2 AS a"}, "--query gives two columns 'a'; name them apart with"),
        ({"query": "SELECT 1 AS a"}, "no column for the subject, relation, object, time among 'a'"),
        ({"query": "SELECT * FROM facts WHERE 1 = 0"}, "has columns but no facts"),
        ({"query": "DELETE FROM facts"}, ""),
    ],
)
def test_what_gives_no_facts(source, options, expected):
    sentence = complaint(source, ReadOptions(**options))
    assert expected in sentence
    assert "secret" not in sentence
    assert len(read_table(source, ReadOptions(table="facts"))) == 3


@pytest.mark.parametrize("name", FILES)
def test_the_only_table_of_a_file_may_have_any_name(tmp_path, name):
    path = tmp_path / name
    table = TABLES[0].replace("facts", '"the ""facts"""')
    run(path, table, 'INSERT INTO "the ""facts""" VALUES (?, ?, ?, ?)', rows=ROWS)
    assert type(recognize(path)).__name__.removesuffix("File").lower() == kind_of(path)
    assert read_table(path).rows() == ROWS
    run(path, 'CREATE VIEW late AS SELECT * FROM "the ""facts""" WHERE time > \'2014-01-01\'')
    assert complaint(path) == (
        f"{name} holds 2 tables: 'late', 'the \"facts\"'; choose one with --table"
    )
    assert read_table(path, ReadOptions(table="late")).rows() == ROWS[1:]


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
        (
            "oracle+oracledb://me:secret@x",
            "oracle+oracledb://x needs oracledb, which is not installed",
        ),
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
