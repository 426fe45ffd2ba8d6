"""A table or a query of any database that SQLAlchemy knows, given by its address."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.cursors import BATCH_ROWS, frame_of_batches
from targcn.facts.sources.table_source import TableSource, choose_table, first_line

ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+]*://")


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
                plain = {"no_parameters": True, "yield_per": BATCH_ROWS}
                asking = connection.execution_options(**plain)
                with closing(asking.exec_driver_sql(query)) as result:
                    if not result.returns_rows:
                        raise InputError("--query gives no rows; write a SELECT")
                    return frame_of_batches(list(result.keys()), _batches(result))
        except sqlalchemy.exc.NoSuchModuleError:
            raise InputError(f"{label} is no kind of database that SQLAlchemy knows") from None
        except sqlalchemy.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise InputError(f"{label}: {first_line(str(cause))}") from None
        except ModuleNotFoundError as error:
            if error.name in self.libraries:
                raise
            raise InputError(
                f"{label} needs the driver {error.name}; the list of dialects in the manual of "
                "SQLAlchemy says what to install"
            ) from None


def _create_engine(address: str, label: str) -> Any:
    import sqlalchemy

    try:
        # Without a pool, no connection outlives its use.
        return sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    except ValueError as error:
        raise InputError(f"{label} is no address of a database: {error}") from None


def _whole_table(connection: Any, label: str, options: ReadOptions) -> str:
    import sqlalchemy

    found = sqlalchemy.inspect(connection)
    names = [*found.get_table_names(), *found.get_view_names()]
    quote = connection.dialect.identifier_preparer.quote_identifier
    if options.table and options.table not in names and "." in options.table:
        return f"SELECT * FROM {'.'.join(map(quote, options.table.split('.')))}"  # of a schema
    return f"SELECT * FROM {quote(choose_table(names, 'tables', label, options))}"


def _batches(result: Any) -> Iterator[list[tuple[Any, ...]]]:
    for rows in result.partitions():
        yield [tuple(row) for row in rows]


SOURCE = Database()
