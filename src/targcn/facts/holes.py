"""Holes: parts of the known facts that are hidden, as facts are missing from real tables.

How facts are missing decides what can be said about them. A judge that has seen single facts
hidden alone takes the others of the same record for a sign of truth, and errs where whole records
are missing. So holes are single facts, or blocks: all that a subject has at a time (a record), all
facts of a relation at a time (a source that failed that day), or all that an entity has from some
time on (it moved away, died, or left the source).
"""

from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from targcn.facts.dataset import Facts

Gaps = Literal["mixed", "facts", "blocks"]
GAPS: Final[tuple[Gaps, ...]] = get_args(Gaps)
# Of the facts that blocks hide, the parts that records, ticks of a relation and ends take. Records
# are missing most often in tables that people keep.
SHARES_OF_BLOCKS: Final = (0.8, 0.1, 0.1)


def hide_facts(facts: Facts, share: float, seed: int) -> NDArray[np.bool_]:
    """Which facts are hidden: single ones, about this share."""
    return np.random.default_rng(seed).random(len(facts)) < share


def hide_records(facts: Facts, share: float, seed: int) -> NDArray[np.bool_]:
    """All that a subject has at a time is hidden, for about this share of such records."""
    return _hide_groups(np.stack([facts.subjects, facts.times]), share, seed)


def hide_blocks(facts: Facts, share: float, seed: int) -> NDArray[np.bool_]:
    """Records, ticks of relations and ends of entities, together about this share."""
    records, ticks, ends = (share * part for part in SHARES_OF_BLOCKS)
    hidden = hide_records(facts, records, seed)
    hidden |= _hide_groups(np.stack([facts.relations, facts.times]), ticks, seed + 1)
    return hidden | _hide_ends(facts, ends, seed + 2)


def _hide_groups(groups: NDArray[np.integer], share: float, seed: int) -> NDArray[np.bool_]:
    """Hide whole groups of facts, whose columns are equal."""
    _, numbers = np.unique(groups, axis=1, return_inverse=True)
    numbers = numbers.ravel()
    chosen = np.random.default_rng(seed).random(numbers.max(initial=0) + 1) < share
    return np.asarray(chosen[numbers])


def _hide_ends(facts: Facts, share: float, seed: int) -> NDArray[np.bool_]:
    """Hide all facts of some entities from some time of theirs on.

    A fact is hidden by its subject. On average half of what a chosen entity has goes, so twice the
    share of entities are chosen.
    """
    random = np.random.default_rng(seed)
    order = np.lexsort((facts.times, facts.subjects))
    subjects = facts.subjects[order]
    starts = np.searchsorted(subjects, subjects)
    counts = np.searchsorted(subjects, subjects, side="right") - starts
    num_entities = int(subjects.max(initial=-1)) + 1
    chosen, kept = random.random(num_entities) < 2 * share, random.random(num_entities)
    # The time of the first fact that goes; all of that very time go with it.
    borders = starts + (kept[subjects] * counts).astype(np.int64)
    hidden = np.zeros(len(facts), dtype=bool)
    times = facts.times[order]
    hidden[order] = chosen[subjects] & (times >= times[borders])
    return hidden
