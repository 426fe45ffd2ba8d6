"""Generated data sets of any size, whose entities and relations follow Zipf's law."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, counted, peak_bytes, timed
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Dataset, Facts, Split
from targcn.facts.times.timeline import Timeline, calendar_value
from targcn.facts.vocabulary import Vocabulary

# Rows generated at once; bounds the memory needed beside the facts themselves.
CHUNK = 1 << 22
FIRST_DAY = "2000-01-01"
MOST = 2**31 - 1
# Of the facts that hold over intervals, how many have no end.
OPEN_SHARE = 0.1


@dataclass(frozen=True)
class Shape:
    """The size of a generated data set; the same shape always gives the same facts."""

    facts: int = 100_000
    entities: int = 10_000
    relations: int = 200
    days: int = 365
    # The most days for which facts hold, a tenth of them without an end; 0: facts of one day.
    longest: int = 0
    # The n-th most frequent entity or relation occurs n^-skew times as often as the first.
    skew: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"facts": 10, "entities": 2, "relations": 1, "days": 1, "longest": 0, "seed": 0}
        for name, count in least.items():
            size = getattr(self, name)
            if not count <= size <= MOST:
                raise InputError(f"{name} is {size}; {count} up to {MOST:,} was expected")
        if not 0 <= self.skew < math.inf:
            raise InputError(f"skew is {self.skew}; 0 (all alike) or more was expected")


def zipf_sampler(
    num_ids: int, skew: float, random: np.random.Generator
) -> Callable[[int], NDArray[np.int32]]:
    """Samples ids whose frequencies fall with a power of their rank; the ranks are random."""
    ids = random.permutation(np.arange(num_ids, dtype=np.int32))
    # Most ids of a steep law are too rare to have a frequency at all.
    with np.errstate(under="ignore"):
        frequencies = np.arange(1, num_ids + 1, dtype=np.float64) ** -skew
        shares = frequencies / frequencies.sum()
    return lambda count: random.choice(ids, count, p=shares)


def generate(shape: Shape, split: bool = True) -> Dataset:
    """A data set of this shape, 80 % train, 10 % valid, 10 % test, or all train.

    >>> dataset = generate(Shape(facts=100, entities=5, relations=2, days=9))
    >>> [len(facts) for facts in dataset.splits.values()], len(dataset.entities)
    ([80, 10, 10], 5)
    """
    random = np.random.default_rng(shape.seed)
    sample_entities = zipf_sampler(shape.entities, shape.skew, random)
    sample_relations = zipf_sampler(shape.relations, shape.skew, random)
    tenth = shape.facts // 10 if split else 0

    def make_facts(count: int) -> Facts:
        columns = np.empty((5 if shape.longest else 4, count), dtype=np.int32)
        for first in range(0, count, CHUNK):
            part = columns[:, first : first + CHUNK]
            num_rows = part.shape[1]
            part[0], part[2] = sample_entities(num_rows), sample_entities(num_rows)
            part[1] = sample_relations(num_rows)
            part[3] = random.integers(0, shape.days, num_rows, dtype=np.int32)
            if shape.longest:
                lengths = random.integers(0, shape.longest, num_rows, dtype=np.int32)
                ends = np.minimum(part[3] + lengths, shape.days - 1)
                part[4] = np.where(random.random(num_rows) < OPEN_SHARE, OPEN, ends)
        columns.setflags(write=False)
        return Facts(columns)

    sizes: dict[Split, int] = {"train": shape.facts - 2 * tenth, "valid": tenth, "test": tenth}
    splits = {name: make_facts(count) for name, count in sizes.items()}
    seen = np.zeros(shape.days, dtype=bool)
    for facts in splits.values():
        for times in facts.columns[3:]:
            seen[times[times != OPEN]] = True
    return Dataset(
        "generated",
        Vocabulary("entity", [str(number) for number in range(shape.entities)]),
        Vocabulary("relation", [str(number) for number in range(shape.relations)]),
        Timeline("day", calendar_value(FIRST_DAY, "day"), True, np.flatnonzero(seen)),
        splits,
        ("generated at random; duplicates are kept",),
    )


def generate_into(folder: Path, shape: Shape) -> Row:
    """Write a data set, all of it train, as a prepared folder; for a process of its own."""
    dataset, generating = timed(lambda: generate(shape, split=False))
    _, saving = timed(lambda: dataset.save(folder))
    peak = peak_bytes()
    return {"generate_seconds": generating, "save_seconds": saving, "generate_peak_bytes": peak}


def open_source(source: Dataset | Shape) -> tuple[Dataset, Row]:
    """The data set itself, and its description for a result."""
    dataset = generate(source) if isinstance(source, Shape) else source
    description: Row = {
        "name": dataset.name,
        "num_facts": {split: len(facts) for split, facts in dataset.splits.items()},
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
        "num_times": len(dataset.timeline.ticks),
    }
    if isinstance(source, Shape):
        description["shape"] = asdict(source)
    return dataset, description


def for_each_size(
    what: str,
    counts: Sequence[int],
    shape: Shape,
    measure_size: Callable[[Shape, Path], Row],
    folder: Path | str | None = None,
) -> tuple[list[Row], Row]:
    """What was measured of each number of facts in a folder of its own, and the data described."""
    if not counts:
        raise InputError(f"{what} is empty; name at least one number of {what}")
    shapes = [replace(shape, facts=count) for count in counts]
    rows = []
    for sized in counted(shapes, "measuring", "sizes"):
        with TemporaryDirectory(dir=folder) as within:
            rows.append({what: sized.facts} | measure_size(sized, Path(within)))
    return rows, {"name": "generated", "shape": asdict(shape) | {"facts": list(counts)}}
