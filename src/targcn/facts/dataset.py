"""A data set: columns of facts in three splits, with their vocabularies and timeline.

Made by opening.py from any source, or loaded from a prepared folder with numpy alone, so that a
machine without polars can train. A prepared folder holds

    dataset.json     name, format, counts, unit and first time, what was noticed while reading
    entities.json    names in the order of their ids; relations.json likewise
    times.npy        the distinct ticks
    train.npy valid.npy test.npy    four rows each: subjects, relations, objects, times

and is memory-mapped. Next room: graph.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.timeline import UNITS, Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.files import atomic_folder

Split = Literal["train", "valid", "test"]
Context = Literal["train", "train+valid"]
SPLITS: Final[tuple[Split, ...]] = ("train", "valid", "test")
MANIFEST: Final = "dataset.json"
FORMAT: Final = 1


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts as one array with four rows: subjects, relations, objects, times."""

    columns: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, *columns: object) -> "Facts":
        """Stack four columns in the smallest width that holds them, 32 bits where that will do.

        >>> Facts.of([0, 1], [0, 0], [1, 2], [5, 7]).times
        array([5, 7], dtype=int32)
        """
        stacked = np.stack([np.asarray(column, dtype=np.int64) for column in columns])
        if stacked.size == 0 or np.abs(stacked).max() <= np.iinfo(np.int32).max:
            stacked = stacked.astype(np.int32)
        stacked.setflags(write=False)
        return cls(stacked)

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    @property
    def subjects(self) -> NDArray[Any]:
        return np.asarray(self.columns[0])

    @property
    def relations(self) -> NDArray[Any]:
        return np.asarray(self.columns[1])

    @property
    def objects(self) -> NDArray[Any]:
        return np.asarray(self.columns[2])

    @property
    def times(self) -> NDArray[Any]:
        return np.asarray(self.columns[3])

    def where(self, kept: NDArray[Any]) -> "Facts":
        """The facts at these positions, or where this mask holds."""
        return Facts(self.columns[:, kept])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Facts in three splits, and the names and dates behind their numbers."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    timeline: Timeline
    splits: Mapping[Split, Facts]
    # What a user should know of the source: duplicates, overlaps, how it was split.
    notes: tuple[str, ...] = field(default=())

    @property
    def train(self) -> Facts:
        return self.splits["train"]

    @property
    def valid(self) -> Facts:
        return self.splits["valid"]

    @property
    def test(self) -> Facts:
        return self.splits["test"]

    @property
    def facts(self) -> Facts:
        """All facts, whatever their split: what is known to be true."""
        return Facts(np.concatenate([facts.columns for facts in self.splits.values()], axis=1))

    def context(self, context: Context) -> Facts:
        """The facts a model may look at; the one door through which facts reach a model."""
        if context == "train":
            return self.train
        if context == "train+valid":
            return Facts(np.concatenate([self.train.columns, self.valid.columns], axis=1))
        raise InputError(f"context {context!r} is unknown; choose 'train' or 'train+valid'")

    def named(self, split: Split, position: int) -> tuple[str, str, str, str]:
        """One fact in words: subject, relation, object, date."""
        subject, relation, object_, time = (
            int(value) for value in self.splits[split].columns[:, position]
        )
        return (
            self.entities.names[subject],
            self.relations.names[relation],
            self.entities.names[object_],
            self.timeline.label(time),
        )

    def save(self, folder: Path | str) -> None:
        """Write a prepared folder; it appears whole or not at all."""
        with atomic_folder(Path(folder)) as draft:
            self.write_into(draft)

    def write_into(self, folder: Path) -> None:
        """Write the files of a prepared folder into an existing, empty one."""
        for split, facts in self.splits.items():
            np.save(folder / f"{split}.npy", facts.columns, allow_pickle=False)
        np.save(folder / "times.npy", self.timeline.ticks, allow_pickle=False)
        _write_json(folder / "entities.json", list(self.entities.names))
        _write_json(folder / "relations.json", list(self.relations.names))
        manifest = {
            "format": FORMAT,
            "name": self.name,
            "unit": self.timeline.unit,
            "start": self.timeline.start,
            "dated": self.timeline.dated,
            "num_entities": len(self.entities),
            "num_relations": len(self.relations),
            "num_facts": {split: len(facts) for split, facts in self.splits.items()},
            "notes": list(self.notes),
        }
        _write_json(folder / MANIFEST, manifest)

    @classmethod
    def load(cls, folder: Path | str) -> "Dataset":
        """Read a prepared folder, its columns memory-mapped and its counts checked."""
        folder = Path(folder)
        manifest = _read_json(folder / MANIFEST, dict)
        if manifest.get("format") != FORMAT:
            raise InputError(
                f"{folder} was prepared in format {manifest.get('format')!r}, this version reads "
                f"{FORMAT}; prepare it again"
            )
        try:
            counts = manifest["num_facts"]
            num_entities, num_relations = manifest["num_entities"], manifest["num_relations"]
            unit, start, dated = manifest["unit"], int(manifest["start"]), bool(manifest["dated"])
            name, notes = str(manifest["name"]), tuple(map(str, manifest["notes"]))
            expected = {split: int(counts[split]) for split in SPLITS}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise _damaged(folder / MANIFEST, f"field {error} is missing or wrong") from None
        if unit not in UNITS or (dated and unit == "step"):
            raise _damaged(folder / MANIFEST, f"unit {unit!r} is unknown or no date")
        entities = Vocabulary("entity", _read_names(folder / "entities.json"))
        relations = Vocabulary("relation", _read_names(folder / "relations.json"))
        if (len(entities), len(relations)) != (num_entities, num_relations):
            raise _damaged(folder, "its vocabularies do not have the length dataset.json states")
        ticks = _read_array(folder / "times.npy", (None,))
        splits = {
            split: Facts(_read_array(folder / f"{split}.npy", (4, expected[split])))
            for split in SPLITS
        }
        for split, facts in splits.items():
            _check_ids(folder / f"{split}.npy", facts, len(entities), len(relations))
        return cls(name, entities, relations, Timeline(unit, start, dated, ticks), splits, notes)


def is_prepared(folder: Path) -> bool:
    """Whether a folder looks like a prepared data set, whole or not."""
    return (folder / MANIFEST).exists()


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def _read_json(path: Path, kind: type) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or "not readable as JSON") from None
    if not isinstance(content, kind):
        raise _damaged(path, "not of the expected form")
    return content


def _read_names(path: Path) -> list[str]:
    names: list[str] = _read_json(path, list)
    if not all(isinstance(name, str) for name in names):
        raise _damaged(path, "not a list of names")
    return names


def _check_ids(path: Path, facts: Facts, num_entities: int, num_relations: int) -> None:
    """Refuse ids without a name, before they become an index out of range far from here."""
    columns = (facts.subjects, num_entities), (facts.relations, num_relations)
    for ids, count in (*columns, (facts.objects, num_entities)):
        if len(ids) and not (ids.min() >= 0 and ids.max() < count):
            raise _damaged(path, "it has ids that no name belongs to")


def _read_array(path: Path, shape: tuple[int | None, ...]) -> NDArray[Any]:
    try:
        array: NDArray[Any]
        if 0 in shape:  # numpy cannot map an array of no length, and need not
            with path.open("rb") as stream:
                array = np.lib.format.read_array(stream, allow_pickle=False)
        else:
            array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a mangled header fails in many ways
        reason = getattr(error, "strerror", None) or "cut short or not an array"
        raise _damaged(path, reason) from None
    fits = array.ndim == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind != "i":
        raise _damaged(path, f"holds {array.dtype} of shape {array.shape}, not integers of {shape}")
    return array


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path} is damaged or half-written ({reason}); prepare the data set again")
