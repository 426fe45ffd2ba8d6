"""A run with the weights it was drawn with: training changes the answers, not the time they take.

Takes a data set and settings as `train` does, but TARGCN's are by default the published code's.
Next room: the benchmarks.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import torch

from targcn.checkpoint import Run
from targcn.facts.dataset import Dataset
from targcn.fitting import choose_settings
from targcn.models import DEFAULT, create
from targcn.runs import RunFile, find_run
from targcn.training import Training

PUBLISHED: Final = RunFile(
    "published-code",
    "the published code's model at its size on ICEWS14, for any data set",
    {"size": 300, "decay": 2.0, "weight_floor": 1e-9, "time_factor": 24.0, "own_fact": "kept"},
    {"batch_size": 128, "schedule": "constant"},
)


def make_untrained(
    dataset: Dataset, model: str, run: str | None, settings: Mapping[str, Any]
) -> tuple[Run, Training]:
    """A run of this model and how it would be trained; `run` names a published one."""
    file = PUBLISHED
    if run is not None or model != DEFAULT:
        file = find_run(model, run or "default", dataset.name)
    for_model, training = choose_settings(model, file, settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = create(model, dataset, for_model)
    made = Run(model, module.settings, 0, dataset, module, file.name, asdict(training))
    return made, training
