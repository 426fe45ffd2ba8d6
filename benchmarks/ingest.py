"""How fast a large CSV of names and dates becomes a prepared folder, and in how much memory.

Each table is read in its own process, timed from start to end like `targcn data prepare`. Needs
polars.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import measure
from benchmarks.generated_data import CHUNK, FIRST_DAY, Shape, for_each_size, generate
from targcn.facts.dataset import OPEN
from targcn.facts.open import open_dataset

DEFAULT: Final = Shape(entities=1_000_000, relations=250, days=7305)


def measure_ingest(rows: Sequence[int] = (2_000_000,), shape: Shape = DEFAULT) -> measure.Result:
    """Rows per second and peak memory for tables with these numbers of rows."""
    measured, data = for_each_size("rows", rows, shape, _read_table)
    summary = measure.compare_sizes(
        measured, "rows", "rows_per_second", "rate_of_largest_to_smallest"
    )
    return measure.Result("ingest", {"rows": list(rows)}, data, None, measured, summary)


def _read_table(shape: Shape, folder: Path) -> measure.Row:
    table = folder / "facts.csv"
    write_csv(table, shape)
    inside, seconds = measure.timed(
        lambda: measure.run_apart(prepare, source=table, out=folder / "prepared")
    )
    rate = {"seconds": seconds, "rows_per_second": shape.facts / seconds}
    return {"file_bytes": table.stat().st_size} | rate | inside


def prepare(source: Path, out: Path) -> dict[str, Any]:
    """Read a table and write a prepared folder, in its own process."""
    dataset = open_dataset(source)
    dataset.save(out)
    num_facts = sum(len(facts) for facts in dataset.splits.values())
    return {"facts": num_facts, "peak_bytes": measure.peak_bytes()}


def write_csv(path: Path, shape: Shape) -> None:
    """A table of this shape, its names as long as real ones are."""
    import polars as pl

    facts = generate(shape, split=False).train
    entity_names = pl.Series(
        [f"Organisation {number:07d} (Region {number % 199})" for number in range(shape.entities)]
    )
    relation_names = pl.Series([f"relation number {number}" for number in range(shape.relations)])
    days = pl.Series(np.datetime64(FIRST_DAY, "D") + np.arange(shape.days)).cast(pl.String)
    days = days.append(pl.Series([""]))
    with path.open("wb") as stream:
        for start in range(0, shape.facts, CHUNK):
            subjects, relations, objects, *times = facts.columns[:, start : start + CHUNK]
            named = zip(("start", "end") if facts.has_intervals else ("date",), times, strict=True)
            pl.DataFrame(
                {
                    "subject": entity_names[subjects],
                    "relation": relation_names[relations],
                    "object": entity_names[objects],
                    # An open end, -1, is the last of the days, which is empty.
                    **{
                        name: days[np.where(ticks == OPEN, shape.days, ticks)]
                        for name, ticks in named
                    },
                }
            ).write_csv(stream, include_header=start == 0)
