"""A source that is first copied into a temporary file, and then read as what that file is."""

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import recognize
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.table_source import SPECIAL_OPTIONS, TableSource

# How files begin whose name does not say what they are.
BEGINNINGS: Final = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"SQLite format 3\0": ".sqlite",
    b"PK\x03\x04": ".zip",
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"[": ".json",
    b"{": ".jsonl",
}


class Spooled(TableSource):
    """The options are those of the file that it becomes."""

    takes = SPECIAL_OPTIONS

    @abstractmethod
    def copy_into(
        self, folder: Path, source: object, options: ReadOptions
    ) -> tuple[Path, ReadOptions]:
        """Write the file, under a name that says what it is; also the options that are left."""

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        with TemporaryDirectory() as folder:
            path, options = self.copy_into(Path(folder), source, options)
            if recognize(path) is None:
                path = path.rename(path.with_name(path.name + ending_of(path, options)))
            kind = recognize(path)
            # What is packed twice might be packed without end.
            if not isinstance(kind, TableSource) or type(kind) is type(self):
                raise InputError(f"{self.label(source)} holds {path.name}, which cannot be read")
            table = kind.read_columns(path, options)
        return replace(table, notes=self.notes_of(source) + table.notes)

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        return self.read_columns(source, options).frame.lazy()


def ending_of(path: Path, options: ReadOptions) -> str:
    """The ending that fits how a file begins, .csv for other text, and none for what is no text."""
    with path.open("rb") as stream:
        head = stream.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, ending in BEGINNINGS.items():
        if head.startswith(beginning):
            return ending
    return "" if b"\0" in head and options.encoding is None else ".csv"
