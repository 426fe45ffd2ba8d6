"""The contract of a source: what it recognizes and how it is read."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from targcn.facts.dataset import Dataset
from targcn.facts.reading.options import ReadOptions


class Source(ABC):
    """One kind of source of dated facts.

    One that holds one table is a `TableSource` (table_source.py); one that comes with splits hands
    them to `encode_splits`.
    """

    # What messages call this kind of source, such as "a prepared folder".
    title: ClassVar[str]

    @abstractmethod
    def recognizes(self, source: object) -> bool:
        """Whether `source` is of this kind."""

    @abstractmethod
    def read(self, source: object, options: ReadOptions) -> Dataset:
        """Read what `recognizes` accepted."""


def path_of(source: object) -> Path:
    """A source given as a string or a path, with `~` expanded where the home is known."""
    return Path(os.path.expanduser(str(source)))


# os.path, unlike Path, answers False for a name that is too long or holds a null character.
def is_folder(source: object) -> bool:
    return isinstance(source, str | Path) and os.path.isdir(path_of(source))


def is_file(source: object) -> bool:
    return isinstance(source, str | Path) and os.path.isfile(path_of(source))
