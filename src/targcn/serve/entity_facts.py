"""The facts of an entity, by time, a page at a time."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.times.timeline import Timeline

# Neighbours that are named, those with most facts first.
MOST_NEIGHBOURS: Final = 100
Direction = Literal["out", "in"]


@dataclass(frozen=True)
class FactColumns:
    """Facts of an entity as columns, by time; `end` where facts hold over intervals."""

    relation: list[str]
    other: list[str]
    direction: list[Direction]
    time: list[str | None]
    tick: list[int]
    end: list[str | None] | None


@dataclass(frozen=True)
class RelationCount:
    name: str
    direction: Direction
    num_facts: int


@dataclass(frozen=True)
class NeighbourCount:
    name: str
    num_facts: int


@dataclass(frozen=True)
class EntityFacts:
    """A page of the facts of an entity, with counts of all of them."""

    name: str
    total: int
    page: int
    facts: FactColumns
    relations: list[RelationCount]
    neighbours: list[NeighbourCount]


def facts_of(
    dataset: Dataset,
    known: Facts,
    name: str,
    first: str | None = None,
    last: str | None = None,
    page: int = 1,
    size: int = 10_000,
) -> EntityFacts:
    """The known facts of an entity from one time to another."""
    entity, timeline = dataset.entities.find(name), dataset.timeline
    wanted = (known.subjects == entity) | (known.objects == entity)
    if first is not None:
        wanted &= known.ends >= timeline.tick(first)
    if last is not None:
        wanted &= known.times <= timeline.tick(last)
    rows = np.flatnonzero(wanted)
    rows = rows[known.times[rows].argsort(kind="stable")]
    is_subject = known.subjects[rows] == entity
    directions: list[Direction] = ["out" if out else "in" for out in is_subject.tolist()]
    other_ids = np.where(is_subject, known.objects[rows], known.subjects[rows])
    others = [dataset.entities[number] for number in other_ids.tolist()]
    relations = [dataset.relations[number] for number in known.relations[rows].tolist()]
    counted = Counter(zip(relations, directions, strict=True)).most_common()
    shown = slice((page - 1) * size, page * size)
    starts, ends = known.columns[3, rows[shown]], known.columns[-1, rows[shown]]
    return EntityFacts(
        dataset.entities.names[entity],
        len(rows),
        page,
        FactColumns(
            relations[shown],
            others[shown],
            directions[shown],
            _labels(timeline, known, starts),
            known.times[rows[shown]].tolist(),
            _labels(timeline, known, ends) if known.has_intervals else None,
        ),
        [RelationCount(*relation, count) for relation, count in counted],
        [NeighbourCount(*count) for count in Counter(others).most_common(MOST_NEIGHBOURS)],
    )


def _labels(timeline: Timeline, known: Facts, ticks: NDArray[Any]) -> list[str | None]:
    """The labels of ticks; none where an interval is open."""
    labels: dict[int, str | None] = {OPEN: None} if known.has_intervals else {}
    labels |= {tick: timeline.label(tick) for tick in set(ticks.tolist()) - labels.keys()}
    return [labels[tick] for tick in ticks.tolist()]
