"""`make torture`: cases from seeds, in processes that may die, and one table of what came of them.

python -m torture --minutes 10                 all kinds, each its part of the time
python -m torture --cases 100 --kinds table    so many of a kind
python -m torture --replay "run folder 17"     one case again, with its traceback
"""

import argparse
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from targcn.output.tables import Table, to_text

Case = Callable[[Path, Path, random.Random], str]
# The share of the time that each kind gets.
KINDS = {
    "kill": 0.4,
    "run folder": 0.16,
    "prepared folder": 0.04,
    "table": 0.3,
    "full disk": 0.1,
}
SECONDS_PER_CASE = 1_800.0
# In memory, where there is such a place: cases sync their files.
FASTEST = "/dev/shm" if os.path.isdir("/dev/shm") else None
FAULTS = ("traceback", "hang", "loss", "crash")


def find_case(kind: str, base: Path) -> Case:
    """The function that runs cases of a kind; what it needs is imported here, and not used."""
    import torch._dynamo  # noqa: F401

    from targcn.models.registry import MODELS

    for entry in MODELS.values():
        entry.load()
    if kind == "table":
        good: dict[str, bytes] = pickle.loads((base / "tables").read_bytes())
        return lambda base, scratch, rng: table_case(good, scratch, rng)
    from torture import folders

    if kind in ("run folder", "prepared folder"):
        return folders.run_case if kind == "run folder" else folders.prepared_case
    import matplotlib.figure  # noqa: F401
    import optuna  # noqa: F401

    from torture import commands, disturbances

    commands.use_small_experiment()
    cases: dict[str, Case] = {
        "kill": disturbances.kill_case,
        "full disk": disturbances.disk_case,
    }
    return cases[kind]


def table_case(good: dict[str, bytes], scratch: Path, rng: random.Random) -> str:
    from torture.tables import loads_or_explains, mangle

    ending = rng.choice(sorted(good))
    path = scratch / f"x.{ending}"
    path.write_bytes(mangle(good[ending], rng))
    return loads_or_explains(path)


def run_one(case: Case, base: Path, seed: int, kind: str, number: int) -> str:
    """What came of a case: it worked, was explained, or is one of the FAULTS with its story."""
    scratch = Path(tempfile.mkdtemp(dir=base.parent))
    try:
        return case(base, scratch, random.Random(f"{seed} {kind} {number}"))
    except BaseException:
        return f"traceback: {traceback.format_exc()[-1500:]}"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def begin(kind: str, base: Path) -> None:
    """Prepare a process for the cases of a kind."""
    # What the program says is not wanted here; what it does is.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    run_number.case = find_case(kind, base)  # type: ignore[attr-defined]


def run_number(base: Path, seed: int, kind: str, number: int) -> str:
    return run_one(run_number.case, base, seed, kind, number)  # type: ignore[attr-defined]


class Pool:
    """What came of the cases of a kind; a process that hangs or dies is replaced."""

    def __init__(self, kind: str, base: Path, seed: int, jobs: int) -> None:
        self.kind, self.base, self.seed, self.jobs = kind, base, seed, jobs
        self.counts: Counter[str] = Counter()
        self.stories: list[str] = []
        self.num_kills = 0

    def run(self, seconds: float, most_cases: int | None) -> None:
        numbers = iter(range(most_cases)) if most_cases else count()
        ends = time.monotonic() + seconds
        with ThreadPoolExecutor(self.jobs) as threads:
            for _ in range(self.jobs):
                threads.submit(self._run_some, numbers, ends).add_done_callback(Future.result)

    def _run_some(self, numbers: Iterator[int], ends: float) -> None:
        """Run cases in one process, or in another where that ends."""
        for number in numbers:
            with ProcessPoolExecutor(
                1, get_context("spawn"), begin, (self.kind, self.base)
            ) as process:
                child = process.submit(os.getpid).result()
                while time.monotonic() < ends:
                    try:
                        case = process.submit(run_number, self.base, self.seed, self.kind, number)
                        self.note(number, case.result(SECONDS_PER_CASE))
                    except TimeoutError:
                        os.kill(child, signal.SIGKILL)
                        self.note(number, "hang: it was killed")
                        break
                    except BrokenProcessPool:
                        self.note(number, "crash: the process ended")
                        break
                    if (number := next(numbers, None)) is None:  # type: ignore[assignment]
                        return
                else:
                    return

    @property
    def num_cases(self) -> int:
        return sum(self.counts.values())

    def note(self, number: int, outcome: str) -> None:
        what, _, story = outcome.partition(": ")
        self.counts[what] += 1
        self.num_kills += int(story) if what == "worked" and story else 0
        if what in FAULTS:
            self.stories.append(f"{self.kind} {number}: {what}: {story}")
            print(self.stories[-1], file=sys.stderr, flush=True)


def table_of(pools: list[Pool], seconds: dict[str, float]) -> str:
    """What came of all cases, one line per kind."""
    faults = ("tracebacks", "hangs", "losses", "crashes")
    rows = [["kind", "cases", "worked", "explained", *faults, "seconds"]]
    for pool in pools:
        counts = [pool.counts[what] for what in ("worked", "explained", *FAULTS)]
        counts[0] += pool.counts["loaded"]
        figures = [pool.num_cases, *counts, round(seconds[pool.kind])]
        rows.append([pool.kind, *(f"{figure:,}" for figure in figures)])
    return to_text(Table.of_text(rows[0], rows[1:]))


def make_material(base: Path) -> None:
    base.mkdir()
    subprocess.run([sys.executable, "-m", "torture.material", str(base)], check=True)


def torture(kinds: list[str], seed: int, minutes: float, cases: int | None, jobs: int) -> int:
    """Run the cases, print the table; how many faults there were."""
    pools, seconds = [], {}
    with tempfile.TemporaryDirectory(dir=FASTEST) as folder:
        base = Path(folder, "base")
        make_material(base)
        whole = sum(KINDS[kind] for kind in kinds)
        for kind in kinds:
            began = time.monotonic()
            pools.append(Pool(kind, base, seed, jobs))
            pools[-1].run(60 * minutes * KINDS[kind] / whole, cases)
            seconds[kind] = time.monotonic() - began
    print(table_of(pools, seconds), flush=True)
    faults = sum(pool.counts[what] for pool in pools for what in FAULTS)
    kills = sum(pool.num_kills for pool in pools)
    print(
        f"seed {seed}, {kills:,} kills, {faults} faults"
        + ("; replay one with --replay" if faults else "")
    )
    return faults


def replay(seed: int, written: str) -> int:
    kind, _, number = written.rpartition(" ")
    with tempfile.TemporaryDirectory(dir=FASTEST) as folder:
        base = Path(folder, "base")
        make_material(base)
        outcome = run_one(find_case(kind, base), base, seed, kind, int(number))
    print(outcome)
    return int(outcome.partition(":")[0] in FAULTS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, help="at most so many of each kind")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", metavar="'KIND NUMBER'")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if given.replay:
        sys.exit(replay(given.seed, given.replay))
    sys.exit(bool(torture(given.kinds, given.seed, given.minutes, given.cases, given.jobs)))
