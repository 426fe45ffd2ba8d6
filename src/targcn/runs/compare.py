"""Compare runs of one data set: the same queries, the same context, the same evaluator.

Systems from outside come as files of their ranks or scores (evaluation/ranks_file.py).

How certain a difference between two runs is comes from a paired bootstrap: facts are resampled,
the same ones for all runs.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.config import require_at_least, require_choice
from targcn.devices import choose_device, describe_device
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.ranking import Progress, Ties
from targcn.evaluation.report import Protocol, Report, Setting
from targcn.facts.dataset import Context, Split
from targcn.output.tables import Column, Shown, Table, Value
from targcn.output.terminal import count_progress
from targcn.runs.run import Run, TrainingRecord
from targcn.runs.several import common_context, common_dataset, name_files, name_runs
from targcn.runs.store import open_run

RESAMPLES: Final = 2000
# With fewer there is no 95 % interval.
LEAST_RESAMPLES: Final = 100
LEVEL: Final = 0.95
PERCENT: Final = f"{100 * LEVEL:.0f} %"
# What is told of a difference, and the label of its column.
DIFFERENCE: Final = {
    "mrr difference": "difference",
    "mrr difference low": f"{PERCENT} low",
    "mrr difference high": f"{PERCENT} high",
    "zero inside": "0 inside",
}
# Facts resampled at a time: 8 MB of positions, and as much again for their counts.
MOST_RESAMPLED: Final = 1 << 20
# What is called the model of a system from outside.
SCORES: Final = "scores from outside"
RANKS: Final = "ranks from outside"


@dataclass(frozen=True, eq=False)
class EvaluatedRun:
    """One run, or one system from outside: its ranks and its figures."""

    name: str
    report: Report
    # Of each fact's object, then of each fact's subject (Evaluator.ranks).
    ranks: Mapping[Filter, Tensor]
    # All else is not known of what came from outside. How long the evaluation took, and on what:
    seconds: float | None = None
    device: str | None = None
    num_parameters: int | None = None
    trained: TrainingRecord | None = None
    # What the model knows of the facts that it is evaluated on.
    leaks: tuple[str, ...] = ()

    @property
    def is_outside(self) -> bool:
        return self.seconds is None

    @property
    def queries_per_second(self) -> float | None:
        return None if self.seconds is None else self.report.num_queries / self.seconds

    def mrr(self, which: Filter) -> float:
        return self.report.metrics[which]["both"]["mrr"]

    def per_fact(self, which: Filter) -> NDArray[np.float64]:
        """The reciprocal rank of each fact: the mean over its two queries."""
        pairs: NDArray[np.float64] = (1 / self.ranks[which]).view(2, -1).mean(0).numpy()
        return pairs


@dataclass(frozen=True)
class Difference:
    """The difference of two MRRs, and its 95 % interval."""

    mrr: float
    low: float
    high: float

    @property
    def zero_inside(self) -> bool:
        return self.low <= 0 <= self.high


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Runs evaluated in one setting on the same data.

    Runs are ordered by their MRR under one filter, and their differences are under that filter too.
    """

    runs: tuple[EvaluatedRun, ...]
    filter: Filter = "time-aware"
    # The run that the others are compared with; by default the best.
    to: str | None = None
    resamples: int = RESAMPLES
    seed: int = 0

    def as_table(self) -> Table:
        """Who is best, and how certain that is; `comparison_table` has all there is."""
        table = comparison_table(self)
        wanted = {"run", *(f"{self.filter} {key}" for key in ("mrr", *DIFFERENCE))}
        columns = tuple(column for column in table.columns if column.key in wanted)
        return replace(table, columns=columns)

    @property
    def common(self) -> Report:
        """A report to read the data set, the setting and the number of queries from."""
        return self.runs[0].report

    @cached_property
    def ranked(self) -> tuple[EvaluatedRun, ...]:
        """The runs, best first."""
        return tuple(sorted(self.runs, key=lambda run: -run.mrr(self.filter)))

    @property
    def reference(self) -> EvaluatedRun:
        """The run that the others are compared with."""
        return next(run for run in self.ranked if self.to in (None, run.name))

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """Each run's MRR minus that of the reference, by name, best first."""
        reference = self.reference.per_fact(self.filter)
        pairs = np.stack([run.per_fact(self.filter) - reference for run in self.ranked])
        means = resampled_means(pairs, self.resamples, self.seed)
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(means, [tail, 1 - tail], axis=1)
        return {
            run.name: Difference(float(pairs[row].mean()), float(low[row]), float(high[row]))
            for row, run in enumerate(self.ranked)
        }


def compare(
    runs: Mapping[str, Run] | Sequence[Path | str],
    *,
    ranks: Mapping[str, Path | str] | Sequence[Path | str] = (),
    split: Split = "test",
    context: Context | None = None,
    ties: Ties = "mean",
    intervals: Protocol | None = None,
    filter: Filter = "time-aware",
    to: Path | str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> Comparison:
    """Evaluate run folders, or runs by name, all in the same setting.

    Beside at least one run, `ranks` takes files with the ranks or scores of other systems
    (docs/judging.md).

    >>> import targcn
    >>> congress = targcn.open_dataset("congress")
    >>> rules = {name: targcn.fit(congress, name) for name in ("seen", "decayed-copy")}
    >>> comparison = compare(rules, split="valid")
    >>> [run.name for run in comparison.ranked], comparison.differences["seen"].zero_inside
    (['decayed-copy', 'seen'], False)
    """
    sources = name_runs(runs)
    files = name_files(ranks, sources)
    named: dict[str, Run | Path] = {**files, **sources}
    if not sources or len(sources) + len(files) < 2:
        raise InputError(
            "a comparison takes two runs or more, or one beside files of ranks; 'targcn evaluate "
            "RUN' evaluates one"
        )
    if len(named) < len(sources) + len(files):
        raise InputError("a run and a file of ranks have the same name; give each its own")
    require_choice(FILTERS, filter=filter)
    reference = None if to is None else _name_of(to, named)
    require_at_least(LEAST_RESAMPLES, resamples=resamples)
    require_at_least(0, seed=seed)
    opened = {name: open_run(source) for name, source in sources.items()}
    dataset = common_dataset(opened)
    setting = Setting(split, context or common_context(opened, split), ties, intervals)
    evaluator = Evaluator(dataset, setting, choose_device(device))
    evaluated, outside = [], []
    # Files first: they are read in no time, and one that does not fit is told at once.
    for name, path in files.items():
        # It needs polars, a comparison of runs does not.
        from targcn.evaluation.ranks_file import read_ranks

        with count_progress(f"reading {name}", "queries", progress) as shown:
            given, is_ranked_here = read_ranks(path, evaluator, shown)
        if filter not in given:
            raise InputError(
                f"{name} has no ranks under the {filter} filter; choose the filter "
                f"{' or '.join(given)}, or give its scores"
            )
        report = evaluator.summarize(given, SCORES if is_ranked_here else RANKS)
        outside.append(EvaluatedRun(name, report, given))
    for name, run in opened.items():
        start = time.perf_counter()
        with count_progress(f"evaluating {name}", "queries", progress) as shown:
            computed = evaluator.ranks(run.model_to_evaluate(), shown)
        cost = time.perf_counter() - start, describe_device(evaluator.device), run.num_parameters
        report = evaluator.summarize(computed, run.recipe.model)
        known = run.trained, run.model.leaks
        evaluated.append(EvaluatedRun(name, report, computed, *cost, *known))
    return Comparison((*evaluated, *outside), filter, reference, resamples, seed)


def _name_of(to: Path | str, sources: Mapping[str, Run | Path]) -> str:
    """The name of a run that is given by its name or by its folder."""
    for name, source in sources.items():
        if name == str(to) or (isinstance(source, Path) and source.resolve() == Path(to).resolve()):
            return name
    raise InputError(f"{to} is not one of the runs compared; choose one of {', '.join(sources)}")


def resampled_means(
    values: NDArray[np.float64], resamples: int, seed: int, most_at_once: int = MOST_RESAMPLED
) -> NDArray[np.float64]:
    """The mean of each row over resampled columns; one column of the result per resample.

    Every resample takes as many columns as there are, with replacement, and the same ones for all
    rows, so that what rows have in common cancels in their differences.
    """
    num_facts = values.shape[1]
    generator = np.random.default_rng(seed)
    most = max(most_at_once // num_facts, 1)
    sums = []
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        places = generator.integers(num_facts, size=(size, num_facts))
        # With the count of each fact, the sums are a matrix product.
        places += num_facts * np.arange(size)[:, None]
        counts = np.bincount(places.ravel(), minlength=size * num_facts)
        sums.append(values @ counts.reshape(size, num_facts).T.astype(np.float64))
    means: NDArray[np.float64] = np.concatenate(sums, axis=1) / num_facts
    return means


def comparison_table(comparison: Comparison) -> Table:
    """A row per run, best first; columns that are not shown make it complete for programs."""
    common, which = comparison.common, comparison.filter
    rows = tuple(_values(comparison, run) for run in comparison.ranked)
    shown = {column.key: column for column in _shown_columns(which)}
    return Table(
        # Only what came from outside may lack a filter.
        tuple(shown.get(key, Column(key, key, shown=False)) for key in max(rows, key=len)),
        rows,
        f"{len(comparison.runs)} runs on {common.dataset}: {common.num_queries:,} queries, "
        f"{common.setting}",
        (
            f"difference: {which} MRR minus that of {comparison.reference.name}, with the "
            f"{PERCENT} interval of {comparison.resamples:,} resamples of the facts (seed "
            f"{comparison.seed})",
            *_notes(comparison),
        ),
    )


def _notes(comparison: Comparison) -> Iterator[str]:
    """What the figures do not tell: leaks, and what is not known of systems from outside."""
    for run in comparison.ranked:
        yield from (f"{run.name}: {leak}" for leak in run.leaks)
        if run.is_outside:
            ranked = "their filters and ties are those of whoever ranked them, and "
            ranked = ranked if run.report.model == RANKS else ""
            yield f"{run.name}: {run.report.model}; {ranked}which facts it saw is not known here"


def _values(comparison: Comparison, run: EvaluatedRun) -> dict[str, Value]:
    """Everything about a run, in the order of the columns."""
    report, trained, which = run.report, run.trained, comparison.filter
    values: dict[str, Value] = {"run": run.name, "model": report.model, "dataset": report.dataset}
    values |= {**report.setting.to_json(), "num_queries": report.num_queries}
    if run.is_outside:
        values |= {"context": None} | ({"ties": None} if report.model == RANKS else {})
    for of_filter, sides in report.metrics.items():
        for side, figures in sides.items():
            prefix = of_filter if side == "both" else f"{of_filter} {side}"
            values |= {f"{prefix} {key}": figure for key, figure in figures.items()}
            low, high = report.mrr_interval[of_filter][side]
            values |= {f"{prefix} mrr low": low, f"{prefix} mrr high": high}
    difference = comparison.differences[run.name]
    parts: Sequence[Value] = [None] * len(DIFFERENCE)
    if run is not comparison.reference:
        parts = difference.mrr, difference.low, difference.high, difference.zero_inside
    return values | {
        "filter": which,
        "compared to": comparison.reference.name,
        "resamples": comparison.resamples,
        "seed": comparison.seed,
        "level": LEVEL,
        **{f"{which} {key}": value for key, value in zip(DIFFERENCE, parts, strict=True)},
        "num_parameters": run.num_parameters,
        "training seconds": trained.seconds if trained else None,
        "training device": trained.device if trained else None,
        "evaluation device": run.device,
        "queries per second": run.queries_per_second,
    }


def _shown_columns(which: Filter) -> Iterator[Column]:
    """The columns that people see: every filter's MRR, all else under the chosen filter."""
    yield from (Column("run", "run"), Column("model", "model"))
    for of_filter in FILTERS:
        for metric in METRICS:
            if metric.key == "mrr" or of_filter == which:
                key, label = f"{of_filter} {metric.key}", f"{metric.label}\n{of_filter}"
                yield Column(key, label, metric.format, "–")
    for key, label in DIFFERENCE.items():
        yield Column(f"{which} {key}", f"{label}\n{which}", "+z.4f", blank="–")
    yield Column("num_parameters", "parameters", ",", blank="–")
    yield Column("training seconds", "training (s)", ",.0f", blank="–")
    yield Column("training device", "training device", blank="–")
    yield Column("queries per second", "queries/s", ",.0f", blank="–")
