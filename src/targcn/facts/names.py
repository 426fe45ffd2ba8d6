"""Find entities and relations by what one remembers of their names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.vocabulary import Vocabulary, fold, suggest
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


def find_names(dataset: Dataset, text: str = "") -> list[FoundName]:
    """The names that hold every word of a text, whatever its case and accents, the commonest first.

    A name that is the text leads. Where none holds it, the most similar names are given.

    >>> from targcn.facts.open import open_dataset
    >>> found = find_names(open_dataset("congress"), "obama")
    >>> [(one.kind, one.name, one.first) for one in found]
    [('entity', 'Barack Obama', '2005')]
    """
    facts = dataset.facts
    loops = facts.subjects == facts.objects
    both = np.concatenate([facts.subjects, facts.objects[~loops]])
    known = np.stack(known_times(facts))
    wanted = fold(text)
    kinds = [
        (dataset.entities, both, np.concatenate([known, known[:, ~loops]], axis=1)),
        (dataset.relations, facts.relations, known),
    ]
    chosen = [_holding(vocabulary, wanted.split()) for vocabulary, _, _ in kinds]
    if not any(chosen):
        names = [vocabulary.names for vocabulary, _, _ in kinds]
        chosen = [[known.index(one) for one in suggest(text, known)] for known in names]
    found: list[FoundName] = []
    for (vocabulary, ids, when), ones in zip(kinds, chosen, strict=True):
        found += _describe(dataset, vocabulary, ones, ids, when)
    return sorted(found, key=lambda one: (fold(one.name) != wanted, -one.num_facts, one.name))


def names_table(found: list[FoundName], text: str, top: int) -> Table:
    """The first names as a table."""
    columns = (
        Column("name", "name"),
        Column("kind", "kind"),
        Column("num_facts", "facts", ",d"),
        Column("first", "first"),
        Column("last", "last"),
    )
    rows = tuple(
        {column.key: getattr(one, column.key) for column in columns} for one in found[:top]
    )
    notes = []
    words = fold(text).split()
    if found and not all(word in fold(found[0].name) for word in words):
        notes.append(f"No name holds {text!r}; these are the most similar.")
    if not found:
        notes.append(f"No name holds {text!r}, and none is similar.")
    if len(found) > top:
        notes.append(f"{len(found) - top:,} more; --top shows them.")
    return Table(columns, rows, notes=tuple(notes))


def known_times(facts: Facts) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first and the last tick that is known of each fact."""
    first, last = facts.columns[3], facts.columns[-1 if facts.has_intervals else 3]
    return np.where(first == OPEN, last, first), np.where(last == OPEN, first, last)


def _holding(vocabulary: Vocabulary, words: list[str]) -> list[int]:
    folded = (fold(name) for name in vocabulary.names)
    return [number for number, name in enumerate(folded) if all(word in name for word in words)]


def _describe(
    dataset: Dataset,
    vocabulary: Vocabulary,
    chosen: list[int],
    ids: NDArray[Any],
    times: NDArray[Any],
) -> list[FoundName]:
    """Count the facts of the chosen ids, all of them at once."""
    counts = np.bincount(ids, minlength=len(vocabulary))
    first = np.full(len(vocabulary), np.iinfo(np.int64).max)
    last = np.full(len(vocabulary), -1)
    np.minimum.at(first, ids, times[0])
    np.maximum.at(last, ids, times[1])
    label = dataset.timeline.label
    return [
        FoundName(
            vocabulary.kind,
            vocabulary.names[one],
            int(counts[one]),
            label(int(first[one])) if counts[one] else None,
            label(int(last[one])) if counts[one] else None,
        )
        for one in chosen
    ]
