"""Evaluate a run, or the run in a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from targcn.config import require_at_least, require_choice
from targcn.devices import choose_device
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.evaluation.candidates import KINDS, Kind
from targcn.evaluation.evaluator import CandidateEvaluator, Evaluator
from targcn.evaluation.ranking import Progress, Ties
from targcn.evaluation.report import Protocol, Report, Setting
from targcn.facts.dataset import Context, Split
from targcn.files import require_absent, require_ending
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import open_run

# What is asked of each fact: both entities, or another place.
AskedPlace = Literal["entity"] | Kind


def evaluate(
    run: Run | Path | str,
    *,
    split: Split = "test",
    context: Context | None = None,
    ties: Ties = "mean",
    intervals: Protocol | None = None,
    ask: AskedPlace = "entity",
    queries: int | None = None,
    seed: int = 0,
    facts: object = None,
    ranks_out: Path | str | None = None,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Report:
    """Evaluate a run on a split; its model sees the facts of the context alone.

    Without a context it sees the splits before this one: train, and valid too for test; or the
    past, if it was trained with `past_only`. `facts`, a file or a frame, join the context, those of
    the split itself excepted; the filters know them too.

    A fact with a beginning and an end is asked about at each of its ticks (`intervals`
    "enumerate-time", the default), or once ("identical"); see docs/evaluation.md.

    Asked are the entities of each fact; or with `ask` its relation or its time, among all relations
    or times. That takes a query per candidate: `queries` facts, chosen by the seed, may be enough.

    `ranks_out` is a new Parquet file for the rank of every query (docs/judging.md).

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "seen")
    >>> report = targcn.evaluate(run, context="train")
    >>> list(report.metrics), sorted(report.metrics["time-aware"]["both"])
    (['raw', 'static', 'time-aware'], ['hits@1', 'hits@10', 'hits@3', 'mean_rank', 'mrr'])
    """
    run = open_run(run)
    setting = Setting(split, context or run.default_context(split), ties, intervals)
    if facts is not None:
        run = run.with_facts(facts, setting.context, split)
    require_choice(("entity", *KINDS), ask=ask)
    of_entities = {"intervals": intervals, "ranks_out": ranks_out}
    for option, value in ({"queries": queries} if ask == "entity" else of_entities).items():
        if value is not None:
            raise InputError(f"{option} means nothing where ask is {ask!r}; leave it out")
    place, model, name = choose_device(device), run.model_to_evaluate(), run.recipe.model
    if ask == "entity":
        if ranks_out is not None:
            # It needs polars, an evaluation does not.
            from targcn.evaluation.ranks_file import write_ranks

            if processes.size > 1:
                raise InputError(f"{ranks_out} is written by one process; leave out torchrun")
            require_ending(Path(ranks_out), ".parquet")
            require_absent(Path(ranks_out))
        evaluator = Evaluator(run.dataset, setting, place, processes)
        with count_progress(f"evaluating {split}", "queries", progress) as shown:
            ranks = evaluator.ranks(model, shown)
            if ranks_out is not None:
                write_ranks(ranks, evaluator, Path(ranks_out))
        report = evaluator.summarize(ranks, name, model.leaks)
        return replace(report, calibration=evaluator.calibrate(model))
    require_at_least(1, queries=queries)
    asker = CandidateEvaluator(run.dataset, setting, ask, place, queries, seed, processes)
    with count_progress(f"evaluating {split}", "facts", progress) as shown:
        return asker.evaluate(model, name, shown)
