"""Tables in several files: one table in all of them, or one each for train, valid and test.

A folder of Parquet files, or all files that a pattern names, is how Spark, Dask and warehouses
write one large table; folders named like year=2014 are columns. A folder of splits may also list
the ids that its tables use instead of names, in entity2id.txt and relation2id.txt.
"""

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Split
from targcn.facts.open import Source, is_file, is_folder, path_of, recognize
from targcn.facts.reading.cells import distinct_texts, list_rows, replace_texts
from targcn.facts.reading.encode import encode_splits
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.columnar import Parquet, scan_parquet
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


class ManyFiles(TableSource):
    title = "a folder of Parquet files, or a pattern of files such as facts/*.csv"

    def recognizes(self, source: object) -> bool:
        if is_folder(source):
            return bool(_files_of_folder(path_of(source)))
        is_pattern = isinstance(source, str | Path) and glob.has_magic(str(source))
        # An address may hold a question mark too.
        return is_pattern and "://" not in str(source) and not is_file(source)

    def label(self, source: object) -> str:
        return path_of(source).resolve().name if is_folder(source) else str(source)

    def name_of(self, source: object) -> str:
        path = path_of(source)
        while glob.has_magic(str(path)):
            path = path.parent
        return path.resolve().name.split(".")[0] or "facts"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        label = self.label(source)
        if is_folder(source):
            paths = _files_of_folder(path_of(source))
        else:
            named = sorted(glob.glob(str(path_of(source)), recursive=True))
            paths = [Path(name) for name in named if os.path.isfile(name)]
        if not paths:
            raise InputError(f"no file is named like {label}; check the pattern")
        kinds = {recognize(path) for path in paths}
        kind = kinds.pop()
        if kinds or not isinstance(kind, TableSource) or not kind.endings:
            raise InputError(
                f"{label} names {len(paths):,} files, which are not tables of one kind, such as "
                f"{paths[0].name}; name files of one kind"
            )
        if isinstance(kind, Parquet):
            return scan_parquet(paths, hive_partitioning=True)
        tables = [kind.load(path, options) for path in paths]
        names = tables[0].collect_schema().names()
        return pl.concat([table.select(names) for table in tables])


def _files_of_folder(folder: Path) -> list[Path]:
    """The Parquet files of a folder and of its partitions, unless it holds splits."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if "=" in name)
        files += [
            Path(place) / name
            for name in sorted(names)
            # Writers hide what is no data.
            if name[0] not in "._" and name.lower().endswith(Parquet.endings)
        ]
    splits = {stem for stems in STEMS.values() for stem in stems}
    has_splits = any(path.name.split(".")[0].lower() in splits for path in files)
    return [] if has_splits else files


class SplitFolder(Source):
    title = "a folder of train, valid and test tables"

    def recognizes(self, source: object) -> bool:
        return is_folder(source)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        folder = path_of(source)
        name = folder.resolve().name
        files = _find_files(folder)
        refuse_other_splits(name, options)
        entities = _read_listing(folder / "entity2id.txt")
        relations = _read_listing(folder / "relation2id.txt")
        listings = {"subject": entities, "relation": relations, "object": entities}
        tables = {
            split: _name_ids(file.read_table(path, options), listings)
            for split, (file, path) in files.items()
        }
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


def _read_listing(path: Path) -> list[str]:
    """The names of a listing in the order of their ids; none if there is no listing."""
    if not path.is_file():
        return []
    listed: set[tuple[int, str]] = set()
    try:
        # Not splitlines: names may contain the rarer line separators of Unicode.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        # Some publishers write the number of names on the first line.
        if not line.strip() or (number == 1 and "\t" not in line and line.strip().isdigit()):
            continue
        match = NAME_AND_ID.fullmatch(line) or NAME_ID_AND_MORE.fullmatch(line)
        if match is None:
            raise InputError(f"{path.name}, line {number}: expected a name, a tab and an id")
        listed.add((int(match[2]), tidy_name(match[1])))
    names = [name for _, name in sorted(listed)]
    is_counted = all(new_id == number for number, (new_id, _) in enumerate(sorted(listed)))
    if not names or not is_counted or len(set(names)) < len(names):
        raise InputError(f"{path.name} should list ids from 0 on, each once and with another name")
    return names


def _name_ids(table: FactTable, listings: Mapping[str, list[str]]) -> FactTable:
    """The facts with names in place of listed ids; what is not listed is refused."""
    frame = table.frame
    for role, listed in listings.items():
        if not listed:
            continue
        cells = frame[role]
        texts = distinct_texts(cells)
        names, ids = texts, texts.cast(pl.Int64, strict=False)
        # A column that is not all numbers holds names, not ids.
        if not ids.null_count():
            by_id = dict(enumerate(listed))
            names = pl.Series([by_id.get(new_id) for new_id in ids], dtype=pl.String)
        unlisted = texts.filter(~names.is_in(listed).fill_null(False))
        if len(unlisted):
            rows = list_rows(cells.is_in(unlisted.to_list()).arg_true(), cells, table.rows)
            raise InputError(
                f"{table.where}: the {role} is not listed in {rows}; correct it, or add it to the "
                "listing of ids"
            )
        frame = frame.with_columns(replace_texts(cells, texts, names))
    return replace(table, frame=frame)


SOURCES = (ManyFiles(), SplitFolder())
