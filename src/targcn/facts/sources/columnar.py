"""Parquet files, Arrow files (Feather), and the streams that Hugging Face `datasets` keeps.

Before polars reads a Parquet file, the headers of its pages are looked at. A page says how many
values it holds. polars makes room for as many without a doubt, and where that is absurd, it ends
the whole process. What is looked at is a few bytes for every page.
"""

import mmap
from pathlib import Path
from typing import Any, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TableSource

# An Arrow file begins with this; what does not is a stream.
BEGINNING: Final = b"ARROW1"
MAGIC: Final = b"PAR1"
# The fields of Thrift structs that are read here, as parquet.thrift numbers them.
ROW_GROUPS: Final = 4  # of the file
COLUMNS: Final = 1  # of a row group
CHUNK: Final = 3  # of a column: what is known about its pages
NUM_VALUES, CHUNK_SIZE, DATA_OFFSET, DICTIONARY_OFFSET = 5, 7, 9, 11  # of a chunk
UNPACKED_SIZE, SIZE, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = 2, 3, 5, 7, 8  # of a page
# Numbers of values, nulls, rows and bytes, in the struct about a kind of page.
COUNTS: Final = (
    *((kind, 1) for kind in (DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2)),
    *((DATA_PAGE_2, count) for count in (2, 3, 5, 6)),
)
# What bytes raise that are no such structs, or are nested without end.
UNREADABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)


class Parquet(TableSource):
    title = "a Parquet file (.parquet)"
    endings = (".parquet",)

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        return scan_parquet(path_of(source))


class ArrowFile(TableSource):
    title = "an Arrow file (.arrow .feather .ipc)"
    endings = (".arrow", ".feather", ".ipc")

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        with path.open("rb") as stream:
            is_stream = stream.read(len(BEGINNING)) != BEGINNING
        return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path)


def scan_parquet(paths: Path | list[Path], **how: Any) -> pl.LazyFrame:
    """`pl.scan_parquet` of files whose pages have been looked at."""
    for path in [paths] if isinstance(paths, Path) else paths:
        require_sound_pages(path)
    return pl.scan_parquet(paths, **how)


def require_sound_pages(path: Path) -> None:
    """Refuse a file with a page that claims what cannot be; polars says what else is wrong."""
    with path.open("rb") as stream:
        try:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):
            return
        with content:
            try:
                chunks = _find_chunks(content)
            except UNREADABLE:
                return
            try:
                for chunk in chunks:
                    _check_pages(chunk, content)
            except UNREADABLE:
                raise InputError(f"{path.name} is damaged; write or fetch it again") from None


def _find_chunks(content: mmap.mmap) -> list[dict[int, Any]]:
    """What the end of a file says about its chunks of pages."""
    size = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != MAGIC or size > len(content) - 8:
        return []
    about = Thrift(content, len(content) - 8 - size).struct()
    columns = [column for group in about[ROW_GROUPS] for column in group[COLUMNS]]
    # A column without this is in another file, which polars refuses.
    return [column[CHUNK] for column in columns if CHUNK in column]


def _check_pages(chunk: dict[int, Any], content: mmap.mmap) -> None:
    """Raise an error where the header of a page cannot be read or says what cannot be."""
    left, place = chunk[NUM_VALUES], chunk.get(DICTIONARY_OFFSET) or chunk[DATA_OFFSET]
    end = place + chunk[CHUNK_SIZE]
    while left > 0 and 0 <= place < min(end, len(content)):
        thrift = Thrift(content, place)
        header = thrift.struct()
        size, unpacked_size = header[SIZE], header[UNPACKED_SIZE]
        counts = [header[kind].get(which, 0) for kind, which in COUNTS if kind in header]
        # Each value of a dictionary takes a byte or more.
        num_words = header.get(DICTIONARY_PAGE, {}).get(1, 0)
        if min(size, unpacked_size, *counts) < 0 or num_words > unpacked_size:
            raise ValueError("a count that cannot be")
        left -= max(header.get(kind, {}).get(1, 0) for kind in (DATA_PAGE, DATA_PAGE_2))
        place = thrift.place + size
    if left < 0:
        raise ValueError("more values than the chunk has")


class Thrift:
    """A reader of Thrift's compact protocol: structs become dictionaries, by the field's number."""

    def __init__(self, content: mmap.mmap, place: int) -> None:
        self.content, self.place = content, place

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            fields[field] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                self.place += 8
                return None
            case 8:
                count = self._number()
                self.place += count
                return None
            case 9 | 10:
                return self._list()
            case 12:
                return self.struct()
        raise ValueError("of no kind that Parquet has")

    def _list(self) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        if count > len(self.content) - self.place:
            raise ValueError("longer than the file")
        # In a list, unlike in a struct, what is true or false takes a byte.
        kind = 3 if head & 15 in (1, 2) else head & 15
        return [self._value(kind) for _ in range(count)]

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("more than 64 bits")

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)


SOURCES = (Parquet(), ArrowFile())
