"""A folder with one table each for train, valid and test.

It may also list the ids that its tables use instead of names, in entity2id.txt and
relation2id.txt.
"""

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Split
from targcn.facts.open import Source, is_folder, path_of, recognize
from targcn.facts.reading.cells import distinct_texts
from targcn.facts.reading.encode import encode_splits
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.table_source import TableSource
from targcn.facts.vocabulary import tidy_name

# What the file of each split may be called, before its ending.
STEMS: Final[dict[Split, tuple[str, ...]]] = {
    "train": ("train",),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test",),
}

# The lines of a listing. Some publishers tell more of a name, behind its id.
NAME_AND_ID: Final = re.compile(r"(.*)\t\s*([0-9]{1,9})\s*")
NAME_ID_AND_MORE: Final = re.compile(r"([^\t]*)\t\s*([0-9]{1,9})\s*\t.*")


class SplitFolder(Source):
    title = "a folder of train, valid and test tables"

    def recognizes(self, source: object) -> bool:
        return is_folder(source)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        folder = path_of(source)
        name = folder.resolve().name
        files = _find_files(folder)
        refuse_other_splits(name, options)
        tables = {split: file.read_table(path, options) for split, (file, path) in files.items()}
        entities = _read_listing(folder / "entity2id.txt")
        relations = _read_listing(folder / "relation2id.txt")
        _check_ids(tables, {"subject": entities, "relation": relations, "object": entities})
        return encode_splits(name, tables, options, entities, relations)


def refuse_other_splits(name: str, options: ReadOptions) -> None:
    if (options.split, options.split_seed) != (ReadOptions.split, ReadOptions.split_seed):
        raise InputError(f"{name} comes with splits of its own; leave out --split and --split-seed")


def _find_files(folder: Path) -> dict[Split, tuple[TableSource, Path]]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror}") from None
    files: dict[Split, tuple[TableSource, Path]] = {}
    for split, stems in STEMS.items():
        named = (path for path in paths if path.name.split(".")[0].lower() in stems)
        known = [(file, path) for path in named if isinstance(file := recognize(path), TableSource)]
        if len(known) != 1:
            problem = f"{len(known)} files" if known else "no file"
            raise InputError(
                f"{folder} has {problem} for the {split} split; a prepared folder holds "
                "dataset.json, a folder of tables holds one each for train, valid and test"
            )
        files[split] = known[0]
    return files


def _read_listing(path: Path) -> list[str] | None:
    """The names of a listing in the order of their ids, or None if there is no listing."""
    if not path.is_file():
        return None
    by_id: dict[int, str] = {}
    try:
        # Not splitlines: names may contain the rarer line separators of Unicode.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        # Some publishers write the number of names on the first line.
        if not line.strip() or (number == 1 and "\t" not in line and line.strip().isdigit()):
            continue
        listed = NAME_AND_ID.fullmatch(line) or NAME_ID_AND_MORE.fullmatch(line)
        if listed is None:
            raise InputError(f"{path.name}, line {number}: expected a name, a tab and an id")
        name, new_id = tidy_name(listed[1]), int(listed[2])
        if by_id.setdefault(new_id, name) != name:
            raise InputError(f"{path.name}, line {number}: id {new_id} is already taken")
    if not by_id:
        raise InputError(f"{path.name} lists no names; fill it or remove it")
    if sorted(by_id) != list(range(len(by_id))):
        raise InputError(f"{path.name}: the ids do not run from 0 to {len(by_id) - 1}")
    names = [by_id[position] for position in range(len(by_id))]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{path.name}: the name {twice!r} has two ids")
    return names


def _check_ids(tables: Mapping[Split, FactTable], listings: Mapping[str, list[str] | None]) -> None:
    """Refuse ids that are not listed, and say where the first one is."""
    listed = [(role, names) for role, names in listings.items() if names is not None]
    for table, (role, names) in itertools.product(tables.values(), listed):
        cells = table.frame[role]
        texts = distinct_texts(cells)
        ids = texts.cast(pl.Int64, strict=False)
        wrong = texts.filter((ids < 0) | (ids >= len(names)))
        # A column that is not all numbers holds names, not ids.
        if len(wrong) and not ids.null_count():
            row = cells.is_in(wrong.to_list()).arg_true()[0]
            raise InputError(
                f"{table.where}, row {row + 1}: {role} id {int(cells[row])} is out of range; "
                f"the listing has ids 0 to {len(names) - 1}"
            )


SOURCES = (SplitFolder(),)
