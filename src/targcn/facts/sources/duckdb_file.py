"""A table or a query of a DuckDB file."""

from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.cursors import frame_of_cursor, quote_name
from targcn.facts.sources.source import path_of
from targcn.facts.sources.table_file import TableFile
from targcn.facts.sources.table_source import choose_table, first_line


class DuckdbFile(TableFile):
    title = "a DuckDB file (.duckdb .db)"
    endings = (".duckdb", ".db")
    takes = ("table", "query")
    libraries, extra = ("duckdb",), "duckdb"

    def recognizes(self, source: object) -> bool:
        return super().recognizes(source) and (
            path_of(source).suffix.lower() == ".duckdb" or _is_duckdb(path_of(source))
        )

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        import duckdb

        try:
            with duckdb.connect(str(path), read_only=True) as connection:
                # A view of the file must not read other files.
                connection.execute("SET enable_external_access = false")
                query = options.query
                if query is None:
                    found = connection.execute(
                        "SELECT table_name FROM information_schema.tables "
                        "WHERE table_schema = 'main' ORDER BY 1"
                    ).fetchall()
                    names = [name for (name,) in found]
                    table = choose_table(names, "tables", path.name, options)
                    query = f"SELECT * FROM {quote_name(table)}"
                return frame_of_cursor(connection.execute(query))
        except duckdb.Error as error:
            raise InputError(f"{path.name}: {first_line(str(error))}") from None


def _is_duckdb(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(12)[8:] == b"DUCK"
    except OSError:
        return False


SOURCE = DuckdbFile()
