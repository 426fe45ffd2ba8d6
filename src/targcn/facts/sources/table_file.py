"""A file that holds one table of facts: what the file formats share."""

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Final

import polars as pl

from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.copies import copy_as_utf8
from targcn.facts.sources.source import is_file, path_of
from targcn.facts.sources.table_source import TableSource
from targcn.memory import require_room

# Text is also read in these compressed forms.
COMPRESSIONS: Final[tuple[str, ...]] = (".gz", ".zst")


class TableFile(TableSource):
    """A file format, recognized by the ending of the file."""

    endings: ClassVar[tuple[str, ...]]
    compressions: ClassVar[tuple[str, ...]] = ()
    # Bytes of memory that reading takes, about, for each byte of the file.
    memory_per_byte: ClassVar[int] = 16

    @abstractmethod
    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        """The table as it is written, at least the columns that `needed_columns` names."""

    def recognizes(self, source: object) -> bool:
        known = [end + packed for end in self.endings for packed in ("", *self.compressions)]
        return is_file(source) and path_of(source).name.lower().endswith(tuple(known))

    def label(self, source: object) -> str:
        return path_of(source).name

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        require_room(path_of(source), self.memory_per_byte)
        return self.parse(path_of(source), options)


class TextFile(TableFile):
    """A file format that is text, and may be compressed."""

    compressions = COMPRESSIONS
    takes = ("encoding",)

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        if options.encoding is None:
            return super().read_columns(source, options)
        with TemporaryDirectory() as folder:
            plain = copy_as_utf8(path_of(source), Path(folder), options.encoding)
            return super().read_columns(plain, replace(options, encoding=None))

    def explain(self, source: object, message: str) -> str:
        if "utf-8" in message.lower() or "utf8" in message.lower():
            return explain_encoding(path_of(source))
        if "could not infer" in message or "empty reader" in message:
            return explain_empty(path_of(source))
        return super().explain(source, message)


def explain_empty(path: Path) -> str:
    return f"{path.name} is empty; a table of dated facts was expected"


def explain_encoding(path: Path) -> str:
    line = find_bad_line(path)
    place = f" (line {line})" if line else ""
    return (
        f"{path.name} is not UTF-8 text{place}; save it as UTF-8, or name its encoding, such as "
        "--encoding latin-1"
    )


def find_bad_line(path: Path) -> int | None:
    """The first line of an uncompressed file that is not UTF-8, if there is one."""
    if path.suffix.lower() in COMPRESSIONS:
        return None
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def read_lines(path: Path, limit: int | None = None) -> pl.Series:
    """The first lines of a text that may be compressed; those that are blank may be null."""
    frame = pl.read_csv(
        path,
        has_header=False,
        separator="\x1f",
        quote_char=None,
        n_rows=limit,
        infer_schema=False,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
        raise_if_empty=False,
    )
    return frame.to_series() if frame.width else pl.Series([], dtype=pl.String)
