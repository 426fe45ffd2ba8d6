"""The memory of each of several processes that hold the tables of entities together.

Each number of processes trains for an epoch of few facts among many entities, from the initial
weights to the saved run. The same without vectors of entities tells what else takes memory.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from targcn.bench import measure
from targcn.bench.generated_data import Shape, generate
from targcn.config import require_at_least
from targcn.distributed import join_process_group
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.training.fit import fit

DEFAULT: Final = Shape(facts=1000, entities=1_000_000)
CANDIDATES: Final = 1024
# Of the queries that 80 % of these facts make.
NUM_STEPS: Final = 4


def measure_shards(
    processes: Sequence[int] = (1, 2, 4),
    shape: Shape = DEFAULT,
    *,
    prior_dim: int = 128,
    folder: Path | str | None = None,
) -> measure.Result:
    """The peak of memory of the process that takes most, with tables and without.

    The data set and the runs are written below `folder`, by default where temporary files go, and
    removed.
    """
    if folder is not None and not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder} to write the data set in")
    require_at_least(1, processes=min(processes, default=0), prior_dim=prior_dim)
    rows = []
    with TemporaryDirectory(dir=folder) as within:
        data = Path(within) / "data"
        generate(shape).save(data)
        for size in measure.counted(processes, "measuring", "numbers of processes"):
            with_tables, without = (
                _peak(size, data, Path(within) / f"{size}-{dim}", dim) for dim in (prior_dim, 0)
            )
            row: measure.Row = {"processes": size, "peak_bytes": with_tables}
            row |= {"without_tables_bytes": without, "tables_bytes": with_tables - without}
            rows.append(row)
    for row in rows:
        row["share_of_first"] = row["tables_bytes"] / rows[0]["tables_bytes"]
    arguments = {"model": "evidence", "prior_dim": prior_dim, "candidates": CANDIDATES}
    described = {"name": "generated", "shape": asdict(shape)}
    # Two tables of weights, gradients, two moments, and the best weights so far.
    needed = 2 * shape.entities * prior_dim * 4 * 5
    note = f"the tables with gradient, moments and best weights are {needed / 1e9:.2f} GB in all"
    return measure.Result("shards", arguments, described, None, rows, notes=(note,))


def _peak(size: int, data: Path, out: Path, prior_dim: int) -> int:
    of_each = measure.run_group(train_together, size, data=data, out=out, prior_dim=prior_dim)
    return max(int(row["peak_bytes"]) for row in of_each)


def train_together(data: Path, out: Path, prior_dim: int) -> measure.Row:
    """An epoch in one of several processes, which tells its peak."""
    with join_process_group("cpu") as (processes, device):
        dataset = Dataset.load(data)
        in_step = 2 * len(dataset.train) // NUM_STEPS // processes.size
        fit(
            dataset,
            "evidence",
            out=out,
            device=device,
            processes=processes,
            shard_tables=True,
            epochs=1,
            batch_size=max(in_step, 1) * processes.size,
            prior_dim=prior_dim,
            candidates=CANDIDATES,
        )
        return {"peak_bytes": measure.peak_bytes()}
