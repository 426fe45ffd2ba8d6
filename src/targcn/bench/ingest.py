"""How fast a large CSV of names and dates becomes a prepared folder, and in how much memory.

Each table is read in its own process, timed from start to end like `targcn data prepare`. Needs
polars.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from targcn.bench.generated_data import CHUNK, FIRST_DAY, Shape, ZipfLaw
from targcn.bench.measure import (
    Progress,
    Result,
    Row,
    describe_machine,
    peak_bytes,
    run_apart,
)
from targcn.errors import InputError
from targcn.facts.open import open_dataset

DEFAULT: Final = Shape(entities=1_000_000, relations=250, days=7305)


def measure_ingest(
    rows: Sequence[int] = (2_000_000,),
    shape: Shape = DEFAULT,
    *,
    progress: Progress | None = None,
) -> Result:
    """Rows per second and peak memory for tables with these numbers of rows."""
    if not rows:
        raise InputError("rows is empty; name at least one number of rows")
    shapes = [replace(shape, facts=count) for count in rows]
    found: list[Row] = []
    for number, one in enumerate(shapes, 1):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "facts.csv"
            write_csv(table, one)
            begin = time.perf_counter()
            inside = run_apart(
                __name__, "prepare", source=str(table), out=str(Path(folder) / "prepared")
            )
            seconds = time.perf_counter() - begin
            found.append(
                {
                    "rows": one.facts,
                    "facts": inside["num_facts"],
                    "file_bytes": table.stat().st_size,
                    "seconds": seconds,
                    "rows_per_second": one.facts / seconds,
                    "peak_bytes": inside["peak_bytes"],
                }
            )
        if progress is not None:
            progress(number, len(shapes))
    summary = {}
    if len(found) > 1:
        small, large = (choose(found, key=_rows_of) for choose in (min, max))
        rate = large["rows_per_second"] / small["rows_per_second"]
        summary = {"rate_of_largest_to_smallest": rate}
    data = {"name": "generated", "shape": asdict(shape) | {"facts": list(rows)}}
    return Result("ingest", {"rows": list(rows)}, data, describe_machine(), found, summary)


def prepare(source: str, out: str) -> dict[str, Any]:
    """Read a table and write a prepared folder, in its own process."""
    dataset = open_dataset(source)
    dataset.save(out)
    num_facts = sum(len(facts) for facts in dataset.splits.values())
    return {"num_facts": num_facts, "peak_bytes": peak_bytes()}


def write_csv(path: Path, shape: Shape) -> None:
    """A table of this shape, its names as long as real ones are."""
    import polars as pl

    random = np.random.default_rng(shape.seed)
    laws = {
        "entity": ZipfLaw(shape.entities, shape.skew, random),
        "relation": ZipfLaw(shape.relations, shape.skew, random),
    }
    names = {
        "entity": pl.Series(
            [
                f"Organisation {number:07d} (Region {number % 199})"
                for number in range(shape.entities)
            ]
        ),
        "relation": pl.Series([f"relation number {number}" for number in range(shape.relations)]),
    }
    first_day = np.datetime64(FIRST_DAY, "D")
    days = pl.Series([str(first_day + number) for number in range(shape.days)])
    with path.open("wb") as stream:
        for start in range(0, shape.facts, CHUNK):
            count = min(CHUNK, shape.facts - start)
            pl.DataFrame(
                {
                    "subject": names["entity"][laws["entity"].sample(count)],
                    "relation": names["relation"][laws["relation"].sample(count)],
                    "object": names["entity"][laws["entity"].sample(count)],
                    "date": days[random.integers(0, shape.days, count)],
                }
            ).write_csv(stream, include_header=start == 0)


def _rows_of(row: Row) -> int:
    return int(row["rows"])
