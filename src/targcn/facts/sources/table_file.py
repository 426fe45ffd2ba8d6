"""A file that holds one table of facts: what the file formats share."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar, Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.columns import FactTable, check_cells
from targcn.facts.dataset import Dataset
from targcn.facts.encode import encode_table
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.source import Source, is_file, path_of

# Text is also read in these compressed forms.
COMPRESSIONS: Final = (".gz", ".zst")


class TableFile(Source):
    """A file format, recognized by the ending of the file."""

    endings: ClassVar[tuple[str, ...]]
    compressions: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def parse(self, path: Path, options: ReadOptions) -> pl.DataFrame:
        """The four columns as they are written; cells may be empty."""

    def explain(self, path: Path, message: str) -> str:
        """One sentence for the user, given what polars says about a file it cannot read."""
        return f"{path.name} cannot be read: {message.strip().splitlines()[0]}"

    def recognizes(self, source: object) -> bool:
        known = [end + packed for end in self.endings for packed in ("", *self.compressions)]
        return is_file(source) and path_of(source).name.lower().endswith(tuple(known))

    def read(self, source: object, options: ReadOptions) -> Dataset:
        path = path_of(source)
        return encode_table(path.name.split(".")[0], self.read_table(path, options), options)

    def read_table(self, path: Path, options: ReadOptions) -> FactTable:
        """The facts of a file, every cell filled."""
        return check_cells(self.read_columns(path, options), path.name, options)

    def read_columns(self, path: Path, options: ReadOptions) -> pl.DataFrame:
        """What `parse` gives, or an InputError that says why the file cannot be read."""
        try:
            return self.parse(path, options)
        except OSError as error:
            reason = error.strerror or str(error).split(" (os error")[0]
            raise InputError(f"cannot read {path}: {reason}") from None
        except pl.exceptions.PolarsError as error:
            raise InputError(self.explain(path, str(error) or type(error).__name__)) from None
        except pl.exceptions.PanicException:  # polars gave up on a damaged file
            raise InputError(f"{path} is damaged; write or fetch it again") from None


class TextFile(TableFile):
    """A file format that is text, and may be compressed."""

    compressions = COMPRESSIONS

    def explain(self, path: Path, message: str) -> str:
        if "utf-8" in message.lower() or "utf8" in message.lower():
            return explain_encoding(path)
        if "could not infer" in message or "empty reader" in message:
            return explain_empty(path)
        return super().explain(path, message)


def explain_empty(path: Path) -> str:
    return f"{path.name} is empty; a table of dated facts was expected"


def explain_encoding(path: Path) -> str:
    line = find_bad_line(path)
    place = f" (line {line})" if line else ""
    return f"{path.name} is not UTF-8 text{place}; save it as UTF-8"


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
