"""From tables of names and times to a data set of ids and ticks."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.columns import FactTable
from targcn.facts.dataset import SPLITS, Dataset, Facts, Split
from targcn.facts.dates import read_intervals, read_times
from targcn.facts.moments import Times
from targcn.facts.read_options import ReadOptions
from targcn.facts.splits import distinct_facts, find_repetitions, split_facts
from targcn.facts.timeline import OPEN, Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names


def encode_table(name: str, table: FactTable, options: ReadOptions) -> Dataset:
    """Encode one table and split it; repeated facts are kept once."""
    where = table.where
    times = read_table_times(table, options)
    entities, relations, timeline, all_facts = _encode(table.frame, times)
    notes = [*table.notes, *times.notes]
    del table  # frees the text before the facts are sorted
    facts = distinct_facts(all_facts)
    if len(facts) < 3:
        raise InputError(
            f"{where} has {len(facts)} distinct facts; train, valid and test need at least 3"
        )
    if repeated := len(all_facts) - len(facts):
        notes.append(f"{repeated:,} repeated facts of the table were dropped")
    if options.split == "random":
        notes.append(f"split at random with seed {options.split_seed}")
    else:
        notes.append("split by time: valid is later than train, test is later than valid")
    splits = split_facts(facts, options)
    return Dataset(name, entities, relations, timeline, splits, tuple(notes))


def encode_splits(
    name: str,
    tables: Mapping[Split, FactTable],
    options: ReadOptions,
    entity_names: list[str] | None = None,
    relation_names: list[str] | None = None,
) -> Dataset:
    """Encode tables that come split and keep them as they are.

    If the source lists all its names by id, the tables may hold these ids instead of names.
    """
    whole = _join_tables(name, tables)
    faulty = [table for table in tables.values() if table.problems]
    try:
        times = _read_cells(whole, options)
    except InputError:
        # If the cells of one file alone are at fault, its own error names its rows.
        for table in faulty or tables.values():
            read_table_times(table, options)
        raise
    for table in faulty:
        read_table_times(table, options)
    frame = whole.frame
    entities, relations, timeline, facts = _encode(frame, times, entity_names, relation_names)
    borders = np.cumsum([tables[split].frame.height for split in SPLITS[:-1]])
    parts = np.split(facts.columns, borders, axis=1)
    splits = {split: Facts(part) for split, part in zip(SPLITS, parts, strict=True)}
    notes = [f"{split}: {note}" for split, table in tables.items() for note in table.notes]
    notes += [*times.notes, *find_repetitions(splits)]
    return Dataset(name, entities, relations, timeline, splits, tuple(notes))


def read_table_times(table: FactTable, options: ReadOptions) -> Times:
    """The times of a table; if they or other cells are at fault, one error says all of it."""
    problems = list(table.problems)
    times = None
    try:
        if table.frame.height:
            times = _read_cells(table, options)
    except InputError as error:
        problems.append(str(error).removeprefix(f"{table.where}: "))
    if times is None or problems:
        raise InputError(f"{table.where}: {'; '.join(problems)}")
    return times


def _read_cells(table: FactTable, options: ReadOptions) -> Times:
    frame = table.frame
    if table.has_intervals:
        return read_intervals(frame["start"], frame["end"], table.where, options, table.rows)
    return read_times(frame["time"], table.where, options, table.rows)


def _join_tables(name: str, tables: Mapping[Split, FactTable]) -> FactTable:
    where = ", ".join(table.where for table in tables.values())
    frames = [tables[split].frame for split in SPLITS]
    if len({table.has_intervals for table in tables.values()}) > 1:
        kinds = ("a time", "a start and an end")
        found = ", ".join(f"{kinds[one.has_intervals]} in {one.where}" for one in tables.values())
        raise InputError(f"{name}: the facts have {found}; give all the same columns")
    try:
        # A column of a file may be all open, and then has no type.
        if tables["train"].has_intervals:
            return FactTable(where, pl.concat(frames, how="vertical_relaxed"))
        return FactTable(where, pl.concat(frames))
    except pl.exceptions.PolarsError:
        when = "start" if tables["train"].has_intervals else "time"
        types = ", ".join(f"{one.frame[when].dtype} in {one.where}" for one in tables.values())
        raise InputError(f"{name}: the times are of different types: {types}") from None


def _encode(
    frame: pl.DataFrame,
    times: Times,
    entity_names: list[str] | None = None,
    relation_names: list[str] | None = None,
) -> tuple[Vocabulary, Vocabulary, Timeline, Facts]:
    entities, (subjects, objects) = _encode_names(
        "entity", [frame["subject"], frame["object"]], entity_names
    )
    relations, (relation_ids,) = _encode_names("relation", [frame["relation"]], relation_names)
    columns = [times.values] if times.ends is None else [times.values, times.ends]
    start = min(int(column.min()) for column in columns if column.count())  # type: ignore[arg-type]
    ticks = [(column - start).fill_null(OPEN).to_numpy() for column in columns]
    known = np.concatenate([np.unique(column[column != OPEN]) for column in ticks])
    timeline = Timeline.of(times.unit, start, times.dated, known, times.step, times.style)
    return entities, relations, timeline, Facts.of(subjects, relation_ids, objects, *ticks)


def _encode_names(
    kind: str, columns: list[pl.Series], listed: list[str] | None
) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
    """Give sorted ids to the names in some columns, or translate the ids that a source lists."""
    if listed is not None:
        names = sort_names(listed)
        old_ids = [column.cast(pl.Int64, strict=False) for column in columns]
        if not any(column.null_count() for column in old_ids):
            position = {name: new_id for new_id, name in enumerate(names)}
            new_ids = np.array([position[name] for name in listed], dtype=np.int32)
            return Vocabulary(kind, names), [new_ids[column.to_numpy()] for column in old_ids]
    else:
        names = sort_names(pl.concat([column.unique() for column in columns]).unique().to_list())
    vocabulary = Vocabulary(kind, names)
    encoded = []
    for column in columns:
        ids = column.cast(pl.Enum(names), strict=False).to_physical()
        if ids.null_count():
            vocabulary.id_of(column.filter(ids.is_null())[0])  # raises: the name is not listed
        encoded.append(ids.cast(pl.Int32).to_numpy())
    return vocabulary, encoded
