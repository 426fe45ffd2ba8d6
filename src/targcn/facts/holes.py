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


def hide_facts(facts: Facts, share: float, seed: int, fold: int = 0) -> NDArray[np.bool_]:
    """Which facts are hidden: single ones, about this share.

    Folds of the same seed hide different facts, as long as all have not been hidden once.
    """
    return _choose(len(facts), share, seed, fold)


def hide_records(facts: Facts, share: float, seed: int, fold: int = 0) -> NDArray[np.bool_]:
    """All that a subject has at a time is hidden, for about this share of such records."""
    return _hide_groups(np.stack([facts.subjects, facts.times]), share, seed, fold)


def hide_blocks(facts: Facts, share: float, seed: int, fold: int = 0) -> NDArray[np.bool_]:
    """Records, ticks of relations and ends of entities, together about this share."""
    records, ticks, ends = (share * part for part in SHARES_OF_BLOCKS)
    hidden = hide_records(facts, records, seed, fold)
    hidden |= _hide_groups(np.stack([facts.relations, facts.times]), ticks, seed + 1, fold)
    return hidden | _hide_ends(facts, ends, seed + 2, fold)


def _choose(num: int, share: float, seed: int, fold: int) -> NDArray[np.bool_]:
    """About this share of so many."""
    places = (np.random.default_rng(seed).random(num) - fold * share) % 1
    return np.asarray(places < share)


def _hide_groups(
    groups: NDArray[np.integer], share: float, seed: int, fold: int
) -> NDArray[np.bool_]:
    """Hide whole groups of facts, whose columns are equal."""
    _, numbers = np.unique(groups, axis=1, return_inverse=True)
    numbers = numbers.ravel()
    return _choose(numbers.max(initial=0) + 1, share, seed, fold)[numbers]


def _hide_ends(facts: Facts, share: float, seed: int, fold: int) -> NDArray[np.bool_]:
    """Hide all facts of some entities from some time of theirs on.

    A fact is hidden by its subject. On average half of what a chosen entity has goes, so twice the
    share of entities are chosen.
    """
    order = np.lexsort((facts.times, facts.subjects))
    subjects = facts.subjects[order]
    starts = np.searchsorted(subjects, subjects)
    counts = np.searchsorted(subjects, subjects, side="right") - starts
    num_entities = int(subjects.max(initial=-1)) + 1
    chosen = _choose(num_entities, 2 * share, seed, fold)
    kept = np.random.default_rng([seed, 1 + fold]).random(num_entities)
    # The time of the first fact that goes; all of that very time go with it.
    borders = starts + (kept[subjects] * counts).astype(np.int64)
    hidden = np.zeros(len(facts), dtype=bool)
    times = facts.times[order]
    hidden[order] = chosen[subjects] & (times >= times[borders])
    return hidden
