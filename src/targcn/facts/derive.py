"""Derive harder data sets from a given one, two of them as the paper does from ICEWS14.

`unseen` asks about times without any training facts; `irregular` keeps only some times, at
uneven gaps; `forecast` asks about times after all of train; `blocks` hides whole records. The new
data set has only the names that its facts use. It is named after its origin, its kind and, if a
seed decided, that seed. The time of a fact that holds over an interval is here the first tick.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from targcn.errors import InputError
from targcn.facts.dataset import OPEN, SPLITS, Dataset, Facts, Split, join_facts
from targcn.facts.holes import hide_records
from targcn.facts.vocabulary import Vocabulary

# As in the paper: the days of each month that are held out, and the largest gap.
PAPER_DAYS = (5, 15, 25)
LARGEST_GAP = 4
# Where train and valid end, as shares of all facts.
FORECAST_BORDERS = (0.7, 0.85)
# Of all records of a subject at a time, the share that valid and test each have.
BLOCK_SHARE = 0.1


def derive_unseen(
    dataset: Dataset, seed: int = 0, halves: Literal["random", "file-order"] = "random"
) -> Dataset:
    """Hold out whole times of the train split; the original valid and test facts are not used.

    If the unit is a day or finer, the facts of some days of each month are held out, otherwise
    every tenth distinct time. Held-out facts with an entity that training does not know are
    dropped; the others are divided into valid and test, at random or, as the authors of the paper
    did, the first half in the order of the file for valid and the second for test.
    """
    train = dataset.train
    held_out = np.isin(train.times, np.unique(train.times)[5::10])
    if dataset.timeline.dated and dataset.timeline.unit not in ("year", "month"):
        _, _, day_of_month = dataset.timeline.calendar(train.times.astype(np.int64))
        held_out = np.isin(np.floor(day_of_month), PAPER_DAYS)
    if not held_out.any() or held_out.all():
        raise InputError(
            f"{dataset.name}: holding out {'all' if held_out.all() else 'no'} times leaves nothing "
            "to learn from or to ask about"
        )
    kept, asked = train.where(~held_out), train.where(held_out)
    known_entities = np.isin(np.arange(len(dataset.entities)), [kept.subjects, kept.objects])
    asked = asked.where(known_entities[asked.subjects] & known_entities[asked.objects])
    if len(asked) < 2:
        raise InputError(
            f"{dataset.name}: {len(asked)} facts of the held-out times have entities that training "
            "knows; at least 2 are needed"
        )
    order, kind, divided = np.arange(len(asked)), "unseen", "in the order of the file"
    if halves == "random":
        order = np.random.default_rng(seed).permutation(len(asked))
        kind, divided = f"unseen-seed{seed}", f"with seed {seed}"
    valid, test = (asked.where(np.sort(half)) for half in np.split(order, [len(asked) // 2]))
    splits: dict[Split, Facts] = {"train": kept, "valid": valid, "test": test}
    num_times = len(np.unique(train.times[held_out]))
    note = f"{num_times} times of train held out, divided {divided}"
    return _renumbered(dataset, kind, splits, f"unseen times of {dataset.name}: {note}")


def derive_irregular(dataset: Dataset, seed: int = 0) -> Dataset:
    """Keep only the facts of some times, each 1 to 4 times after the previous one.

    Only times with facts are counted; if every day has some, the gaps are days.
    """
    ticks = np.unique(dataset.facts.times)
    random = np.random.default_rng(seed)
    gaps = random.integers(1, LARGEST_GAP, size=len(ticks), endpoint=True)
    positions = np.concatenate([[0], gaps.cumsum()])
    note = f"gaps of 1 to {LARGEST_GAP} times with seed {seed}"
    kept_times = ticks[positions[positions < len(ticks)]]
    return keep_times(dataset, kept_times, f"irregular-seed{seed}", note)


def keep_times(dataset: Dataset, kept_times: ArrayLike, kind: str, note: str) -> Dataset:
    """Keep only the facts of these times, in every split."""
    splits: dict[Split, Facts] = {
        split: facts.where(np.isin(facts.times, kept_times))
        for split, facts in dataset.splits.items()
    }
    if any(len(facts) == 0 for facts in splits.values()):
        raise InputError(
            f"{dataset.name} has too few times to leave some out: a split would be empty"
        )
    return _renumbered(dataset, kind, splits, f"irregular times of {dataset.name}: {note}")


def derive_forecast(dataset: Dataset, seed: int = 0) -> Dataset:
    """Split the facts of all splits, each taken once, 70/15/15 by time; nothing is random.

    All facts of one time are in the same split.
    """
    from targcn.facts.splits import distinct_facts

    facts = distinct_facts(dataset.facts)
    borders = [round(share * len(facts)) for share in FORECAST_BORDERS]
    if borders[-1] < len(facts):
        borders = [int(np.searchsorted(facts.times, facts.times[border])) for border in borders]
    if not 0 < borders[0] < borders[1] < len(facts):
        raise InputError(f"{dataset.name} has too few times to be split by time")
    parts = np.split(np.arange(len(facts)), borders)
    splits = {split: facts.where(part) for split, part in zip(SPLITS, parts, strict=True)}
    shares = " / ".join(f"{len(part) / len(facts):.1%}" for part in parts)
    return _renumbered(dataset, "forecast", splits, f"facts of {dataset.name} by time: {shares}")


def derive_blocks(dataset: Dataset, seed: int = 0) -> Dataset:
    """Hide whole records: all that a subject has at a time, a tenth of them for valid and for test.

    The facts of all splits are taken, each once.
    """
    from targcn.facts.splits import distinct_facts

    facts = distinct_facts(dataset.facts)
    parts = np.zeros(len(facts), dtype=np.int8)
    for number, share in ((1, BLOCK_SHARE), (2, BLOCK_SHARE / (1 - BLOCK_SHARE))):
        rows = np.flatnonzero(parts == 0)
        hidden = hide_records(facts.where(rows), share, 10 * seed + number)
        parts[rows[hidden]] = number
    splits = {split: facts.where(parts == number) for number, split in enumerate(SPLITS)}
    if any(len(part) == 0 for part in splits.values()):
        raise InputError(f"{dataset.name} has too few records to hide some of them")
    note = f"records of a subject at a time, each tenth in valid and in test, with seed {seed}"
    return _renumbered(dataset, f"blocks-seed{seed}", splits, f"blocks of {dataset.name}: {note}")


DERIVED: Final[Mapping[str, Callable[..., Dataset]]] = {
    "unseen": derive_unseen,
    "irregular": derive_irregular,
    "forecast": derive_forecast,
    "blocks": derive_blocks,
}


class Origin(NamedTuple):
    """The data set that another one was derived from, and how."""

    name: str
    # Empty if it is its own origin.
    kind: str = ""
    # None if nothing was chosen at random.
    seed: int | None = None


def origin_of(name: str) -> Origin:
    """What the name of a data set says about its origin.

    >>> origin_of("icews05-15-unseen-seed0")
    Origin(name='icews05-15', kind='unseen', seed=0)
    >>> origin_of("icews14-unseen")
    Origin(name='icews14', kind='unseen', seed=None)
    >>> origin_of("icews05-15")
    Origin(name='icews05-15', kind='', seed=None)
    """
    parts = re.fullmatch(rf"(.+)-({'|'.join(DERIVED)})(?:-seed(\d+))?", name)
    if parts is None:
        return Origin(name)
    origin, kind, seed = parts.groups()
    return Origin(origin, kind, None if seed is None else int(seed))


def _renumbered(dataset: Dataset, kind: str, splits: dict[Split, Facts], note: str) -> Dataset:
    """Drop the names that no fact uses any more; ticks keep their meaning."""
    everything = join_facts(*splits.values()).columns
    times = everything[3:]
    entities, relations = np.unique(everything[[0, 2]]), np.unique(everything[1])
    renumbered: dict[Split, Facts] = {}
    for split, facts in splits.items():
        subjects, objects = np.searchsorted(entities, facts.columns[[0, 2]])
        relation_ids = np.searchsorted(relations, facts.relations)
        renumbered[split] = Facts.of(subjects, relation_ids, objects, *facts.columns[3:])
    return Dataset(
        f"{dataset.name}-{kind}",
        Vocabulary("entity", [dataset.entities.names[entity] for entity in entities]),
        Vocabulary("relation", [dataset.relations.names[relation] for relation in relations]),
        replace(dataset.timeline, ticks=times[times != OPEN]),
        renumbered,
        (note,),
    )
