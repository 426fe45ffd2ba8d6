"""A table or a query of a database: an SQLite or DuckDB file, or whatever SQLAlchemy knows."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TableSource, choose_table, first_line

ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+]*://")
BATCH_ROWS: Final = 100_000
NO_ROWS: Final = "--query gives no rows; write a SELECT"


class DuckdbFile(TableSource):
    title = "a DuckDB file (.duckdb .db)"
    endings = (".duckdb", ".db")
    takes = ("table", "query")
    libraries, extra = ("duckdb",), "duckdb"

    def recognizes(self, source: object) -> bool:
        return super().recognizes(source) and (
            path_of(source).suffix.lower() == ".duckdb" or _is_duckdb(path_of(source))
        )

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        import duckdb

        path = path_of(source)
        names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                # A view of the file must not read other files.
                connection.execute("SET enable_external_access = false")
                return _select(connection, f"{names} ORDER BY 1", path, options)
        except duckdb.Error as error:
            raise InputError(f"{path.name}: {first_line(str(error))}") from None


class SqliteFile(TableSource):
    title = "an SQLite file (.sqlite .sqlite3 .db)"
    endings = (".sqlite", ".sqlite3", ".db")
    takes = ("table", "query")

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        address = path.absolute().as_uri() + "?mode=ro"
        names = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                # Views and triggers of the file may call none but harmless functions.
                connection.execute("PRAGMA trusted_schema = OFF")
                return _select(connection, names, path, options)
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
            raise InputError(f"{path.name}: {first_line(str(error))}") from None


class Database(TableSource):
    title = "the address of a database"
    takes = ("table", "query")
    libraries, extra = ("sqlalchemy", "psycopg"), "database"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str) and ADDRESS.match(source) is not None

    def label(self, source: object) -> str:
        # Without what may be a secret: all before the host, and the options.
        scheme, _, rest = str(source).partition("://")
        return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"

    def name_of(self, source: object) -> str:
        return re.split(r"[/\\]", self.label(source))[-1].split(".")[0] or "database"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        import sqlalchemy

        label = self.label(source)
        address = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", str(source))
        try:
            with _create_engine(address, label).connect() as connection:
                query = options.query or _whole_table(connection, label, options)
                # As it is written: neither : nor % stands for a value.
                plain = connection.execution_options(no_parameters=True, yield_per=BATCH_ROWS)
                with closing(plain.exec_driver_sql(query)) as result:
                    if not result.returns_rows:
                        raise InputError(NO_ROWS)
                    batches = ([tuple(row) for row in rows] for rows in result.partitions())
                    return _frame_of_batches(list(result.keys()), batches)
        except sqlalchemy.exc.NoSuchModuleError:
            raise InputError(f"{label} is no kind of database that SQLAlchemy knows") from None
        except sqlalchemy.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise InputError(f"{label}: {first_line(str(cause))}") from None


def _create_engine(address: str, label: str) -> Any:
    import sqlalchemy

    try:
        # Without a pool, no connection outlives its use.
        return sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    except ValueError as error:
        raise InputError(f"{label} is no address of a database: {error}") from None


def _is_duckdb(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(12)[8:] == b"DUCK"
    except OSError:
        return False


def _select(connection: Any, names: str, path: Path, options: ReadOptions) -> pl.LazyFrame:
    """What the query answers, or a whole table, of which another query gives the names."""
    query = options.query
    if query is None:
        tables = [name for (name,) in connection.execute(names).fetchall()]
        table = choose_table(tables, "tables", path.name, options)
        name = table.replace('"', '""')
        query = f'SELECT * FROM "{name}"'
    cursor = connection.execute(query)
    if cursor.description is None:
        raise InputError(NO_ROWS)
    batches = iter(lambda: cursor.fetchmany(BATCH_ROWS), [])
    return _frame_of_batches([column[0] for column in cursor.description], batches)


def _whole_table(connection: Any, label: str, options: ReadOptions) -> str:
    import sqlalchemy

    about = sqlalchemy.inspect(connection)
    names = [*about.get_table_names(), *about.get_view_names()]
    quote = connection.dialect.identifier_preparer.quote_identifier
    if options.table and options.table not in names and "." in options.table:
        return f"SELECT * FROM {'.'.join(map(quote, options.table.split('.')))}"  # of a schema
    return f"SELECT * FROM {quote(choose_table(names, 'tables', label, options))}"


def _frame_of_batches(names: list[str], batches: Iterable[Sequence[Sequence[Any]]]) -> pl.LazyFrame:
    """Batches of rows, in which a column may mix types as SQLite lets it, as one frame."""
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"--query gives two columns {repeated[0]!r}; name them apart with AS")
    frames = [
        pl.DataFrame(
            rows, schema=names, orient="row", infer_schema_length=None, strict=False
        ).with_columns(pl.col(pl.Object).map_elements(str, return_dtype=pl.String))
        for rows in batches
    ]
    return pl.concat(frames or [pl.DataFrame(schema=names)], how="vertical_relaxed").lazy()


SOURCES = (DuckdbFile(), SqliteFile(), Database())
