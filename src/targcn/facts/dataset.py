"""A data set: facts as integer columns in three splits, with their vocabularies and timeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.times.timeline import OPEN as OPEN
from targcn.facts.times.timeline import Timeline
from targcn.facts.vocabulary import Vocabulary
from targcn.files import atomic_folder
from targcn.output.tables import Shown, Table

Split = Literal["train", "valid", "test"]
Context = Literal["train", "train+valid", "all", "past"]
SPLITS: Final[tuple[Split, ...]] = ("train", "valid", "test")
# The splits that a model may look at.
CONTEXTS: Final[Mapping[Context, tuple[Split, ...]]] = {
    "train": SPLITS[:1],
    "train+valid": SPLITS[:2],
    "all": SPLITS,
    "past": SPLITS,
}
# Facts that a data set shows of itself.
NUM_SHOWN: Final = 4


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts as an array with four rows: subjects, relations, objects, times.

    Facts that hold over an interval have a fifth row, their last ticks; their times are the first
    ones. Either may be OPEN.
    """

    columns: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, *columns: object) -> "Facts":
        """Stack four or five columns, as 32-bit integers if they fit, as 64-bit ones otherwise.

        >>> Facts.of([0, 1], [0, 0], [1, 2], [5, 7]).times
        array([5, 7], dtype=int32)
        """
        arrays = [np.asarray(column) for column in columns]
        low = min(array.min(initial=0) for array in arrays)
        high = max(array.max(initial=0) for array in arrays)
        fits = np.iinfo(np.int32).min <= low and high <= np.iinfo(np.int32).max
        dtype = np.int32 if fits else np.int64
        stacked: NDArray[np.integer[Any]] = np.stack(arrays, dtype=dtype, casting="unsafe")
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
        """The times; of intervals the first ticks, which are 0 where they are open."""
        times = np.asarray(self.columns[3])
        return np.maximum(times, 0) if self.has_intervals else times

    @property
    def has_intervals(self) -> bool:
        return bool(self.columns.shape[0] > 4)

    @property
    def ends(self) -> NDArray[Any]:
        """The last ticks; the largest number there is where they are open.

        >>> Facts.of([0, 1], [0, 0], [1, 2], [5, OPEN], [7, OPEN]).ends
        array([         7, 2147483647], dtype=int32)
        """
        if not self.has_intervals:
            return self.times
        ends = np.asarray(self.columns[4])
        return np.where(ends == OPEN, np.iinfo(ends.dtype).max, ends)

    @property
    def last_time(self) -> int:
        """The last tick at which one is known to begin, to be or to end."""
        return max(int(row.max(initial=0)) for row in self.columns[3:])

    def where(self, kept: NDArray[Any]) -> "Facts":
        """The facts at some positions, or where a mask is true."""
        count = int(np.count_nonzero(kept)) if kept.dtype == bool else len(kept)
        columns = np.empty((len(self.columns), count), dtype=self.columns.dtype)
        # Column by column: an index of both would leave the columns interleaved.
        for number, column in enumerate(self.columns):
            columns[number] = column[kept]
        return Facts(columns)


NO_FACTS: Final = Facts.of([], [], [], [])


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Shown):
    """Facts in three splits, and the names and dates that their numbers stand for."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    timeline: Timeline
    splits: Mapping[Split, Facts]
    # What a user should know about the source, and about its splits.
    source_notes: tuple[str, ...] = ()
    split_notes: tuple[str, ...] = ()
    # Facts newer than the splits: they join every context. Entities that only they name come last.
    added: Facts = NO_FACTS
    num_new_entities: int = 0
    # What was added, in words.
    additions: tuple[str, ...] = ()
    # The prepared folder that its splits are mapped from, if any.
    folder: Path | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        return self.source_notes + self.split_notes

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
        """The facts of all splits and the added ones: everything that is known to be true."""
        return join_facts(*self.splits.values(), self.added)

    @property
    def has_intervals(self) -> bool:
        """Whether facts have a beginning and an end."""
        return any(facts.has_intervals for facts in (*self.splits.values(), self.added))

    def context(self, context: Context) -> Facts:
        """The facts a model may look at; facts reach a model in no other way.

        Of the past, whatever their split, each query sees those before its time (graph/).
        """
        if context not in CONTEXTS:
            listed = "train, train+valid, all or past"
            raise InputError(f"context {context!r} is unknown; choose {listed}")
        return join_facts(*(self.splits[split] for split in CONTEXTS[context]), self.added)

    @property
    def new_entities(self) -> Sequence[str]:
        """The entities that came with added facts: no model was trained on them."""
        return self.entities.names[len(self.entities) - self.num_new_entities :]

    @property
    def addition(self) -> str:
        """What was added, to be put after the name of the data set or of a context."""
        count = len(self.added)
        return f" with {count:,} added fact{'' if count == 1 else 's'}" if count else ""

    @property
    def summary(self) -> str:
        """How much there is of everything."""
        counts = " / ".join(f"{len(self.splits[split]):,}" for split in SPLITS)
        timeline = self.timeline
        return (
            f"{counts} facts ({' / '.join(SPLITS)}), {len(self.entities):,} entities, "
            f"{len(self.relations):,} relations, {len(timeline.ticks):,} times from "
            f"{timeline.first} to {timeline.last} by {timeline.unit}"
        )

    def as_table(self) -> Table:
        """The summary, some facts of train, and the notes."""
        num_facts = len(self.train)
        num_shown = min(NUM_SHOWN, num_facts)
        positions = [num_facts * part // num_shown for part in range(num_shown)]
        labels = ("subject", "relation", "object", "time")
        rows = [self.named("train", position) for position in positions]
        title = f"{self.name}{self.addition}: {self.summary}"
        return Table.of_text(labels, rows, title, *(f"note: {note}" for note in self.notes))

    def named(self, split: Split, position: int) -> tuple[str, str, str, str]:
        """One fact in words: subject, relation, object, and its date or interval."""
        subject, relation, object_, *times = self.splits[split].columns[:, position].tolist()
        entities, relations = self.entities.names, self.relations.names
        label = self.timeline.label if len(times) == 1 else self.timeline.label_interval
        return entities[subject], relations[relation], entities[object_], label(*times)

    def save(self, folder: Path | str) -> None:
        """Write a prepared folder; it appears whole or not at all."""
        with atomic_folder(Path(folder)) as draft:
            self.write_into(draft)

    def write_into(self, folder: Path) -> None:
        """Write the files of a prepared folder into an existing, empty one."""
        from targcn.facts.sources.prepared_folder import write_prepared

        write_prepared(self, folder)

    @classmethod
    def load(cls, folder: Path | str) -> "Dataset":
        from targcn.facts.sources.prepared_folder import load_prepared

        return load_prepared(Path(folder))


def join_facts(*parts: Facts) -> Facts:
    """All facts of some parts; a single part that has any is not copied.

    Beside intervals, a fact of one time is an interval of one tick.
    """
    filled = [facts for facts in parts if len(facts)] or [NO_FACTS]
    if len(filled) == 1:
        return filled[0]
    if any(facts.has_intervals for facts in filled):
        filled = [as_intervals(facts) for facts in filled]
    return Facts(np.concatenate([facts.columns for facts in filled], axis=1))


def as_intervals(facts: Facts) -> Facts:
    """The same facts; those of one time hold over intervals of one tick."""
    return facts if facts.has_intervals else Facts(facts.columns[[0, 1, 2, 3, 3]])
