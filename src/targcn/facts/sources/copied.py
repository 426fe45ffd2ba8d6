"""Sources that are copied into a temporary file, and then read as what that file is.

They are packed tables, standard input and addresses of the web.
"""

import os
import sys
import zipfile
from abc import abstractmethod
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from targcn.errors import InputError
from targcn.facts.open import is_file, path_of, recognize
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.copies import (
    OPENERS,
    DownloadError,
    copy_blocks,
    download_blocks,
    read_blocks,
    safe_name,
)
from targcn.facts.sources.table_source import SPECIAL_OPTIONS, TableSource, choose_table
from targcn.output.terminal import say

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
ZIP: Final = ".zip"
TIMEOUT_SECONDS: Final = 30.0
# Where a copy is, and how it is read: with the options that are left.
Copy = tuple[Path, ReadOptions]


class Copied(TableSource):
    """The options are those of the file that it becomes."""

    takes = SPECIAL_OPTIONS

    @abstractmethod
    def copy_into(self, folder: Path, source: object, options: ReadOptions) -> Copy:
        """Write the file under a name that says what it is."""

    def select(self, source: object, options: ReadOptions) -> FactTable:
        with TemporaryDirectory() as folder:
            path, options = self.copy_into(Path(folder), source, options)
            if recognize(path) is None:
                path = path.rename(path.with_name(path.name + _ending_of(path, options)))
            kind = recognize(path)
            # What is packed twice might be packed without end.
            if not isinstance(kind, TableSource) or type(kind) is type(self):
                raise InputError(f"{self.label(source)} holds {path.name}, which cannot be read")
            return kind.read_columns(path, options)


class Packed(Copied):
    title = "a packed table (.zip .gz .bz2 .xz)"

    def recognizes(self, source: object) -> bool:
        return is_file(source) and path_of(source).suffix.lower() in (ZIP, *OPENERS)

    def copy_into(self, folder: Path, source: object, options: ReadOptions) -> Copy:
        path = path_of(source)
        if path.suffix.lower() == ZIP:
            return _unzip(path, folder, options)
        with OPENERS[path.suffix.lower()](path) as stream:
            blocks = read_blocks(stream.read, path.name)
            return copy_blocks(blocks, folder / safe_name(path.stem), path.name), options


class StandardInput(Copied):
    title = "- for standard input"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str | Path) and str(source).strip() == "-"

    def label(self, source: object) -> str:
        return "standard input"

    def name_of(self, source: object) -> str:
        return "stdin"

    def copy_into(self, folder: Path, source: object, options: ReadOptions) -> Copy:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError(
                "several processes cannot share standard input; put the table into a file"
            )
        if sys.stdin.isatty():
            say("reading a table from standard input")
        blocks = read_blocks(sys.stdin.buffer.read, self.label(source))
        return copy_blocks(blocks, folder / "stdin", self.label(source)), options


class WebAddress(Copied):
    title = "an http or https address"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, str) and source.lower().startswith(("http://", "https://"))

    def label(self, source: object) -> str:
        # Without the query and the user, which may be secrets.
        parts = _split(source)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def name_of(self, source: object) -> str:
        return safe_name(unquote(_split(source).path)).split(".")[0]

    def copy_into(self, folder: Path, source: object, options: ReadOptions) -> Copy:
        label, name = self.label(source), safe_name(unquote(_split(source).path))
        if "@" in _split(source).netloc:
            raise InputError(f"{label} is given with a user; download the file yourself")
        address = quote(str(source), safe="%/:=&?~#+!$,;'@()*[]")
        try:
            with closing(download_blocks(address, name, TIMEOUT_SECONDS)) as received:
                first, size = next(received, (b"", 0))
                blocks = chain([first], (block for block, _ in received))
                return copy_blocks(blocks, folder / name, label, size), options
        except DownloadError as failure:
            raise InputError(f"cannot download {label}: {failure}") from failure


def _ending_of(path: Path, options: ReadOptions) -> str:
    """The ending that fits how a file begins, .csv for other text, and none for what is no text."""
    with path.open("rb") as stream:
        head = stream.read(512).removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, ending in BEGINNINGS.items():
        if head.startswith(beginning):
            return ending
    return "" if b"\0" in head and options.encoding is None else ".csv"


def _unzip(path: Path, folder: Path, options: ReadOptions) -> Copy:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name and not name.endswith("/")]
            # Mac archives hold a shadow of each file.
            names = [name for name in names if not name.startswith("__MACOSX/")]
            if len(names) == 1 and options.table not in names:
                name = names[0]  # --table is then for what the file holds
            else:
                name = choose_table(names, "files", path.name, options)
                options = replace(options, table=None)
            with archive.open(name) as stream:
                blocks = read_blocks(stream.read, path.name)
                size = archive.getinfo(name).file_size
                return copy_blocks(blocks, folder / safe_name(name), path.name, size), options
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeError) as error:
        raise InputError(f"{path.name} cannot be unpacked: {error}; unpack it first") from None


def _split(source: object) -> SplitResult:
    try:
        return urlsplit(str(source))
    except ValueError as error:
        raise InputError(f"the address cannot be read: {error}") from None


SOURCES = (Packed(), StandardInput(), WebAddress())
