"""How long one question takes: in a loaded process, and as a command from the start.

The model has its initial weights, which changes no time. Needs polars, since answers are frames.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import torch

from targcn.bench.generated_data import Shape, open_source
from targcn.bench.measure import (
    Progress,
    Result,
    Row,
    check_at_least,
    describe_machine,
    environment,
    forget_peak,
    peak_bytes,
)
from targcn.bench.untrained import make_untrained
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.inference.predictor import Predictor
from targcn.runs.store import save_run

COMMANDS: Final = 3


def measure_predict(
    source: Dataset | Shape,
    *,
    model: str = "targcn",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    questions: int = 200,
    progress: Progress | None = None,
) -> Result:
    """Milliseconds per question of the test split, asked one by one, and seconds per command."""
    check_at_least(2, questions=questions)
    dataset, data = open_source(source)
    if len(dataset.test) < 2:
        raise InputError(f"{dataset.name} has too few facts in its test split to ask about")
    made = make_untrained(dataset, model, recipe, settings or {})
    count = min(questions, len(dataset.test))
    step = len(dataset.test) // count
    asked = [dataset.named("test", number * step) for number in range(count)]
    forget_peak()
    begin = time.perf_counter()
    predictor = Predictor(made, device="cpu")
    loading = time.perf_counter() - begin
    seconds = []
    for subject, relation, _, day in asked:
        begin = time.perf_counter()
        predictor.predict(subject, relation, None, day)
        seconds.append(time.perf_counter() - begin)
        if progress is not None:
            progress(len(seconds), count)
    seconds.sort()
    rows: list[Row] = [
        {"what": "loading a predictor, which builds the index", "seconds": loading},
        {
            "what": "a question in a loaded process",
            "p50_milliseconds": statistics.median(seconds) * 1e3,
            "p95_milliseconds": seconds[int(len(seconds) * 0.95)] * 1e3,
            "questions_per_second": len(seconds) / sum(seconds),
            "peak_bytes": peak_bytes(),
        },
    ]
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "run"
        save_run(made, kept)
        subject, relation, _, day = asked[0]
        command = ["predict", str(kept), subject, relation, "?", day]
        whole = [_time_command(command) for _ in range(COMMANDS)]
    rows.append(
        {"what": f"whole command, median of {COMMANDS}", "seconds": statistics.median(whole)}
    )
    arguments = {
        "model": model,
        "recipe": made.recipe.name,
        "settings": asdict(made.recipe.settings),
        "questions": count,
        "device": "cpu",
    }
    return Result("predict", arguments, data, describe_machine(torch.device("cpu")), rows)


def _time_command(arguments: list[str]) -> float:
    begin = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "targcn", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    if ended.returncode:
        raise InputError(f"'targcn {arguments[0]}' failed: {ended.stderr.strip()}")
    return time.perf_counter() - begin
