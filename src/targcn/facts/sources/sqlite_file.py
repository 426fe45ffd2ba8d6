"""A table or a query of an SQLite file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.cursors import frame_of_cursor, quote_name
from targcn.facts.sources.table_file import TableFile
from targcn.facts.sources.table_source import choose_table, first_line


class SqliteFile(TableFile):
    title = "an SQLite file (.sqlite .sqlite3 .db)"
    endings = (".sqlite", ".sqlite3", ".db")
    takes = ("table", "query")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        address = path.absolute().as_uri() + "?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as connection:
                # Views and triggers of the file may call none but harmless functions.
                connection.execute("PRAGMA trusted_schema = OFF")
                return frame_of_cursor(connection.execute(_query(connection, path, options)))
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
            raise InputError(f"{path.name}: {first_line(str(error))}") from None


def _query(connection: sqlite3.Connection, path: Path, options: ReadOptions) -> str:
    if options.query is not None:
        return options.query
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    table = choose_table([name for (name,) in found], "tables", path.name, options)
    return f"SELECT * FROM {quote_name(table)}"


SOURCE = SqliteFile()
