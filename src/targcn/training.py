"""From a data set to a run.

Takes a data set, the name of a model and its settings; gives a Run. The rules that learn nothing
pass straight through. Next room: checkpoint, evaluation.
"""

from typing import Any

import torch

from targcn.checkpoint import Run
from targcn.facts.dataset import Dataset
from targcn.models import DEFAULT, create


def fit(dataset: Dataset, model: str = DEFAULT, *, seed: int = 0, **settings: Any) -> Run:
    """Make a model of this name for a data set.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=10)
    >>> report = targcn.evaluate(run, split="valid", context="train")
    >>> report.num_queries
    8318
    >>> targcn.predict(run, "Barack Obama", "succeeded", None, 2005, top=1)["answer"].to_list()
    ['Peter G. Fitzgerald']
    """
    torch.manual_seed(seed)
    module = create(model, dataset, settings)
    return Run(model, module.settings, seed, dataset, module)
