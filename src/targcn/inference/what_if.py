"""What if a fact were not there, or were: facts in words, and the context that they change."""

from collections.abc import Sequence
from typing import Final

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Facts
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.questions import Time

# Subject, relation, object and time in words.
Fact = tuple[str, str, str, Time]
SEPARATOR: Final = "|"


def parse_fact(text: str) -> Fact:
    """Read a fact as it is written on the command line.

    >>> parse_fact("Barack Obama | junior senator of | Illinois | 2005")
    ('Barack Obama', 'junior senator of', 'Illinois', '2005')
    """
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if len(parts) != 4 or not all(parts):
        raise InputError(
            f"{text!r} is not a fact; write 'SUBJECT {SEPARATOR} RELATION {SEPARATOR} OBJECT "
            f"{SEPARATOR} TIME'"
        )
    subject, relation, object_, time = parts
    return subject, relation, object_, time


def change_context(
    graph: TemporalGraph, dataset: Dataset, without: Sequence[Fact], given: Sequence[Fact]
) -> TemporalGraph:
    """The graph without some of its facts and with others; what changes nothing is refused."""
    if not without and not given:
        raise InputError("name a fact to leave out or to add")
    missing, new = ([_encode(fact, dataset) for fact in facts] for facts in (without, given))
    for fact, ids in zip(without, missing, strict=True):
        if not len(graph.positions_of(*ids)):
            raise InputError(
                f"the context does not hold {_in_words(fact)}, so it cannot be left out"
                + _other_times(graph, dataset, *ids)
            )
    for fact, ids in zip(given, new, strict=True):
        if len(graph.positions_of(*ids)):
            raise InputError(f"the context holds {_in_words(fact)} already; nothing would change")
        if ids[3] < 0:
            raise InputError(
                f"{_in_words(fact)} is before {dataset.timeline.label(0)}, where the data begin; "
                "give a later fact"
            )
    return graph.changed(_columns(missing), _columns(new))


def _encode(fact: Fact, dataset: Dataset) -> tuple[int, int, int, int]:
    subject, relation, object_, time = fact
    return (
        dataset.entities.find(subject),
        dataset.relations.find(relation),
        dataset.entities.find(object_),
        dataset.timeline.tick(time),
    )


def _columns(facts: Sequence[tuple[int, int, int, int]]) -> Facts:
    distinct = sorted(set(facts))
    return Facts.of(*([fact[row] for fact in distinct] for row in range(4)))


def _in_words(fact: Fact) -> str:
    subject, relation, object_, time = fact
    return f"{subject} — {relation} — {object_}, {time}"


def _other_times(
    graph: TemporalGraph, dataset: Dataset, subject: int, relation: int, object: int, time: int
) -> str:
    """When the context does hold a fact, up to three times."""
    incoming = slice(*graph.offsets[object : object + 2].tolist())
    held = (graph.subjects[incoming] == subject) & (graph.relations[incoming] == relation)
    ticks = set(graph.times[incoming][held].tolist())
    nearest = sorted(ticks, key=lambda tick: abs(tick - time))[:3]
    labels = ", ".join(dataset.timeline.label(tick) for tick in sorted(nearest))
    return f"; it holds it at {labels}" if labels else ""
