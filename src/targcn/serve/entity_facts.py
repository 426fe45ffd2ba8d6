"""The facts of an entity, by time: found at once, a page at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from targcn.facts.dataset import OPEN, Dataset

# Neighbours that are named, those with most facts first.
MOST_NEIGHBOURS = 100


@dataclass(frozen=True, eq=False)
class EntityFacts:
    """Every fact under its subject and under its object, sorted by entity and time.

    Those of entity e have the places offsets[e] up to offsets[e + 1]. A row is the position of a
    fact, or the number of facts more if the entity is its object.
    """

    dataset: Dataset
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[Any]

    @classmethod
    def of(cls, dataset: Dataset) -> "EntityFacts":
        facts = dataset.facts
        # A fact of an entity with itself is listed once.
        back = np.flatnonzero(facts.subjects != facts.objects)
        owners = np.concatenate([facts.subjects, facts.objects[back]])
        times = np.concatenate([facts.times, facts.times[back]])
        rows = np.concatenate([np.arange(len(facts)), back + len(facts)])
        counts = np.bincount(owners, minlength=len(dataset.entities))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return cls(dataset, offsets, rows[np.lexsort((times, owners))], facts.columns)

    def find(
        self, name: str, first: str | None, last: str | None, page: int, size: int
    ) -> dict[str, Any]:
        """A page of the facts of an entity from one time to another, with counts of all of them."""
        dataset = self.dataset
        entity = dataset.entities.find(name)
        rows = self.rows[self.offsets[entity] : self.offsets[entity + 1]]
        num_facts = self.columns.shape[1]
        positions = rows % max(num_facts, 1)
        starts = np.maximum(self.columns[3, positions], 0)
        ends = self.columns[-1, positions]
        wanted = np.ones(len(rows), dtype=bool)
        if first is not None:
            wanted &= (ends == OPEN) | (ends >= dataset.timeline.tick(first))
        if last is not None:
            wanted &= starts <= dataset.timeline.tick(last)
        rows, positions = rows[wanted], positions[wanted]
        inward = rows >= num_facts
        relations = self.columns[1, positions]
        others = np.where(inward, self.columns[0, positions], self.columns[2, positions])
        shown = slice((page - 1) * size, page * size)
        return {
            "name": dataset.entities.names[entity],
            "total": len(rows),
            "page": page,
            "facts": self._name(positions[shown], inward[shown], others[shown]),
            "relations": self._count_relations(relations, inward),
            "neighbours": self._count_neighbours(others),
        }

    def _name(
        self, positions: NDArray[Any], inward: NDArray[Any], others: NDArray[Any]
    ) -> dict[str, Any]:
        entities, relations = self.dataset.entities.names, self.dataset.relations.names
        ends = self.columns[4, positions] if len(self.columns) > 4 else None
        starts = self.columns[3, positions]
        return {
            "relation": [relations[one] for one in self.columns[1, positions].tolist()],
            "other": [entities[one] for one in others.tolist()],
            "direction": ["in" if one else "out" for one in inward.tolist()],
            "time": self._labels(starts),
            "tick": np.maximum(starts, 0).tolist(),
            "end": None if ends is None else self._labels(ends),
        }

    def _labels(self, ticks: NDArray[Any]) -> list[str | None]:
        """The labels of ticks; none where an interval is open."""
        timeline = self.dataset.timeline
        distinct, which = np.unique(ticks, return_inverse=True)
        labels = [
            None if len(self.columns) > 4 and tick == OPEN else timeline.label(tick)
            for tick in distinct.tolist()
        ]
        return [labels[one] for one in which.tolist()]

    def _count_relations(
        self, relations: NDArray[Any], inward: NDArray[Any]
    ) -> list[dict[str, Any]]:
        names = self.dataset.relations.names
        kinds, counts = np.unique(relations * 2 + inward, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [
            {
                "name": names[kind // 2],
                "direction": "in" if kind % 2 else "out",
                "num_facts": count,
            }
            for kind, count in zip(kinds[order].tolist(), counts[order].tolist(), strict=True)
        ]

    def _count_neighbours(self, others: NDArray[Any]) -> list[dict[str, Any]]:
        names = self.dataset.entities.names
        ids, counts = np.unique(others, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_NEIGHBOURS]
        return [
            {"name": names[one], "num_facts": count}
            for one, count in zip(ids[order].tolist(), counts[order].tolist(), strict=True)
        ]
