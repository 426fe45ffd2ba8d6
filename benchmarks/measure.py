"""What every benchmark here needs: run a command, take its time and peak memory, keep the table."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import torch

RESULTS = Path(__file__).with_name("results")


def run_measured(*arguments: str) -> tuple[float, float, str]:
    """Seconds, peak resident memory in GB, and the output of `python -m targcn ...`."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "targcn", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"targcn {' '.join(arguments)} failed with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e6, output


def keep(name: str, lines: list[str]) -> None:
    """Print a result and keep it under results/, with the machine it was measured on."""
    machine = (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"numpy {np.__version__}, polars {pl.__version__}, torch {torch.__version__}"
    )
    text = "\n".join([f"# python benchmarks/{name}.py", f"# {machine}", *lines]) + "\n"
    print(text, end="")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text(text)
