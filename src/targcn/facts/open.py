"""Open a data set, whatever its source is.

A new source is a file in `sources` and its name in MODULES; alike ones share a file, which holds
each `Source`. One table is a `TableSource`, text a `TextFile` (sources/table_source.py), and what
is copied into a file first is `Copied` (sources/copied.py); each of them can also be a table of
questions or of newer facts.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.catalog import CATALOG, EMBEDDED
from targcn.facts.dataset import NO_FACTS, Dataset, Facts, Split
from targcn.facts.reading.options import ReadOptions
from targcn.facts.vocabulary import suggest

# Modules of `sources`, each with its SOURCES. They are tried in this order and imported when their
# turn comes, so that names and prepared folders are recognized without polars.
MODULES: Final = (
    "named",
    "prepared_folder",
    "encoded_folder",
    "folders",
    "text",
    "columnar",
    "excel",
    "rdf",
    "copied",
    "databases",
    "objects",
)


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


def open_dataset(
    source: object = EMBEDDED, options: ReadOptions | None = None, **read: Any
) -> Dataset:
    """Open a data set by name, folder, file, address or frame.

    How to read it is said by `ReadOptions`, or by its fields as keywords, such as `split="time"`.

    >>> congress = open_dataset("congress")
    >>> congress.timeline.unit, congress.timeline.first
    ('year', '1945')
    >>> open_dataset("icews41")
    Traceback (most recent call last):
    targcn.errors.InputError: no data set, folder or file 'icews41'; did you mean 'icews14'?
    """
    options = options or ReadOptions()
    if read:
        options = build(ReadOptions, {**asdict(options), **read}, "open_dataset")
    whole = options.split == "none"
    try:
        how = replace(options, split=ReadOptions.split) if whole else options
        dataset = find_source(source).read(source, how)
        return join_splits(dataset) if whole else dataset
    except ModuleNotFoundError as error:
        what = str(source) if isinstance(source, str | Path) else f"a {type(source).__name__}"
        raise InputError(
            f"reading {what} needs {error.name}, which is not installed; run "
            f"'pip install {error.name}'"
        ) from error


def join_splits(dataset: Dataset) -> Dataset:
    """The same facts, each once, all of them in train."""
    from targcn.facts.splits import distinct_facts

    facts = distinct_facts(dataset.facts)
    splits: dict[Split, Facts] = {"train": facts, "valid": NO_FACTS, "test": NO_FACTS}
    note = f"not split: all {len(facts):,} facts are in train, none are left to evaluate on"
    return replace(dataset, splits=splits, split_notes=(note,), folder=None)


def load_sources(modules: tuple[str, ...] = MODULES) -> Iterator[Source]:
    for module in modules:
        yield from import_module(f"targcn.facts.sources.{module}").SOURCES


def recognize(source: object) -> Source | None:
    """The first kind of source that `source` is, if any."""
    return next((kind for kind in load_sources() if kind.recognizes(source)), None)


def find_source(source: object) -> Source:
    """The kind of source that `source` is; if it is none, an InputError says what can be read."""
    is_text = isinstance(source, str | Path)
    is_absent = is_text and not is_file(source) and not is_folder(source)
    # Without polars, a mistyped name is still reported as such.
    with suppress(ModuleNotFoundError) if is_absent else nullcontext():
        if kind := recognize(source):
            return kind
    if is_absent:
        nearest = suggest(str(source), [EMBEDDED, *CATALOG], limit=1)
        listed = "'targcn data list' shows the named data sets"
        hint = f"did you mean {nearest[0]!r}?" if nearest else listed
        raise InputError(f"no data set, folder or file {str(source)!r}; {hint}")
    if is_text:
        endings = [kind.title for kind in load_sources() if "(." in kind.title]
        raise InputError(
            f"the ending of {source} is not known; rename it, or pipe it in as -, which is "
            f"recognized by how it begins; known are {', '.join(endings)}"
        )
    titles = ", ".join(kind.title for kind in load_sources(("objects",)))
    raise InputError(
        f"an object of type {type(source).__name__} cannot be read; give {titles}, or the name, "
        "path or address of a data set"
    )
