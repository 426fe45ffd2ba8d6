"""From tables of names and times to a data set of ids and ticks."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Dataset, Facts, Split
from targcn.facts.reading.cells import distinct_texts, translate
from targcn.facts.reading.columns import NAMES
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.splits import ROWS_AT_ONCE, distinct_facts, find_repetitions, split_facts
from targcn.facts.times.column import Times
from targcn.facts.times.read import read_times
from targcn.facts.times.timeline import OPEN, Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names


def encode_table(name: str, table: FactTable, options: ReadOptions) -> Dataset:
    """Encode one table and split it; repeated facts are kept once."""
    where = table.where
    times = read_times(table, options)
    notes = [*table.notes, *times.notes]
    num_rows = table.frame.height
    names = {role: table.frame[role] for role in NAMES}
    del table  # each column is freed as soon as it is encoded
    timeline, ticks = _encode_times(times)
    del times
    entities, relations, facts = _encode(names, ticks)
    facts = distinct_facts(facts)
    if len(facts) < 3:
        raise InputError(
            f"{where} has {len(facts)} distinct facts; train, valid and test need at least 3"
        )
    if repeated := num_rows - len(facts):
        notes.append(f"{repeated:,} repeated facts of the table were dropped")
    split_note = "split by time: valid is later than train, test is later than valid"
    if options.split == "random":
        split_note = f"split at random with seed {options.split_seed}"
    splits = split_facts(facts, options)
    return Dataset(name, entities, relations, timeline, splits, tuple(notes), (split_note,))


def encode_splits(
    name: str,
    tables: Mapping[Split, FactTable],
    options: ReadOptions,
    entity_names: Sequence[str] = (),
    relation_names: Sequence[str] = (),
) -> Dataset:
    """Encode tables that come split and keep them as they are.

    Names that no table holds may be given as well, and get ids too.
    """
    whole = _join_tables(name, tables)
    try:
        times = read_times(whole, options)
    except InputError:
        # If the cells of one file alone are at fault, its own error names its rows.
        for table in tables.values():
            read_times(table, options)
        raise
    names = {role: whole.frame[role] for role in NAMES}
    timeline, ticks = _encode_times(times)
    entities, relations, facts = _encode(names, ticks, entity_names, relation_names)
    borders = np.cumsum([tables[split].frame.height for split in SPLITS[:-1]])
    parts = np.split(facts.columns, borders, axis=1)
    splits = {split: Facts(part) for split, part in zip(SPLITS, parts, strict=True)}
    notes = [f"{split}: {note}" for split, table in tables.items() for note in table.notes]
    notes += times.notes
    repetitions = find_repetitions(splits)
    return Dataset(name, entities, relations, timeline, splits, tuple(notes), repetitions)


def _join_tables(name: str, tables: Mapping[Split, FactTable]) -> FactTable:
    where = ", ".join(table.where for table in tables.values())
    has_intervals = [table.has_intervals for table in tables.values()]
    if len(set(has_intervals)) > 1:
        raise InputError(
            f"{name}: of {where}, some have a time, others a start and an end; give all the same "
            "columns"
        )
    # A column of a file may be all open, and then has no type.
    how: Literal["vertical_relaxed", "vertical"]
    how = "vertical_relaxed" if all(has_intervals) else "vertical"
    try:
        return FactTable(where, pl.concat([tables[split].frame for split in SPLITS], how=how))
    except pl.exceptions.PolarsError:
        raise InputError(
            f"{name}: the times of {where} are of different types, such as text and numbers; "
            "write them alike"
        ) from None


def _encode_times(times: Times) -> tuple[Timeline, list[NDArray[Any]]]:
    """The ticks of all times, or of all starts and all ends."""
    columns = times.columns
    start = min(int(column.min()) for column in columns if column.count())  # type: ignore[arg-type]
    last = max(int(column.max()) for column in columns if column.count())  # type: ignore[arg-type]
    fits = last - start <= np.iinfo(np.int32).max
    ticks, known = [], np.zeros(0, dtype=np.int64)
    for column in columns:
        ticks.append(np.empty(len(column), dtype=np.int32 if fits else np.int64))
        for first in range(0, len(column), ROWS_AT_ONCE):
            part = (column.slice(first, ROWS_AT_ONCE) - start).fill_null(OPEN).to_numpy()
            ticks[-1][first : first + len(part)] = part
            known = np.union1d(known, part[part != OPEN])
    timeline = Timeline(times.unit, start, times.dated, known, times.step, times.style)
    return timeline, ticks


def _encode(
    names: dict[str, pl.Series],
    ticks: list[NDArray[Any]],
    entity_names: Sequence[str] = (),
    relation_names: Sequence[str] = (),
) -> tuple[Vocabulary, Vocabulary, Facts]:
    """Ids for the cells of all names, which are taken out of their mapping."""
    entities, (subjects, objects) = _encode_names(
        "entity", [names.pop("subject"), names.pop("object")], entity_names
    )
    relations, (relation_ids,) = _encode_names("relation", [names.pop("relation")], relation_names)
    return entities, relations, Facts.of(subjects, relation_ids, objects, *ticks)


def _encode_names(
    kind: str, columns: list[pl.Series], others: Sequence[str]
) -> tuple[Vocabulary, list[NDArray[np.int32]]]:
    """Give sorted ids to the names in some columns, and to others."""
    names = sort_names({*distinct_texts(*columns), *others})
    ids, encoded = np.arange(len(names), dtype=np.int32), []
    while columns:
        encoded.append(translate(columns.pop(0), pl.Series(names), ids).to_numpy())
    return Vocabulary(kind, names), encoded
