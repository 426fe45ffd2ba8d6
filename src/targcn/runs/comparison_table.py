"""A comparison as a table, a file or a plot; every figure names the filter it is under."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import METRICS
from targcn.output.plots import Mark, plot_marks, require_picture
from targcn.output.tables import Column, Table, Value
from targcn.runs.compare import LEVEL, RANKS, Comparison, EvaluatedRun

PERCENT: Final = f"{100 * LEVEL:.0f} %"


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
    for one, sides in report.metrics.items():
        for side, figures in sides.items():
            prefix = one if side == "both" else f"{one} {side}"
            values |= {f"{prefix} {key}": figure for key, figure in figures.items()}
            low, high = report.mrr_interval[one][side]
            values |= {f"{prefix} mrr low": low, f"{prefix} mrr high": high}
    compared = run is not comparison.reference
    difference = comparison.differences[run.name]
    return values | {
        "filter": which,
        "compared to": comparison.reference.name,
        "resamples": comparison.resamples,
        "seed": comparison.seed,
        "level": LEVEL,
        f"{which} mrr difference": difference.mrr if compared else None,
        f"{which} mrr difference low": difference.low if compared else None,
        f"{which} mrr difference high": difference.high if compared else None,
        f"{which} zero inside": difference.zero_inside if compared else None,
        "num_parameters": run.num_parameters,
        "training seconds": trained.seconds if trained else None,
        "training device": trained.device if trained else None,
        "evaluation device": run.device,
        "queries per second": run.queries_per_second,
    }


def _shown_columns(which: Filter) -> Iterator[Column]:
    """The columns that people see: every filter's MRR, all else under the chosen filter."""
    yield from (Column("run", "run"), Column("model", "model"))
    for one in FILTERS:
        for metric in METRICS:
            if metric.key == "mrr" or one == which:
                yield Column(f"{one} {metric.key}", f"{metric.label}\n{one}", metric.format, "–")
    for key, label in (
        ("mrr difference", "difference"),
        ("mrr difference low", f"{PERCENT} low"),
        ("mrr difference high", f"{PERCENT} high"),
        ("zero inside", "0 inside"),
    ):
        yield Column(f"{which} {key}", f"{label}\n{which}", "+z.4f", blank="–")
    yield Column("num_parameters", "parameters", ",", blank="–")
    yield Column("training seconds", "training (s)", ",.0f", blank="–")
    yield Column("training device", "training device", blank="–")
    yield Column("queries per second", "queries/s", ",.0f", blank="–")


def plot_comparison(comparison: Comparison, path: Path | str) -> None:
    """Plot the MRR against the number of parameters, of runs where that is known."""
    path = Path(path)
    require_picture(path)
    which, common = comparison.filter, comparison.common
    marks = [
        Mark(run.name, run.num_parameters, run.mrr(which), *run.report.mrr_interval[which]["both"])
        for run in comparison.ranked
        if run.num_parameters is not None
    ]
    title = f"{common.dataset}, {common.setting}, {which} filter"
    plot_marks(marks, path, title, f"MRR, {which} filter")
