"""Facts newer than a data set: they join its context, with entities and times that it never had."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.dataset import NO_FACTS, Context, Dataset, Facts, Split, join_facts
from targcn.facts.reading.cells import distinct_texts, translate
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.table_source import find_table
from targcn.facts.splits import distinct_facts, leave_out, leave_out_held
from targcn.facts.times.read import read_times
from targcn.facts.times.timeline import OPEN, Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names, suggest


def add_facts(
    dataset: Dataset, source: object, context: Context, asked: Split | None = None
) -> Dataset:
    """The data set with the facts of a table, such as a file or a frame, added to its context.

    New entities get ids after the others. Facts that the context holds are not added again, and
    those of the split that is asked about are left out: they are the answers. `additions` of the
    data set counts both.
    """
    kind = find_table(source, source, "facts to add are one table, a file or a frame")
    table = kind.read_table(source, ReadOptions())
    if table.has_intervals and not dataset.has_intervals:
        raise InputError(
            f"{table.where}: its facts have a start and an end, but those of the data have one "
            "time; give them a column 'time' instead"
        )
    entities, relations = dataset.entities, dataset.relations
    named = distinct_texts(table.frame["subject"], table.frame["object"])
    new_names = sort_names(name for name in named if name not in entities)
    entities = Vocabulary(entities.kind, [*entities.names, *new_names])
    facts = distinct_facts(
        Facts.of(
            _ids_of(table, "subject", entities),
            _ids_of(table, "relation", relations),
            _ids_of(table, "object", entities),
            *_ticks_of(table, dataset.timeline),
        )
    )
    fresh = leave_out(facts, dataset.context(context))
    added = leave_out_held(fresh, dataset.splits.get(asked, NO_FACTS) if asked else NO_FACTS)
    times = added.columns[3:]
    ticks = np.concatenate([dataset.timeline.ticks, times[times != OPEN]])
    note = f"facts of {table.where}: {len(added):,} added to the context"
    if held := len(facts) - len(fresh):
        note += f", {held:,} in it already"
    if left_out := len(fresh) - len(added):
        note += f", {left_out:,} left out since the {asked} split asks about them"
    return replace(
        dataset,
        entities=entities,
        timeline=replace(dataset.timeline, ticks=ticks),
        added=join_facts(dataset.added, added),
        num_new_entities=dataset.num_new_entities + len(new_names),
        additions=(*dataset.additions, note),
    )


def _ids_of(table: FactTable, role: str, vocabulary: Vocabulary) -> NDArray[np.int32]:
    cells = table.frame[role]
    texts = distinct_texts(cells)
    unknown = [text for text in texts if text not in vocabulary]
    if unknown:
        name = cells.filter(cells.is_in(unknown))[0]
        nearest = suggest(name, vocabulary.names, limit=1)
        hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
        raise InputError(
            f"{table.where}: the {role} {name!r} is new{hint}, and a model can use only those that "
            "it was trained with; leave its facts out, or train again with them"
        )
    ids = np.array([vocabulary.id_of(text) for text in texts], dtype=np.int32)
    return translate(cells, texts, ids).to_numpy()


def _ticks_of(table: FactTable, timeline: Timeline) -> list[NDArray[np.int64]]:
    """The times, or starts and ends, as ticks of a timeline, which must not begin later."""
    style = timeline.style
    options = ReadOptions(
        timezone=style.timezone,
        date_order=style.date_order,
        date_format=style.date_format,
        # An undated timeline counts plain steps, whatever they are called.
        unit=None if timeline.dated else "step",
        tick=None if timeline.dated else timeline.step,
    )
    times = read_times(table, options, timeline.unit)
    if times.dated != timeline.dated:
        raise InputError(
            f"{table.where}: the times are whole numbers, but those of the data are dates by "
            f"{timeline.unit}; write them like {timeline.last}"
        )
    columns = times.columns
    first = min(int(column.min()) for column in columns if column.count())  # type: ignore[arg-type]
    if first < timeline.start:
        raise InputError(
            f"{table.where}: {timeline.label(first - timeline.start)} is before "
            f"{timeline.label(0)}, where the data begin; leave earlier facts out, or train again "
            "with them"
        )
    return [(column - timeline.start).fill_null(OPEN).to_numpy() for column in columns]
