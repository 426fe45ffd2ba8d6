"""How fast `targcn data prepare` reads a large CSV with text labels, and in how much memory.

Names follow Zipf's law over a million entities. Wanted: 20 million rows at 150,000 rows/s or more
on 2 cores, under 8 GB, and a rate at 2 million rows within a factor 1.5 of it (linear growth).
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from measure import keep, run_measured

NUM_ENTITIES, NUM_RELATIONS, CHUNK = 1_000_000, 250, 2_000_000


def write_csv(path: Path, num_rows: int) -> None:
    random = np.random.default_rng(0)
    entities = pl.Series(
        [f"Organisation {i * 7919 % 1_000_003:07d} (Region {i % 199})" for i in range(NUM_ENTITIES)]
    )
    relations = pl.Series([f"relation number {i}" for i in range(NUM_RELATIONS)])
    days = pl.date_range(pl.date(2000, 1, 1), pl.date(2019, 12, 31), eager=True).cast(pl.String)

    def zipf(num_rows: int, num_names: int) -> np.ndarray:
        cumulative = np.cumsum(1 / np.arange(1, num_names + 1))
        return np.searchsorted(cumulative, random.random(num_rows) * cumulative[-1])

    with path.open("wb") as stream:
        for start in range(0, num_rows, CHUNK):
            count = min(CHUNK, num_rows - start)
            pl.DataFrame(
                {
                    "subject": entities[zipf(count, NUM_ENTITIES)],
                    "relation": relations[zipf(count, NUM_RELATIONS)],
                    "object": entities[zipf(count, NUM_ENTITIES)],
                    "date": days[random.integers(0, len(days), count)],
                }
            ).write_csv(stream, include_header=start == 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[2e6, 20e6])
    lines = [f"{'rows':>12} {'file GB':>8} {'seconds':>8} {'rows/s':>10} {'peak GB':>8}"]
    rates = []
    for rows in map(int, parser.parse_args().rows):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "facts.csv"
            write_csv(table, rows)
            out = Path(folder) / "prepared"
            seconds, peak, _ = run_measured("data", "prepare", str(table), "--out", str(out))
            rates.append(rows / seconds)
            size = table.stat().st_size / 1e9
            lines.append(f"{rows:12,} {size:8.2f} {seconds:8.1f} {rates[-1]:10,.0f} {peak:8.2f}")
    if len(rates) > 1:
        lines.append(f"rate of the smallest over the largest: {rates[0] / rates[-1]:.2f}")
    keep("ingest", lines)


if __name__ == "__main__":
    main()
