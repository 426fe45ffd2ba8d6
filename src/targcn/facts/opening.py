"""From any source to a Dataset.

Takes a name of the catalogue, a prepared folder, a folder with train/valid/test, a file or a
frame; gives names their ids, times their ticks, and says what was noticed. A prepared folder
needs numpy alone: polars is imported only for what must be parsed. Next room: dataset, graph.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.catalog import CATALOG, NamedSet, Progress, fetch
from targcn.facts.dataset import SPLITS, Dataset, Facts, Split, is_prepared
from targcn.facts.reading import Reading
from targcn.facts.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names, suggest

if TYPE_CHECKING:
    import polars as pl

EMBEDDED: Final = "congress"
EMBEDDED_FILE: Final = Path(__file__).with_name("congress.parquet")
# What the files of a split folder may be called.
STEMS: Final[dict[Split, tuple[str, ...]]] = {
    "train": ("train",),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test",),
}


def open_dataset(
    source: object = EMBEDDED, reading: Reading | None = None, progress: Progress | None = None
) -> Dataset:
    """Open a data set by name, folder, file or frame.

    >>> congress = open_dataset("congress")
    >>> congress.timeline.unit, congress.timeline.first
    ('year', '1945')
    >>> open_dataset("icews41")
    Traceback (most recent call last):
    targcn.errors.InputError: no data set, folder or file 'icews41'; did you mean 'icews14'?
    """
    reading = reading or Reading()
    if isinstance(source, str) and source == EMBEDDED:
        return _from_table(EMBEDDED, EMBEDDED_FILE, reading)
    if isinstance(source, str) and source in CATALOG:
        return _open_named(CATALOG[source], reading, progress)
    if not isinstance(source, str | Path):
        return _from_table("frame", source, reading)
    # os.path, unlike Path, answers False where a name is too long or a home is not known.
    path = Path(os.path.expanduser(source))
    if os.path.isdir(path):
        return _open_folder(path, path.resolve().name, reading)
    if os.path.exists(path):
        return _from_table(path.name.split(".")[0], path, reading)
    nearest = suggest(str(source), [EMBEDDED, *CATALOG], limit=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "'targcn data list' shows the named sets"
    raise InputError(f"no data set, folder or file {str(source)!r}; {hint}")


def _open_named(named: NamedSet, reading: Reading, progress: Progress | None) -> Dataset:
    folder = fetch(named, progress)
    # Published as dates, or as integer days counted from the first one.
    dataset = _open_folder(folder, named.name, reading, named.origin)
    found = tuple(len(dataset.splits[split]) for split in SPLITS)
    wanted = named.num_facts
    if found != wanted or len(dataset.entities) != named.num_entities:
        raise InputError(
            f"{folder} is not {named.name}: {found} facts of {len(dataset.entities)} entities "
            f"where {wanted} of {named.num_entities} were published; fetch it again"
        )
    return dataset


def _open_folder(folder: Path, name: str, reading: Reading, origin: str | None = None) -> Dataset:
    if is_prepared(folder):
        if reading != Reading():
            raise InputError(
                f"{name} is prepared, its columns, times and splits are settled; leave out how to "
                "read it, or prepare it again from its source"
            )
        return Dataset.load(folder)
    from targcn.facts.tables import is_table, read_table

    files: dict[Split, Path] = {}
    try:
        tables = sorted(path for path in folder.iterdir() if path.is_file() and is_table(path))
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror}") from None
    for split, stems in STEMS.items():
        matching = [path for path in tables if path.name.split(".")[0].lower() in stems]
        if len(matching) != 1:
            problem = f"{len(matching)} files" if matching else "no file"
            raise InputError(
                f"{folder} has {problem} for the {split} split; a prepared folder holds "
                f"dataset.json, a folder of tables one each of train, valid and test"
            )
        files[split] = matching[0]
    if (reading.split, reading.split_seed) != (Reading.split, Reading.split_seed):
        raise InputError(f"{name} comes with splits of its own; leave out --split and --split-seed")
    if origin and reading.origin:
        raise InputError(f"{name} is counted from {origin}; leave out --origin")
    reading = replace(reading, origin=origin or reading.origin)
    frames = {split: read_table(path, reading) for split, path in files.items()}
    return _from_splits(name, frames, files, folder, reading)


def _from_splits(
    name: str,
    frames: dict[Split, pl.DataFrame],
    files: dict[Split, Path],
    folder: Path,
    reading: Reading,
) -> Dataset:
    import polars as pl

    from targcn.facts.dates import read_times

    listed_entities = _read_listing(folder, "entity2id")
    listed_relations = _read_listing(folder, "relation2id")
    sizes = [frame.height for frame in frames.values()]
    where = ", ".join(path.name for path in files.values())
    try:
        frame = pl.concat(frames.values(), how="vertical")
    except pl.exceptions.PolarsError:
        kinds = ", ".join(
            f"{frame['time'].dtype} in {files[s].name}" for s, frame in frames.items()
        )
        raise InputError(f"{folder}: the times differ in kind: {kinds}") from None
    try:
        times = read_times(frame["time"], where, reading)
    except InputError:
        # Say it of the one file that has the rows, where one file alone is at fault.
        for split, one in frames.items():
            read_times(one["time"], files[split].name, reading)
        raise
    if listed_entities or listed_relations:
        _check_ranges(frames, files, listed_entities, listed_relations)
    entities, (subjects, objects) = _encode(
        "entity", [frame["subject"], frame["object"]], listed_entities
    )
    relations, (relation_ids,) = _encode("relation", [frame["relation"]], listed_relations)
    start, ticks = _ticks(times.values)
    bounds = np.cumsum([0, *sizes])
    columns = Facts.of(subjects, relation_ids, objects, ticks)
    splits = {
        split: Facts(columns.columns[:, bounds[i] : bounds[i + 1]])
        for i, split in enumerate(SPLITS)
    }
    timeline = Timeline.of(times.unit, start, times.dated, ticks)
    return Dataset(name, entities, relations, timeline, splits, tuple(_overlaps(splits)))


def _from_table(name: str, source: object, reading: Reading) -> Dataset:
    """One table: facts that stand in it twice are kept once, then it is split."""
    import polars as pl

    from targcn.facts.dates import read_times
    from targcn.facts.tables import read_table

    where = source.name if isinstance(source, Path) else "the frame"
    frame = read_table(source, reading)
    times = read_times(frame["time"], where, reading)
    entities, (subjects, objects) = _encode("entity", [frame["subject"], frame["object"]], None)
    relations, (relation_ids,) = _encode("relation", [frame["relation"]], None)
    del frame
    start, ticks = _ticks(times.values)
    # Sorted, so that the order of the rows changes neither the split nor anything after it.
    table = pl.DataFrame([subjects, relation_ids, objects, ticks], schema=["s", "r", "o", "t"])
    distinct = table.unique().sort("t", "s", "r", "o")
    notes = []
    if distinct.height < table.height:
        repeated = table.height - distinct.height
        notes.append(f"{repeated:,} facts stand in the table more than once and are kept once")
    if distinct.height < 3:
        raise InputError(
            f"{where} has {distinct.height} distinct facts; at least 3 are needed for train, valid "
            "and test"
        )
    facts = Facts.of(*(distinct[column].to_numpy() for column in "srot"))
    splits = split_facts(facts, reading)
    notes.append(
        f"split at random with seed {reading.split_seed}"
        if reading.split == "random"
        else "split by time: valid is later than train, test later than valid"
    )
    timeline = Timeline.of(times.unit, start, times.dated, facts.times)
    return Dataset(name, entities, relations, timeline, splits, tuple(notes))


def split_facts(facts: Facts, reading: Reading) -> dict[Split, Facts]:
    """Split 80/10/10, at random or by time; facts must be sorted by time.

    By time, no moment is shared: the borders lie between two distinct times.
    """
    num_held_out = max(len(facts) // 10, 1)
    borders = [len(facts) - 2 * num_held_out, len(facts) - num_held_out]
    order = np.arange(len(facts))
    if reading.split == "random":
        order = np.random.default_rng(reading.split_seed).permutation(len(facts))
    else:
        borders = [int(np.searchsorted(facts.times, facts.times[border])) for border in borders]
        if not 0 < borders[0] < borders[1]:
            raise InputError(
                "too few distinct times to split by time; give --split random or finer times"
            )
    train, valid, test = np.split(order, borders)
    return {
        "train": facts.where(np.sort(train)),
        "valid": facts.where(np.sort(valid)),
        "test": facts.where(np.sort(test)),
    }


def _ticks(values: pl.Series) -> tuple[int, NDArray[np.int64]]:
    numbers = values.to_numpy()
    start = int(numbers.min())
    return start, numbers - start


def _encode(
    kind: str, columns: list[pl.Series], listed: list[str] | None
) -> tuple[Vocabulary, list[NDArray[Any]]]:
    """Give sorted ids to the names in these columns, or translate the ids of a listing file."""
    import polars as pl

    if listed is not None:
        names = sort_names(listed)
        as_listed = [column.cast(pl.Int64, strict=False) for column in columns]
        if not any(column.null_count() for column in as_listed):
            position = {name: new for new, name in enumerate(names)}
            new_ids = np.array([position[name] for name in listed], dtype=np.int32)
            return Vocabulary(kind, names), [new_ids[column.to_numpy()] for column in as_listed]
    else:
        distinct = pl.concat([column.unique() for column in columns]).unique()
        names = sort_names(distinct.to_list())
    vocabulary = Vocabulary(kind, names)
    coding = pl.Enum(names)
    encoded = []
    for column in columns:
        codes = column.cast(coding, strict=False).to_physical()
        if codes.null_count():
            vocabulary.id_of(column.filter(codes.is_null())[0])
        encoded.append(codes.cast(pl.Int32).to_numpy())
    return vocabulary, encoded


def _read_listing(folder: Path, stem: str) -> list[str] | None:
    """Names in the order of their ids, from entity2id.txt or relation2id.txt."""
    path = folder / f"{stem}.txt"
    if not path.is_file():
        return None
    by_id: dict[int, str] = {}
    try:
        # Not splitlines: names may hold the rarer line ends of Unicode.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        # Some publishers put the count of names on a first line of its own.
        if not line.strip() or (number == 1 and "\t" not in line and line.strip().isdigit()):
            continue
        name, tab, written = line.rpartition("\t")
        if not tab or not re.fullmatch("[0-9]{1,9}", written.strip()):
            raise InputError(f"{path.name}, line {number}: a name, a tab and an id were expected")
        if by_id.setdefault(int(written), name.strip()) != name.strip():
            raise InputError(f"{path.name}, line {number}: id {int(written)} was given before")
    if not by_id:
        raise InputError(f"{path.name} lists no names; fill it or remove it")
    if sorted(by_id) != list(range(len(by_id))):
        raise InputError(f"{path.name}: the ids do not run from 0 to {len(by_id) - 1}")
    names = [by_id[position] for position in range(len(by_id))]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{path.name}: the name {twice!r} stands for two ids")
    return names


def _check_ranges(
    frames: dict[Split, pl.DataFrame],
    files: dict[Split, Path],
    entities: list[str] | None,
    relations: list[str] | None,
) -> None:
    """Refuse ids that the listing files do not have, saying where the first one stands."""
    import polars as pl

    for split, frame in frames.items():
        for role, listed in (("subject", entities), ("relation", relations), ("object", entities)):
            ids = frame[role].cast(pl.Int64, strict=False)
            if listed is None or ids.null_count():
                continue
            wrong = ((ids < 0) | (ids >= len(listed))).arg_true()
            if len(wrong):
                row = int(wrong[0])
                raise InputError(
                    f"{files[split].name}, row {row + 1}: {role} id {ids[row]} is out of range; "
                    f"the listing has ids 0 to {len(listed) - 1}"
                )


def _overlaps(splits: dict[Split, Facts]) -> list[str]:
    """Say how many facts stand twice; published splits are kept as they are."""
    import polars as pl

    frames = {
        split: pl.DataFrame(list(facts.columns), schema=["s", "r", "o", "t"])
        for split, facts in splits.items()
    }
    notes = []
    for split, frame in frames.items():
        repeated = frame.height - frame.n_unique()
        if repeated:
            notes.append(f"{repeated:,} facts stand more than once in {split}; kept as published")
    earlier = frames["train"]
    for split in SPLITS[1:]:
        shared = frames[split].join(earlier, on=["s", "r", "o", "t"], how="semi").height
        if shared:
            notes.append(
                f"{shared:,} facts of {split} stand in an earlier split too: their answers leak "
                "into training; kept as published"
            )
        earlier = pl.concat([earlier, frames[split]])
    return notes
