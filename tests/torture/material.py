"""What is tortured: tables, a prepared folder and runs, all of them small.

It is made by a process of its own, so that the others can fork: a process that has used polars has
threads, which a fork loses.
"""

import pickle
import sys
from pathlib import Path

import pytest

from small_training import DATA, SMALL, stop_at
from targcn.runs.fuse import fuse
from targcn.training.fit import fit
from torture.tables import make_tables

RUNS = {
    "evidence": {"prior_dim": 4, "epochs": 2, "batch_size": 256, "device": "cpu"},
    "targcn": SMALL | {"epochs": 2, "dim": 8},
    "tntcomplex": {"dim": 4, "epochs": 2, "batch_size": 256, "device": "cpu"},
    "decayed-copy": {"device": "cpu"},
}
# A fact of the data, to ask about.
QUESTION = ["e0", "r0", "e7", "1970-01-01"]
LEARNERS = [name for name in RUNS if name != "decayed-copy"]


def make(folder: Path) -> None:
    """Fill a folder with what the cases begin from."""
    DATA.save(folder / "data")
    for name, settings in RUNS.items():
        fit(DATA, name, out=folder / name, **settings)
    for name in LEARNERS:
        how = RUNS[name] | {"progress": stop_at((2, 0), None), "validate_every": 1}
        with pytest.raises(RuntimeError, match="power cut"):
            fit(DATA, name, out=folder / f"{name}-unfinished", **how)
    fuse([folder / name for name in ("evidence", "tntcomplex")], out=folder / "fused", device="cpu")
    asked = [[*QUESTION[:2], "?", QUESTION[3]]] * 20
    lines = [",".join(row) for row in (["subject", "relation", "object", "time"], *asked)]
    (folder / "questions.csv").write_text("\n".join(lines) + "\n")
    # Of our own making, and read by our own processes alone.
    (folder / "tables").write_bytes(pickle.dumps(make_tables()))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
