"""Find entities and relations by a part of their names while it is being written."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from targcn.facts.dataset import Dataset
from targcn.facts.names import FoundName, known_times
from targcn.facts.vocabulary import Vocabulary, fold, suggest


@dataclass(frozen=True, eq=False)
class NameIndex:
    """The names of one kind, the commonest first, as people write them; built once.

    It finds the names that `targcn.facts.names.find_names` finds, in the same order.
    """

    vocabulary: Vocabulary
    # The ids of the names by frequency, and the names of these ids without case and accents.
    ids: list[int]
    folded: list[str]
    by_folded: dict[str, list[int]]
    counts: NDArray[Any]
    first: NDArray[Any]
    last: NDArray[Any]
    dataset: Dataset

    @classmethod
    def of_entities(cls, dataset: Dataset) -> "NameIndex":
        facts = dataset.facts
        others = facts.subjects != facts.objects
        ids = np.concatenate([facts.subjects, facts.objects[others]])
        times = [np.concatenate([when, when[others]]) for when in known_times(facts)]
        return cls._of(dataset, dataset.entities, ids, *times)

    @classmethod
    def of_relations(cls, dataset: Dataset) -> "NameIndex":
        facts = dataset.facts
        return cls._of(dataset, dataset.relations, facts.relations, *known_times(facts))

    @classmethod
    def _of(
        cls,
        dataset: Dataset,
        vocabulary: Vocabulary,
        ids: NDArray[Any],
        firsts: NDArray[Any],
        lasts: NDArray[Any],
    ) -> "NameIndex":
        counts = np.bincount(ids, minlength=len(vocabulary))
        first = np.full(len(vocabulary), np.iinfo(np.int64).max)
        last = np.full(len(vocabulary), -1)
        np.minimum.at(first, ids, firsts)
        np.maximum.at(last, ids, lasts)
        names = vocabulary.names
        order = sorted(range(len(vocabulary)), key=lambda one: (-counts[one], names[one]))
        folded = [fold(names[one]) for one in order]
        by_folded: dict[str, list[int]] = {}
        for one, name in zip(order, folded, strict=True):
            by_folded.setdefault(name, []).append(one)
        return cls(vocabulary, order, folded, by_folded, counts, first, last, dataset)

    def knows(self, name: str) -> bool:
        """Whether a name is one of these, whatever its case and accents."""
        return name in self.vocabulary or fold(name) in self.by_folded

    def find(self, text: str, top: int) -> list[FoundName]:
        """The commonest names that hold every word of a text; one that is the text leads."""
        wanted = fold(text)
        words = wanted.split()
        same = self.by_folded.get(wanted, [])
        holding = (
            one
            for one, name in zip(self.ids, self.folded, strict=True)
            if name != wanted and all(word in name for word in words)
        )
        return [self._describe(one) for one in islice([*same, *islice(holding, top)], top)]

    def similar(self, text: str) -> list[FoundName]:
        """The names most like a text that no name holds."""
        names = self.vocabulary.names
        return [self._describe(self.vocabulary.id_of(one)) for one in suggest(text, names)]

    def _describe(self, one: int) -> FoundName:
        label, count = self.dataset.timeline.label, int(self.counts[one])
        first = label(int(self.first[one])) if count else None
        last = label(int(self.last[one])) if count else None
        return FoundName(self.vocabulary.kind, self.vocabulary.names[one], count, first, last)
