"""The prepared folder: a data set on disk, read with numpy alone.

A machine without polars can therefore train. The folder holds

    dataset.json     name, format, counts, unit and first time, notes about the source
    entities.json    names in the order of their ids; relations.json likewise
    times.npy        the distinct ticks
    train.npy valid.npy test.npy    four rows each: subjects, relations, objects, times;
                     of intervals five: the first ticks and the last, -1 where they are open
    index/           of a large data set: its graph, sorted (graph/stored.py)

and its arrays are memory-mapped.
"""

import errno
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from targcn.config import build
from targcn.errors import DamagedError, InputError
from targcn.facts.dataset import SPLITS, Dataset, Facts
from targcn.facts.open import Source, is_folder, path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.times.forms import UNITS, TimeStyle
from targcn.facts.times.timeline import CALENDAR_CODES, MAX_TIME, OPEN, Timeline, read_moment
from targcn.facts.vocabulary import Vocabulary
from targcn.files import read_json, require_file, to_json

MANIFEST: Final = "dataset.json"
INDEX: Final = "index"
# The second format holds intervals.
FORMATS: Final = (1, 2)
# The facts of a larger split are checked when they are written; when it is opened, only if its file
# was touched since.
MOST_CHECKED_ALWAYS: Final = 10_000_000
# No date that a source can have is as far away.
MOST_YEARS: Final = 100_000


class PreparedFolder(Source):
    title = "a prepared folder"

    def recognizes(self, source: object) -> bool:
        return is_folder(source) and is_prepared(path_of(source))

    def read(self, source: object, options: ReadOptions) -> Dataset:
        folder = path_of(source)
        if options != ReadOptions():
            raise InputError(
                f"{folder.resolve().name} is prepared: its columns, times and splits are fixed; "
                "leave out the options for reading, or prepare it again from its source"
            )
        return load_prepared(folder)


def is_prepared(folder: Path) -> bool:
    """Whether a folder is meant as a prepared one, complete or not."""
    return (folder / MANIFEST).exists()


def write_prepared(dataset: Dataset, folder: Path) -> None:
    """Write a data set into an existing, empty folder."""
    if len(dataset.added):
        raise InputError(
            f"{dataset.name} has added facts, which a prepared folder does not hold; write it as "
            "it was before, and add them again when they are needed"
        )
    for split, facts in dataset.splits.items():
        mapped = None if dataset.folder is None else dataset.folder / f"{split}.npy"
        if mapped is None or not _link(mapped, folder / mapped.name):
            write_array(folder / f"{split}.npy", facts.columns)
    if dataset.folder is not None and (dataset.folder / INDEX).is_dir():
        shutil.copytree(dataset.folder / INDEX, folder / INDEX, copy_function=_link_or_copy)
    write_array(folder / "times.npy", dataset.timeline.ticks)
    _write_json(folder / "entities.json", list(dataset.entities.names))
    _write_json(folder / "relations.json", list(dataset.relations.names))
    manifest = {
        "format": FORMATS[dataset.has_intervals],
        "name": dataset.name,
        "unit": dataset.timeline.unit,
        "start": dataset.timeline.start,
        "dated": dataset.timeline.dated,
        "step": dataset.timeline.step,
        "style": asdict(dataset.timeline.style),
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
        "num_facts": {split: len(facts) for split, facts in dataset.splits.items()},
        "notes": list(dataset.notes),
        "split_notes": list(dataset.split_notes),
    }
    large = [split for split, facts in dataset.splits.items() if len(facts) > MOST_CHECKED_ALWAYS]
    if large:
        manifest["last_touched"] = {split: _last_touched(folder, split) for split in large}
    _write_json(folder / MANIFEST, manifest)


def _last_touched(folder: Path, split: str) -> int:
    return (folder / f"{split}.npy").stat().st_mtime_ns


def _link(source: Path, target: Path) -> bool:
    """A second name for a file, which is never changed; False if the file system has none."""
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _link_or_copy(source: str, target: str) -> None:
    if not _link(Path(source), Path(target)):
        shutil.copyfile(source, target)


def load_prepared(folder: Path) -> Dataset:
    """Read a prepared folder and check its counts."""
    manifest = _read_json(folder / MANIFEST, dict)
    if manifest.get("format") not in FORMATS:
        raise InputError(
            f"{folder} was prepared in format {manifest.get('format')!r}, but this version reads "
            f"formats {FORMATS[0]} and {FORMATS[1]}; prepare it again"
        )
    try:
        num_entities, num_relations = manifest["num_entities"], manifest["num_relations"]
        unit, start, dated = manifest["unit"], int(manifest["start"]), bool(manifest["dated"])
        step = int(manifest.get("step", 1))
        style = build(TimeStyle, manifest.get("style", {}), "style")
        read_moment("2014-01-01", style)  # refuses a format of dates that is none
        name, notes = str(manifest["name"]), tuple(map(str, manifest["notes"]))
        split_notes = tuple(map(str, manifest.get("split_notes", ())))
        notes = notes[: len(notes) - len(split_notes)]  # which end with those about the splits
        expected = {split: int(manifest["num_facts"][split]) for split in SPLITS}
        touched = {split: int(ns) for split, ns in manifest.get("last_touched", {}).items()}
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise damaged(folder / MANIFEST, f"field {error} is missing or wrong") from None
    if unit not in UNITS or (dated and unit == "step"):
        raise damaged(folder / MANIFEST, f"unit {unit!r} is unknown, or does not fit dates")
    entities = Vocabulary("entity", _read_names(folder / "entities.json"))
    relations = Vocabulary("relation", _read_names(folder / "relations.json"))
    if (len(entities), len(relations)) != (num_entities, num_relations):
        raise damaged(folder, "its vocabularies are not as long as dataset.json says")
    ticks = read_array(folder / "times.npy", (None,))
    splits = {}
    for split in SPLITS:
        path = folder / f"{split}.npy"
        num_rows = None if manifest["format"] == FORMATS[1] else 4
        splits[split] = Facts(read_array(path, (num_rows, expected[split])))
        if len(splits[split].columns) not in (4, 5):
            raise damaged(path, "facts have four rows of numbers, or five")
        is_large = expected[split] > MOST_CHECKED_ALWAYS
        if is_large and touched.get(split) == _last_touched(folder, split):
            continue
        # Otherwise ids without a name would fail much later, as a bad index.
        ids, counts = splits[split].columns[:3], (num_entities, num_relations, num_entities)
        if ids.size and ((ids.min(axis=1) < 0) | (ids.max(axis=1) >= counts)).any():
            raise damaged(path, "some ids have no name")
        if fault := _find_fault(splits[split], int(ticks.max(initial=0))):
            raise damaged(path, fault)
    if (np.diff(ticks, prepend=-1) <= 0).any():
        raise damaged(folder / "times.npy", "its ticks are not in order")
    timeline = Timeline(unit, start, dated, ticks, step, style)
    if not _is_possible(timeline):
        raise damaged(folder, "its times are none that there could be")
    return Dataset(name, entities, relations, timeline, splits, notes, split_notes, folder=folder)


def _is_possible(timeline: Timeline) -> bool:
    """Whether the times that the ticks stand for can be told."""
    ends = [timeline.start, timeline.start + int(timeline.ticks.max(initial=0))]
    if max(map(abs, ends)) > MAX_TIME or not 1 <= timeline.step <= MAX_TIME:
        return False
    if not timeline.dated:
        return True
    years = np.array(ends).astype(f"M8[{CALENDAR_CODES[timeline.unit]}]").astype("M8[Y]")
    return bool((np.abs(years.astype(np.int64) + 1970) < MOST_YEARS).all())


def _find_fault(facts: Facts, last_tick: int) -> str | None:
    """What is wrong with the times of facts, if anything is."""
    earliest = OPEN if facts.has_intervals else 0
    if facts.columns[3:].min(initial=0) < earliest or facts.last_time > last_tick:
        return "some times are not on its timeline"
    if not facts.has_intervals:
        return None
    first, last = facts.columns[3:]
    if ((last < first) & (last != OPEN)).any():
        return "some facts end before they begin"
    if ((first == OPEN) & (last == OPEN)).any():
        return "some facts have neither a beginning nor an end"
    return None


def _write_json(path: Path, content: object) -> None:
    path.write_text(to_json(content, ensure_ascii=False, indent=0), encoding="utf-8")


def _read_json(path: Path, kind: type) -> Any:
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise damaged(path, getattr(error, "strerror", None) or "not readable as JSON") from None
    if not isinstance(content, kind):
        raise damaged(path, "its content is not of the expected kind")
    return content


def _read_names(path: Path) -> list[str]:
    names: list[str] = _read_json(path, list)
    if not all(isinstance(name, str) for name in names):
        raise damaged(path, "not a list of names")
    if len(set(names)) < len(names):
        raise damaged(path, "a name stands there twice")
    return names


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; numpy does not say so where the disk is full at its very end."""
    np.save(path, array, allow_pickle=False)
    try:
        if array.size:
            np.load(path, mmap_mode="r")
    except ValueError:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


def read_array(path: Path, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """An array of integers, mapped read-only; None stands for any length."""
    try:
        array: NDArray[Any]
        require_file(path)
        if 0 in shape:  # an empty file cannot be mapped
            with path.open("rb") as stream:
                array = np.lib.format.read_array(stream, allow_pickle=False)
        else:
            array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a mangled header fails in many ways
        reason = getattr(error, "strerror", None) or "cut short or not an array"
        raise damaged(path, reason) from None
    fits = array.ndim == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype not in (np.int32, np.int64):
        raise damaged(
            path, f"{array.dtype} of shape {array.shape} instead of integers of shape {shape}"
        )
    return array


def damaged(path: Path, reason: str) -> DamagedError:
    return DamagedError(f"{path} is damaged or half-written ({reason}); prepare the data set again")


SOURCES = (PreparedFolder(),)
