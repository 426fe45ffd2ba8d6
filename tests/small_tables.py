"""Small tables of facts, as frames, files and folders, and what is said about bad ones."""

import io
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Dataset
from targcn.facts.open import find_source, open_dataset
from targcn.facts.reading.cells import is_text
from targcn.facts.reading.options import ReadOptions

HEADER = ["subject", "relation", "object", "time"]
ROWS = [
    ("Ann", "visits", "Bob", "2014-01-01"),
    ("Bob", "meets", "Zoë", "2014-01-02"),
    ("Zoë", "visits", "Chad, the state", "2014-01-05"),
]
ENTITIES = ["Ann", "Bob", "Chad, the state", "Zoë"]
RELATIONS = ["meets", "visits"]


def as_frame(rows) -> pl.DataFrame:
    """Facts of one time, or with a start and an end."""
    header = HEADER if len(rows[0]) == 4 else [*HEADER[:3], "start", "end"]
    return pl.DataFrame(rows, schema=header, orient="row")


FRAME = as_frame(ROWS)
CSV = FRAME.write_csv()


def make_facts(number: int = 40, seed: int = 0) -> list[tuple[str, str, str, str]]:
    rng = random.Random(seed)
    rows = {
        (rng.choice(ENTITIES), rng.choice(RELATIONS), rng.choice(ENTITIES), f"2014-01-{day:02}")
        for day in range(1, 29, 3)
        for _ in range(20)
    }
    return rng.sample(sorted(rows), number)


FACTS = make_facts()
PARTS = (FACTS[:30], FACTS[30:35], FACTS[35:])


def as_bytes(write, **options) -> bytes:
    stream = io.BytesIO()
    write(stream, **options)
    return stream.getvalue()


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_table(source: object, options: ReadOptions | None = None) -> pl.DataFrame:
    """The facts of a table, its text as plain text."""
    frame = find_source(source).read_table(source, options or ReadOptions()).frame
    return frame.with_columns(column.cast(pl.String) for column in frame if is_text(column))


def complaint(source: object, options: ReadOptions | None = None) -> str:
    with pytest.raises(InputError) as caught:
        open_dataset(source, options)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def columns(dataset: Dataset) -> dict[str, list]:
    return {split: facts.columns.tolist() for split, facts in dataset.splits.items()}


def named(dataset: Dataset) -> dict[str, list]:
    return {
        split: [dataset.named(split, position) for position in range(len(facts))]
        for split, facts in dataset.splits.items()
    }


def write_splits(folder: Path, splits, ending="txt", **options) -> Path:
    folder.mkdir()
    for name, rows in zip(SPLITS, splits, strict=True):
        options = {"separator": "\t", "include_header": False, **options}
        as_frame(rows).cast(pl.String).write_csv(folder / f"{name}.{ending}", **options)
    return folder


def write_listing(folder: Path, entities=ENTITIES, relations=RELATIONS) -> None:
    for stem, names in (("entity2id", entities), ("relation2id", relations)):
        lines = "".join(f"{name}\t{position}\n" for position, name in enumerate(names))
        (folder / f"{stem}.txt").write_text(lines, encoding="utf-8")


def as_ids(rows, entities, relations):
    first_day = np.datetime64("2014-01-01")
    return [
        (
            entities.index(subject),
            relations.index(relation),
            entities.index(object_),
            int((np.datetime64(day) - first_day).astype(int)),
        )
        for subject, relation, object_, day in rows
    ]
