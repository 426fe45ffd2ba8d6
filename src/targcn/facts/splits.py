"""Split facts into train, valid and test, and count what published splits share."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Facts, Split, join_facts
from targcn.facts.reading.options import ReadOptions

# Rows converted at once; bounds the memory needed besides the facts.
ROWS_AT_ONCE: Final = 1 << 22


def distinct_facts(facts: Facts) -> Facts:
    """Every fact once, sorted: the order of the rows in a table then changes nothing."""
    # By time first; what is OPEN is -1 and becomes 0 here.
    order = [3, 0, 1, 2, *range(4, len(facts.columns))]
    lows = [int(facts.columns[row].min(initial=0)) for row in order]
    highs = [int(facts.columns[row].max(initial=0)) for row in order]
    sizes = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    if math.prod(sizes) >= 2**63:
        frame = _as_frame(facts)
        frame = frame.sort("time", "subject", "relation", "object", *frame.columns[4:])
        # Sorted, equal facts are neighbours; the first has none before it.
        is_new = pl.any_horizontal(pl.all() != pl.all().shift(1)).fill_null(True)
        return Facts.of(*(column.to_numpy() for column in frame.filter(is_new)))
    # If a fact fits into one 64-bit number, these are sorted, in less memory and time.
    packed = np.zeros(len(facts), dtype=np.int64)
    for row, low, size in zip(order, lows, sizes, strict=True):
        packed *= size
        packed += facts.columns[row]
        packed -= low
    packed.sort()
    differs = np.ones(len(packed), dtype=bool)
    np.not_equal(packed[1:], packed[:-1], out=differs[1:])
    packed = packed[differs]
    columns = np.empty((len(order), len(packed)), dtype=facts.columns.dtype)
    for first in range(0, len(packed), ROWS_AT_ONCE):
        part: NDArray[np.int64] = packed[first : first + ROWS_AT_ONCE]
        for row, low, size in reversed(list(zip(order, lows, sizes, strict=True))):
            part, rest = np.divmod(part, size)
            columns[row, first : first + len(rest)] = rest + low
    columns.setflags(write=False)
    return Facts(columns)


def leave_out(facts: Facts, others: Facts) -> Facts:
    """The facts that are not among others."""
    # Together, a fact of one time is an interval of one tick if others have intervals.
    both = _as_frame(join_facts(facts, others)).cast(pl.Int64)
    frame, known = both.head(len(facts)), both.tail(len(others))
    kept = frame.with_row_index("row").join(known, on=both.columns, how="anti")
    return facts.where(kept["row"].sort().to_numpy())


def leave_out_held(facts: Facts, others: Facts) -> Facts:
    """The facts that say at no time what others say then."""
    names = ["subject", "relation", "object"]
    sides = [
        pl.DataFrame(
            [side.subjects, side.relations, side.objects, side.times, side.ends],
            schema=[*names, "first", "last"],
        ).cast(pl.Int64)
        for side in (facts, others)
    ]
    both = sides[0].with_row_index("row").join(sides[1], on=names)
    is_held = (pl.col("first") <= pl.col("last_right")) & (pl.col("last") >= pl.col("first_right"))
    kept = np.ones(len(facts), dtype=bool)
    kept[both.filter(is_held)["row"].to_numpy()] = False
    return facts.where(kept)


def split_facts(facts: Facts, options: ReadOptions) -> dict[Split, Facts]:
    """Split facts that are sorted by time 80/10/10, at random or by time.

    A split by time puts all facts of one time, or which begin at one, into the same split.
    """
    num_held_out = max(len(facts) // 10, 1)
    borders = [len(facts) - 2 * num_held_out, len(facts) - num_held_out]
    if options.split == "random":
        order = np.random.default_rng(options.split_seed).permutation(len(facts))
        parts = np.zeros(len(facts), dtype=np.int8)
        parts[order[borders[0] : borders[1]]], parts[order[borders[1] :]] = 1, 2
        del order
    else:
        borders = [int(np.searchsorted(facts.times, facts.times[border])) for border in borders]
        if not 0 < borders[0] < borders[1]:
            raise InputError(
                "too few distinct times to split by time; give --split random or finer times"
            )
        parts = np.repeat(np.arange(3, dtype=np.int8), np.diff([0, *borders, len(facts)]))
    return {split: facts.where(parts == number) for number, split in enumerate(SPLITS)}


def find_repetitions(splits: Mapping[Split, Facts]) -> tuple[str, ...]:
    """Notes about facts that published splits contain more than once."""
    frames = {split: _as_frame(facts) for split, facts in splits.items()}
    notes = []
    for split, frame in frames.items():
        if repeated := frame.height - frame.n_unique():
            notes.append(f"{repeated:,} facts are repeated within {split}; kept as published")
    earlier = frames["train"]
    columns = earlier.columns
    for split in SPLITS[1:]:
        if shared := frames[split].join(earlier, on=columns, how="semi").height:
            notes.append(
                f"{shared:,} facts of {split} are also in an earlier split, which leaks their "
                "answers into training; kept as published"
            )
        earlier = pl.concat([earlier, frames[split]])
    return tuple(notes)


def _as_frame(facts: Facts) -> pl.DataFrame:
    names = ("subject", "relation", "object", "time", "end")[: len(facts.columns)]
    return pl.DataFrame(list(facts.columns), schema=names)
