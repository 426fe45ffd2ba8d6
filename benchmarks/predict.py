"""How long one question takes: in a loaded process, and as a command from the start.

The model has its initial weights, which changes no time. Needs polars, since answers are frames.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from benchmarks.untrained import describe_run, make_untrained
from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.inference.predictor import Predictor
from targcn.runs.store import save_run


def measure_predict(
    source: Dataset | Shape,
    *,
    model: str = "targcn",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    questions: int = 200,
    commands: int = 3,
) -> measure.Result:
    """Milliseconds per question of the test split, asked one by one, and seconds per command."""
    require_at_least(2, questions=questions)
    require_at_least(1, commands=commands)
    dataset, data = open_source(source)
    if len(dataset.test) < 2:
        raise InputError(f"{dataset.name} has too few facts in its test split to ask about")
    run = make_untrained(dataset, model, recipe, settings)
    count = min(questions, len(dataset.test))
    step = len(dataset.test) // count
    asked = [
        (
            *dataset.named("test", number * step)[:3],
            dataset.timeline.label(dataset.test.times[number * step]),
        )
        for number in range(count)
    ]
    measure.forget_peak()
    predictor, loading = measure.timed(lambda: Predictor(run, device="cpu"))
    seconds = []
    for subject, relation, _, day in measure.counted(asked, "asking", "questions"):
        ask = partial(predictor.predict, subject, relation, None, day)
        seconds.append(measure.timed(ask)[1])
    seconds.sort()
    peak = measure.peak_bytes()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "run"
        save_run(run, kept)
        subject, relation, _, day = asked[0]
        command = ["predict", str(kept), subject, relation, "?", day]
        whole = [_time_command(command) for _ in range(commands)]
    rows: list[measure.Row] = [
        {"what": "loading a predictor, which builds the index", "seconds": loading},
        {
            "what": "a question in a loaded process",
            "p50_milliseconds": statistics.median(seconds) * 1e3,
            "p95_milliseconds": seconds[int(len(seconds) * 0.95)] * 1e3,
            "questions_per_second": len(seconds) / sum(seconds),
            "peak_bytes": peak,
        },
        {"what": f"whole command, median of {commands}", "seconds": statistics.median(whole)},
    ]
    arguments = describe_run(run) | {"questions": count, "device": "cpu"}
    return measure.Result("predict", arguments, data, torch.device("cpu"), rows)


def _time_command(arguments: list[str]) -> float:
    command = [sys.executable, "-m", "targcn", *arguments]
    # The process is to find this very package.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended, seconds = measure.timed(
        lambda: subprocess.run(command, capture_output=True, text=True, env=environment)
    )
    if ended.returncode:
        raise InputError(f"'targcn {arguments[0]}' failed: {ended.stderr.strip()}")
    return seconds
