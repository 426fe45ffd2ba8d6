"""A folder of Parquet tables of ids, which Spark, Dask or a warehouse can write by themselves.

It is what `targcn data prepare` makes of text, before it is sorted for this library; docs/scale.md
has the contract, and a test writes one with DuckDB alone.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.dataset import NO_FACTS, SPLITS, Dataset, Facts, Split
from targcn.facts.open import Source, is_folder, path_of
from targcn.facts.reading.columns import ROLES
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.columnar import scan_parquet
from targcn.facts.sources.table_source import first_line, silence_panics
from targcn.facts.splits import find_repetitions
from targcn.facts.times.forms import UNITS
from targcn.facts.times.timeline import Timeline, calendar_value
from targcn.facts.vocabulary import Vocabulary, sort_names, tidy_name
from targcn.files import read_json

MANIFEST: Final = "encoded.json"


class EncodedFolder(Source):
    title = "a folder of Parquet tables of ids (encoded.json)"

    def recognizes(self, source: object) -> bool:
        return is_folder(source) and (path_of(source) / MANIFEST).is_file()

    def read(self, source: object, options: ReadOptions) -> Dataset:
        folder = path_of(source)
        if options != ReadOptions():
            raise InputError(
                f"{folder.resolve().name} holds ids and ticks: leave out the options for reading"
            )
        name, unit, start, dated = _read_manifest(folder)
        splits: dict[Split, Facts] = dict.fromkeys(SPLITS, NO_FACTS)
        with silence_panics():
            entities, entity_ids = _read_names(folder, "entities", "entity")
            relations, relation_ids = _read_names(folder, "relations", "relation")
            for split in SPLITS:
                # Which may be left out, unless it is train.
                if split == "train" or (folder / f"{split}.parquet").exists():
                    splits[split] = _read_facts(folder, split, entity_ids, relation_ids)
        if not len(splits["train"]):
            raise InputError(f"{folder.name} has no facts in train")
        ticks = np.concatenate([np.unique(facts.times) for facts in splits.values()])
        timeline = Timeline(unit, start, dated, ticks)
        notes = find_repetitions(splits)
        return Dataset(name, entities, relations, timeline, splits, split_notes=notes)


def _read_manifest(folder: Path) -> tuple[str, str, int, bool]:
    path = folder / MANIFEST
    try:
        manifest = read_json(path)
        name, unit, start = str(manifest["name"]), str(manifest["unit"]), manifest["start"]
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{path} should be an object with name, unit and start") from None
    if unit not in UNITS:
        raise InputError(f"{path}: unit {unit!r} is none of {', '.join(UNITS)}")
    if unit == "step":
        if not isinstance(start, int):
            raise InputError(f"{path}: start should be a whole number where the unit is step")
        return name, unit, start, False
    return name, unit, calendar_value(str(start), unit), True


def _scan(folder: Path, stem: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """The columns of a table, which is a file or a folder of files."""
    path = folder / f"{stem}.parquet"
    try:
        files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
        table = scan_parquet(files)
        return table.select(columns).collect(engine="streaming")
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        said = first_line(str(error))
        raise InputError(
            f"{folder.name}: {stem}.parquet with the columns {', '.join(columns)} was expected "
            f"({said})"
        ) from None


def _read_names(folder: Path, stem: str, kind: str) -> tuple[Vocabulary, NDArray[np.int32]]:
    """The names, sorted, and the new id of every id of the folder."""
    frame = _scan(folder, stem, ("id", "name")).sort("id")
    ids, listed = frame["id"], frame["name"].cast(pl.String).to_list()
    if not ids.dtype.is_integer() or not (ids == pl.int_range(len(ids), eager=True)).all():
        raise InputError(f"{folder.name}: the ids of {stem} should be 0 to {len(ids) - 1}, once")
    if len(set(listed)) < len(listed) or any(not n or tidy_name(n) != n for n in listed):
        raise InputError(
            f"{folder.name}: every id of {stem} needs a name of its own, in NFC and without outer "
            "blanks"
        )
    in_order = sort_names(listed)
    position = {name: number for number, name in enumerate(in_order)}
    new_ids = np.array([position[name] for name in listed], dtype=np.int32)
    return Vocabulary(kind, in_order), new_ids


def _read_facts(
    folder: Path, split: Split, entity_ids: NDArray[np.int32], relation_ids: NDArray[np.int32]
) -> Facts:
    """The facts of a split, with their new ids."""
    columns: list[NDArray[Any]] = []
    for column in _scan(folder, split, ROLES):
        role = column.name
        if not column.dtype.is_integer() or column.null_count():
            raise InputError(
                f"{folder.name}: {role} of {split} should be whole numbers, none missing"
            )
        numbers = column.to_numpy()
        where = f"a {role} of {split} of {folder.name}"
        if role == "time":
            if numbers.min(initial=0) < 0:
                raise InputError(f"{where} is below 0; count ticks from the start on")
            columns.append(numbers)
            continue
        new_ids = relation_ids if role == "relation" else entity_ids
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(new_ids):
            raise InputError(f"{where} is not among the ids 0 to {len(new_ids) - 1}")
        columns.append(new_ids[numbers])
    return Facts.of(*columns)


SOURCES = (EncodedFolder(),)
