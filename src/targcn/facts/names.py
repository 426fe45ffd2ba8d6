"""Find entities and relations by what one remembers of their names."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from targcn.facts.dataset import OPEN, Dataset
from targcn.facts.vocabulary import fold, suggest
from targcn.output.tables import Column, Table


@dataclass(frozen=True)
class FoundName:
    """An entity or a relation: in how many facts it is, and when first and last.

    Of intervals, the first and the last time that is known.
    """

    kind: str
    name: str
    num_facts: int
    first: str | None
    last: str | None


class NameIndex:
    """The names of one kind, the commonest first, as people write them; built once."""

    def __init__(self, dataset: Dataset, kind: Literal["entity", "relation"]) -> None:
        facts = dataset.facts
        self.label = dataset.timeline.label
        self.vocabulary = dataset.entities if kind == "entity" else dataset.relations
        names = self.vocabulary.names
        first, last = facts.columns[3], facts.columns[-1]
        first, last = np.where(first == OPEN, last, first), np.where(last == OPEN, first, last)
        # How many facts each name is in, and the first and the last time that is known of them.
        self.counts = np.zeros(len(names), dtype=np.int64)
        self.firsts = np.full(len(names), np.iinfo(np.int64).max)
        self.lasts = np.full(len(names), -1)
        columns = (facts.subjects, facts.objects) if kind == "entity" else (facts.relations,)
        for place, ids in enumerate(columns):
            # A fact of an entity with itself counts once.
            counted = ids[ids != facts.subjects] if place else ids
            self.counts += np.bincount(counted, minlength=len(names))
            np.minimum.at(self.firsts, ids, first)
            np.maximum.at(self.lasts, ids, last)
        counts = self.counts.tolist()
        self.ids = sorted(range(len(names)), key=lambda number: (-counts[number], names[number]))
        # Their names without case and accents.
        self.folded = [fold(names[number]) for number in self.ids]

    def find(self, text: str, top: int | None = None) -> list[FoundName]:
        """The commonest names that hold every word of a text; one that is the text leads."""
        wanted = fold(text)
        words = wanted.split()
        holding = [
            place for place, name in enumerate(self.folded) if all(word in name for word in words)
        ]
        holding.sort(key=lambda place: self.folded[place] != wanted)
        return [self._describe(self.ids[place]) for place in holding[:top]]

    def similar(self, text: str) -> list[FoundName]:
        """The names most like a text that no name holds."""
        names = self.vocabulary.names
        return [self._describe(self.vocabulary.id_of(name)) for name in suggest(text, names)]

    def _describe(self, number: int) -> FoundName:
        count = int(self.counts[number])
        first = self.label(int(self.firsts[number])) if count else None
        last = self.label(int(self.lasts[number])) if count else None
        return FoundName(self.vocabulary.kind, self.vocabulary.names[number], count, first, last)


def find_names(dataset: Dataset, text: str = "") -> list[FoundName]:
    """The entities and relations that hold every word of a text, the commonest first.

    A name that is the text leads. Where none holds it, the most similar names are given.

    >>> from targcn.facts.open import open_dataset
    >>> names = find_names(open_dataset("congress"), "obama")
    >>> [(name.kind, name.name, name.first) for name in names]
    [('entity', 'Barack Obama', '2005')]
    """
    kinds = (NameIndex(dataset, "entity"), NameIndex(dataset, "relation"))
    chosen = [name for names in kinds for name in names.find(text)]
    chosen = chosen or [name for names in kinds for name in names.similar(text)]
    wanted = fold(text)
    return sorted(chosen, key=lambda name: (fold(name.name) != wanted, -name.num_facts, name.name))


def names_table(names: list[FoundName], text: str, top: int) -> Table:
    """The first names as a table."""
    columns = (
        Column("name", "name"),
        Column("kind", "kind"),
        Column("num_facts", "facts", ",d"),
        Column("first", "first"),
        Column("last", "last"),
    )
    rows = tuple(vars(name) for name in names[:top])
    notes = []
    words = fold(text).split()
    if names and not all(word in fold(names[0].name) for word in words):
        notes.append(f"No name holds {text!r}; these are the most similar.")
    if not names:
        notes.append(f"No name holds {text!r}, and none is similar.")
    if len(names) > top:
        notes.append(f"{len(names) - top:,} more; --top shows them.")
    return Table(columns, rows, notes=tuple(notes))
