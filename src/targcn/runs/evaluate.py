"""Evaluate a run, or the run in a folder."""

from pathlib import Path

import torch

from targcn.devices import choose_device
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.ranking import Progress, Ties
from targcn.evaluation.report import Report, Setting
from targcn.facts.dataset import Context, Split
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import open_run


def evaluate(
    run: Run | Path | str,
    *,
    split: Split = "test",
    context: Context | None = None,
    ties: Ties = "mean",
    facts: object = None,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Report:
    """Evaluate a run on a split; its model sees the facts of the context alone.

    Without a context it sees the splits before this one: train, and valid too for test; or the
    past, if it was trained with `past_only`. `facts`, a file or a frame, join the context, those of
    the split itself excepted; the filters know them too.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "seen")
    >>> report = targcn.evaluate(run, context="train")
    >>> list(report.metrics), sorted(report.metrics["time-aware"]["both"])
    (['raw', 'static', 'time-aware'], ['hits@1', 'hits@10', 'hits@3', 'mean_rank', 'mrr'])
    """
    run = open_run(run)
    setting = Setting(split, context or run.default_context(split), ties)
    if facts is not None:
        run = run.with_facts(facts, setting.context, split)
    evaluator = Evaluator(run.dataset, setting, choose_device(device), processes)
    with count_progress(f"evaluating {split}", "queries", progress) as told:
        return evaluator.evaluate(run.model_to_evaluate(), run.recipe.model, told)
