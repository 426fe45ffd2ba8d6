"""A source that holds one table of facts: what files, frames, databases and addresses share."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.reading.encode import encode_table
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable, check_cells, choose_rows
from targcn.facts.sources.source import Source

# Options that only some sources take; no source ignores one of them.
SPECIAL_OPTIONS: Final = ("table", "query", "encoding")


class TableSource(Source):
    """One table; a library that not everybody has is imported inside `load`."""

    # Which of the special options it takes.
    takes: ClassVar[tuple[str, ...]] = ()
    # The libraries that it imports, and the extra of this package that brings them.
    libraries: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    @abstractmethod
    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        """The table as it is written, at least the columns that `needed_columns` names."""

    @abstractmethod
    def label(self, source: object) -> str:
        """What messages call this source; a password never stands in it."""

    def name_of(self, source: object) -> str:
        """The name of the data set."""
        return self.label(source).split(".")[0]

    def notes_of(self, source: object) -> tuple[str, ...]:
        """What a user should know about how the source was read."""
        return ()

    def explain(self, source: object, message: str) -> str:
        """One sentence for the user, given what polars says about a table it cannot read."""
        return f"{self.label(source)} cannot be read: {first_line(message)}"

    def read(self, source: object, options: ReadOptions) -> Dataset:
        return encode_table(self.name_of(source), self.read_table(source, options), options)

    def read_table(self, source: object, options: ReadOptions) -> FactTable:
        """The facts, every cell filled."""
        table = self.read_columns(source, options)
        checked = check_cells(table.frame, table.where, options)
        return replace(checked, notes=table.notes + checked.notes)

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        """The four columns as they are written, or an InputError that says why there are none."""
        label = self.label(source)
        for option in SPECIAL_OPTIONS:
            if getattr(options, option) is not None and option not in self.takes:
                raise InputError(
                    f"{label} is {self.title}, which takes no --{option}; leave it out"
                )
        try:
            table = choose_rows(self.load(source, options), label, options)
        except ModuleNotFoundError as error:
            ours = error.name in self.libraries
            package = f'"targcn[{self.extra}]"' if ours else error.name
            raise InputError(
                f"reading {label} needs {error.name}, which is not installed; run 'pip install "
                f"{package}'"
            ) from error
        except OSError as error:
            reason = error.strerror or first_line(str(error)).split(" (os error")[0]
            raise InputError(f"cannot read {label}: {reason}") from None
        except pl.exceptions.PolarsError as error:
            raise InputError(self.explain(source, str(error) or type(error).__name__)) from None
        except pl.exceptions.PanicException as error:
            if any(sign in str(error) for sign in ("memory", "thread", "alloc", "Resource")):
                raise InputError(f"cannot read {label}: there is not enough memory") from None
            # polars gave up on a damaged file
            raise InputError(f"{label} is damaged; write or fetch it again") from None
        return replace(table, notes=self.notes_of(source) + table.notes)


def choose_table(names: Sequence[str], what: str, where: str, options: ReadOptions) -> str:
    """The table that --table names, or the only one.

    >>> choose_table(["facts"], "tables", "x.sqlite", ReadOptions())
    'facts'
    >>> choose_table(["a", "b"], "sheets", "x.xlsx", ReadOptions())
    Traceback (most recent call last):
    targcn.errors.InputError: x.xlsx holds 2 sheets: 'a', 'b'; choose one with --table
    """
    if not names:
        raise InputError(f"{where} holds no {what}")
    listed = ", ".join(repr(name) for name in names[:12]) + (", …" if len(names) > 12 else "")
    if options.table is None and len(names) > 1:
        raise InputError(f"{where} holds {len(names)} {what}: {listed}; choose one with --table")
    if options.table not in (None, *names):
        raise InputError(f"{where} has no {options.table!r} among its {what}: {listed}")
    return options.table or names[0]


def first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "for an unknown reason")
