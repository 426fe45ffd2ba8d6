"""Fuse runs of one data set: one run whose scores are the weighted sum of their log-probabilities.

The weights are those with the best time-aware MRR on the valid split, in its members' context.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch

from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import Filter
from targcn.evaluation.intervals import FEW_TICKS
from targcn.evaluation.ranking import Progress, in_batches, ranks_of, rows_at_once
from targcn.evaluation.report import Setting
from targcn.files import free_name, require_absent
from targcn.graph.queries import time_order
from targcn.models.base import Model
from targcn.models.fused import FUSED, FusedSettings, log_probabilities_of, weighted_sum
from targcn.output.terminal import count_progress
from targcn.runs.run import Run, fused_run
from targcn.runs.several import common_context, common_dataset, name_runs
from targcn.runs.store import open_run, save_run

FILTER: Final[Filter] = "time-aware"
# Queries that the weights are chosen on, at most. More hardly change them.
MOST_QUERIES: Final = 20_000
# A step either moves this share of all weights to one member, or multiplies that member's weight:
# one model's scores may be spread a hundred times as wide as another's.
MOVED: Final = (0.005, 0.02, 0.08, 0.3)
TIMES: Final = (0.0, 0.03, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
# The search ends when a step gains less MRR than this.
LEAST_GAIN: Final = 1e-4

Weights = tuple[float, ...]


def fuse(
    runs: Mapping[str, Run] | Sequence[Path | str],
    *,
    out: Path | str | None = None,
    queries: int = MOST_QUERIES,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> Run:
    """Fuse run folders, or runs by name, into one run; keep it in the folder `out` if given.

    Its model scores an entity by the weighted sum of the members' log-probabilities. The weights
    have the best time-aware MRR that a search finds on the valid split, in the members' context;
    `queries` is how many of its queries to search on, chosen by the seed. The members, each with
    its `validation` on the whole split, are in `members`, and their weights in `recipe.settings`.

    The folder holds copies of its members.

    >>> import targcn
    >>> congress = targcn.open_dataset("congress")
    >>> how = {"epochs": 1, "dim": 8, "device": "cpu"}
    >>> runs = {name: targcn.fit(congress, name, **how) for name in ("distmult", "complex")}
    >>> fused = fuse(runs, queries=500, device="cpu")
    >>> list(fused.recipe.settings.weights)
    ['distmult', 'complex']
    """
    if out is not None:
        require_absent(Path(out))
    if len(runs) < 2:
        raise InputError("fusing takes two runs or more; a single one is what it is already")
    require_at_least(1, queries=queries)
    require_at_least(0, seed=seed)
    sources = _member_names(name_runs(runs))
    members = {name: open_run(source) for name, source in sources.items()}
    for name, run in members.items():
        if not run.model.has_probabilities:
            raise InputError(
                f"the scores of {name}, a run of {run.recipe.model}, do not stand for "
                "probabilities, so it cannot be fused; leave it out"
            )
    dataset = common_dataset(members)
    setting = Setting("valid", common_context(members, "valid"), most_ticks=FEW_TICKS)
    evaluator = Evaluator(dataset, setting, choose_device(device))
    with count_progress("fusing", "queries", progress) as shown:
        for name, run in members.items():
            report = evaluator.evaluate(run.model_to_evaluate(), run.recipe.model, shown)
            members[name] = replace(run, validation=report)
        models = [run.model for run in members.values()]
        weights = choose_weights(models, evaluator, queries, seed, shown)
        settings = FusedSettings(dict(zip(members, weights, strict=True)))
        fused = fused_run(dataset, members, settings, seed)
        report = evaluator.evaluate(fused.model_to_evaluate(), FUSED, shown)
        fused = replace(fused, validation=report)
    if out is not None:
        save_run(fused, out, [report])
    return fused


def choose_weights(
    models: Sequence[Model],
    evaluator: Evaluator,
    queries: int,
    seed: int,
    progress: Progress | None = None,
) -> Weights:
    """Climb to the weights with the best MRR, from equal ones or from a single model's.

    Every step tries all moves of one weight in one pass over the queries, and takes the best.
    """
    num = len(models)
    equal = _rounded((1.0,) * num)
    alone = [tuple(float(place == member) for place in range(num)) for member in range(num)]
    tried: dict[Weights, float] = {}
    candidates, best, gain = [equal, *alone], equal, 1.0
    while gain >= LEAST_GAIN and candidates:
        mrrs = mrr_of_each(candidates, models, evaluator, queries, seed, progress)
        before = tried.get(best, 0.0)
        tried |= zip(candidates, mrrs, strict=True)
        best = max(tried, key=tried.__getitem__)
        gain = tried[best] - before
        candidates = [moved for moved in dict.fromkeys(_moves(best)) if moved not in tried]
    return best


def _moves(weights: Weights) -> Iterator[Weights]:
    """The weights with one of them larger or smaller."""
    for place in range(len(weights)):
        for share in MOVED:
            moved = [(1 - share) * weight for weight in weights]
            moved[place] += share
            yield _rounded(moved)
        for factor in TIMES:
            moved = list(weights)
            moved[place] *= factor
            if any(moved):
                yield _rounded(moved)


def _rounded(weights: Sequence[float]) -> Weights:
    """The weights as shares of their sum, of three digits; more would say nothing."""
    return tuple(float(f"{weight / sum(weights):.3g}") for weight in weights)


def mrr_of_each(
    candidates: Sequence[Weights],
    models: Sequence[Model],
    evaluator: Evaluator,
    queries: int,
    seed: int,
    progress: Progress | None = None,
) -> list[float]:
    """The time-aware MRR with each of these weights, on some of the queries, chosen by the seed.

    The models score a batch once for all candidates; no more than a batch is in memory.
    """
    models = [model.to(evaluator.device).eval() for model in models]
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(evaluator.queries), generator=generator)[:queries]
    chosen = chosen.to(evaluator.device)
    chosen = chosen[time_order(evaluator.queries.times[chosen])]
    asked, targets = evaluator.queries[chosen], evaluator.targets[chosen]

    def reciprocal_ranks(rows: slice) -> torch.Tensor:
        """One row per candidate."""
        scores = (model(asked[rows], evaluator.graph) for model in models)
        logs = list(map(log_probabilities_of, models, scores))
        known = {FILTER: evaluator.known[FILTER].look_up(asked[rows])}
        reciprocal = []
        for weights in candidates:
            fused = weighted_sum(pair for pair in zip(weights, logs, strict=True) if pair[0])
            ranks = ranks_of(fused, targets[rows], known, evaluator.setting.ties)
            reciprocal.append(1 / ranks[FILTER])
        return torch.stack(reciprocal).cpu()

    width = evaluator.graph.num_entities * (len(models) + 1)
    batch_size = rows_at_once(width, evaluator.device)
    batches = in_batches(reciprocal_ranks, len(asked), batch_size, progress)
    means: list[float] = torch.cat(list(batches), dim=1).mean(1).tolist()
    return means


def _member_names(sources: Mapping[str, Run | Path]) -> dict[str, Run | Path]:
    """The sources by names that folders can have, numbered where two would be the same."""
    named: dict[str, Run | Path] = {}
    for given, source in sources.items():
        name = given if isinstance(source, Run) else source.resolve().name
        if name in ("", "..") or Path(name).name != name:
            raise InputError(f"a member cannot be called {name!r}; give it the name of a folder")
        named[free_name(name, named.__contains__)] = source
    return named
