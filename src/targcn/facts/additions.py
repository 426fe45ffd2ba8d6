"""Facts newer than a data set: they join its context, with entities and times that it never had."""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.columns import FactTable
from targcn.facts.dataset import NO_FACTS, Context, Dataset, Facts, Split, join_facts
from targcn.facts.encode import read_table_times
from targcn.facts.open import find_source
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_source import TableSource
from targcn.facts.splits import distinct_facts, leave_out
from targcn.facts.timeline import CALENDAR_CODES, Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names, suggest


def add_facts(
    dataset: Dataset, source: object, context: Context, asked: Split | None = None
) -> Dataset:
    """The data set with the facts of a table, such as a file or a frame, added to its context.

    New entities get ids after the others. Facts that the context holds are not added again, and
    those of the split that is asked about are left out: they are the answers. `additions` of the
    data set counts both.
    """
    table = _read_table(source)
    entities, relations = dataset.entities, dataset.relations
    named = pl.concat([table.frame["subject"], table.frame["object"]]).unique()
    known = set(entities.names)
    new_names = sort_names(name for name in named.to_list() if name not in known)
    entities = Vocabulary(entities.kind, [*entities.names, *new_names])
    facts = distinct_facts(
        Facts.of(
            _ids_of(table, "subject", entities),
            _ids_of(table, "relation", relations),
            _ids_of(table, "object", entities),
            _ticks_of(table, dataset.timeline),
        )
    )
    fresh = leave_out(facts, dataset.context(context))
    added = leave_out(fresh, dataset.splits.get(asked, NO_FACTS) if asked else NO_FACTS)
    ticks = np.concatenate([dataset.timeline.ticks, added.times])
    note = f"facts of {table.where}: {len(added):,} added to the context"
    if held := len(facts) - len(fresh):
        note += f", {held:,} in it already"
    if left_out := len(fresh) - len(added):
        note += f", {left_out:,} left out since the {asked} split asks about them"
    return replace(
        dataset,
        entities=entities,
        timeline=dataset.timeline.with_ticks(ticks),
        added=join_facts(dataset.added, added),
        num_new_entities=dataset.num_new_entities + len(new_names),
        additions=(*dataset.additions, note),
    )


def _read_table(source: object) -> FactTable:
    kind = find_source(source)
    if isinstance(kind, TableSource):
        return kind.read_table(source, ReadOptions())
    raise InputError(f"{source} is {kind.title}; facts to add are one table, a file or a frame")


def _ids_of(table: FactTable, role: str, vocabulary: Vocabulary) -> NDArray[np.int32]:
    names = table.frame[role]
    ids = names.cast(pl.Enum(list(vocabulary.names)), strict=False).to_physical()
    if ids.null_count():
        name = names.filter(ids.is_null())[0]
        nearest = suggest(name, vocabulary.names, limit=1)
        hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
        raise InputError(
            f"{table.where}: the {role} {name!r} is new{hint}, and a model can use only those that "
            "it was trained with; leave its facts out, or train again with them"
        )
    return ids.cast(pl.Int32).to_numpy()


def _ticks_of(table: FactTable, timeline: Timeline) -> NDArray[np.int64]:
    """The times as ticks of a timeline, which must not begin later."""
    style = timeline.style
    options = ReadOptions(
        timezone=style.timezone,
        date_order=style.date_order,
        date_format=style.date_format,
        # An undated timeline counts plain steps, whatever they are called.
        unit=None if timeline.dated else "step",
        tick=None if timeline.dated else timeline.step,
    )
    times = read_table_times(table, options)
    if times.dated != timeline.dated:
        raise InputError(
            f"{table.where}: the times are whole numbers, but those of the data are dates by "
            f"{timeline.unit}; write them like {timeline.last}"
        )
    ticks: NDArray[np.int64] = times.values.to_numpy()
    if timeline.dated:
        moments = ticks.astype(f"M8[{CALENDAR_CODES[times.unit]}]")
        ticks = moments.astype(f"M8[{CALENDAR_CODES[timeline.unit]}]").astype(np.int64)
    ticks = ticks - timeline.start
    if (first := int(ticks.min())) < 0:
        raise InputError(
            f"{table.where}: {timeline.label(first)} is before {timeline.label(0)}, where the data "
            "begin; leave earlier facts out, or train again with them"
        )
    return ticks
