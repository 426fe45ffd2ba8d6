"""Tables and queries of DuckDB files."""

import duckdb
import pytest

from small_tables import ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset, recognize
from targcn.facts.reading.options import ReadOptions


@pytest.fixture(params=["x.duckdb", "x.db"])
def path(request, tmp_path):
    path = tmp_path / request.param
    run(path, "CREATE TABLE facts (subject TEXT, relation TEXT, object TEXT, time DATE, id UUID)")
    with duckdb.connect(str(path)) as connection:
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, uuid())", ROWS)
    return path


def run(path, query: str) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(query)


def rows_of(frame) -> list:
    return [(*row[:3], str(row[3])) for row in frame.rows()]


def test_the_only_table_gives_its_rows(path):
    assert type(recognize(path)).__name__ == "DuckdbFile"
    assert rows_of(read_table(path)) == ROWS
    assert open_dataset(path).timeline.first == "2014-01-01"


def test_a_query_or_a_table(path):
    run(path, "CREATE VIEW late AS SELECT * FROM facts WHERE time > DATE '2014-01-01'")
    assert f"{path.name} holds 2 tables: 'facts', 'late'; choose" in complaint(path)
    assert rows_of(read_table(path, ReadOptions(table="late"))) == ROWS[1:]
    query = "SELECT *, CAST(id AS TEXT) FROM facts WHERE relation = 'meets'"
    assert rows_of(read_table(path, ReadOptions(query=query))) == ROWS[1:2]


def test_a_column_of_another_type_is_text(path):
    frame = read_table(path, ReadOptions(subject="id"))
    assert frame["subject"].str.len_chars().to_list() == [36] * 3


def test_a_view_of_the_file_reads_no_other_file(path, tmp_path):
    secret = write_file(tmp_path, "secret.csv", "subject,relation,object,time\na,b,c,2014\n")
    run(path, f"CREATE VIEW spy AS SELECT * FROM read_csv('{secret}')")
    assert "Permission Error" in complaint(path, ReadOptions(table="spy"))


@pytest.mark.parametrize(
    "query", ["SELECT", "SELECT * FROM missing", "DELETE FROM facts", "SELECT * FROM 'x.csv'"]
)
def test_a_query_that_gives_no_facts(path, query):
    assert complaint(path, ReadOptions(query=query)).startswith(f"{path.name}: ")
    assert rows_of(read_table(path)) == ROWS


def test_a_file_that_is_no_database(tmp_path):
    assert "bad.duckdb: " in complaint(write_file(tmp_path, "bad.duckdb", "nonsense" * 999))
