"""A source that holds one table of facts: what files, frames, databases and addresses share.

A file has a format; text may be compressed, and in another encoding.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from threading import Lock
from typing import ClassVar, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.open import Source, find_source, is_file, path_of
from targcn.facts.reading.columns import ROLES
from targcn.facts.reading.encode import encode_table
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable, check_cells, choose_rows, require_rows
from targcn.facts.sources.copies import copy_as_utf8

# Options that only some sources take; no source ignores one of them.
SPECIAL_OPTIONS: Final = ("table", "query", "encoding")
# Text is also read in these compressed forms.
COMPRESSIONS: Final[tuple[str, ...]] = (".gz", ".zst")
STDERR_LOCK: Final = Lock()


class TableSource(Source):
    """One table; a library that not everybody has is imported inside `load`.

    A file format is recognized by the ending of the file; what is no file has none.
    """

    endings: ClassVar[tuple[str, ...]] = ()
    compressions: ClassVar[tuple[str, ...]] = ()
    # Which of the special options it takes.
    takes: ClassVar[tuple[str, ...]] = ()
    # The libraries that it imports, and the extra of this package that brings them.
    libraries: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def recognizes(self, source: object) -> bool:
        known = [end + packed for end in self.endings for packed in ("", *self.compressions)]
        return is_file(source) and path_of(source).name.lower().endswith(tuple(known))

    def label(self, source: object) -> str:
        """What messages call this source; a password never stands in it."""
        return path_of(source).name

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
        return check_cells(self.read_columns(source, options), options)

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        """The four columns as they are written, or an InputError that says why there are none."""
        label = self.label(source)
        for option in SPECIAL_OPTIONS:
            if getattr(options, option) is not None and option not in self.takes:
                raise InputError(
                    f"{label} is {self.title}, which takes no --{option}; leave it out"
                )
        try:
            table = self.select(source, options)
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
        except pl.exceptions.PanicException:  # polars gave up on a damaged file
            raise InputError(f"{label} is damaged; write or fetch it again") from None
        return replace(table, notes=self.notes_of(source) + table.notes)

    def select(self, source: object, options: ReadOptions) -> FactTable:
        """The same; what is read as another source overrides this, and needs no `load`."""
        with silence_panics():
            return choose_rows(self.load(source, options), self.label(source), options)

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        """The table as it is written, at least the columns that `needed_columns` names."""
        raise NotImplementedError


class TextFile(TableSource):
    """A file format that is text, and may be compressed."""

    compressions = COMPRESSIONS
    takes = ("encoding",)

    def select(self, source: object, options: ReadOptions) -> FactTable:
        if options.encoding is None:
            return super().select(source, options)
        with TemporaryDirectory() as folder:
            plain = copy_as_utf8(path_of(source), Path(folder), options.encoding)
            return self.read_columns(plain, replace(options, encoding=None))

    def explain(self, source: object, message: str) -> str:
        if "utf-8" in message.lower() or "utf8" in message.lower():
            return explain_encoding(path_of(source))
        if "could not infer" in message or "empty reader" in message:
            return explain_empty(path_of(source))
        return super().explain(source, message)


@contextmanager
def silence_panics() -> Iterator[None]:
    """Hide what the threads of polars print to stderr when they give up on a damaged file."""
    with STDERR_LOCK:
        stderr = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            os.close(nowhere)


def run_apart(function: Callable[..., None], *arguments: str | None) -> CompletedProcess[str]:
    """Call a function in a process of its own, which may end where a file is damaged."""
    module, name = function.__module__, function.__name__
    call = f"from {module} import {name}; {name}(*json.load(sys.stdin))"
    return subprocess.run(
        [sys.executable, "-c", f"import json, sys; {call}"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
        input=json.dumps(arguments),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )


def find_table(source: object, label: object, wanted: str) -> TableSource:
    """The kind of source that `source` is, which must hold one table."""
    kind = find_source(source)
    if isinstance(kind, TableSource):
        return kind
    raise InputError(f"{label} is {kind.title}; {wanted}")


def read_questions(source: object) -> pl.DataFrame:
    """Read a table of questions: facts, in which what is asked for is empty or a question mark."""
    kind = find_table(source, source, "one table of questions was expected")
    table = kind.read_columns(source, ReadOptions())
    if table.has_intervals:
        raise InputError(
            f"{table.where}: a question asks about one time; name its column 'time', in place of a "
            "start and an end"
        )
    frame = table.frame.with_columns(pl.col(ROLES).cast(pl.String).str.strip_chars())
    require_rows(frame, table.where)
    return frame


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
