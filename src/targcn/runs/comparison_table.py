"""A comparison as a table, a file or a plot; every figure names the filter it is under."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from targcn.errors import InputError
from targcn.evaluation.filters import Filter
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.report import Side
from targcn.files import atomic_file
from targcn.output.plots import Mark, plot_marks, require_picture
from targcn.output.tables import Column, Table, Value, to_csv, to_json, to_markdown
from targcn.runs.compare import LEVEL, Comparison, EvaluatedRun

PERCENT: Final = f"{100 * LEVEL:.0f} %"
WRITERS: Final = {".csv": to_csv, ".json": to_json, ".md": to_markdown}


# A column, and its value for a run.
Field = tuple[Column, Callable[[EvaluatedRun], Value]]


def comparison_table(comparison: Comparison) -> Table:
    """A row per run, best first; columns that are not shown make it complete for programs."""
    common = comparison.common
    fields = [
        *_setting_fields(),
        *(field for which in common.metrics for field in _figure_fields(comparison, which)),
        *_difference_fields(comparison),
        *_cost_fields(),
    ]
    return Table(
        tuple(column for column, _ in fields),
        tuple({column.key: of(run) for column, of in fields} for run in comparison.ranked),
        f"{len(comparison.runs)} runs on {common.dataset}: {common.num_queries:,} queries, "
        f"{common.setting}",
        (
            f"difference: {comparison.filter} MRR minus that of {comparison.reference.name}, with "
            f"the {PERCENT} interval of {comparison.resamples:,} resamples of the facts (seed "
            f"{comparison.seed})",
        ),
    )


def _setting_fields() -> list[Field]:
    return [
        (Column("run", "run"), lambda run: run.name),
        (Column("model", "model"), lambda run: run.report.model),
        (_hidden("dataset"), lambda run: run.report.dataset),
        (_hidden("split"), lambda run: run.report.setting.split),
        (_hidden("context"), lambda run: run.report.setting.context),
        (_hidden("ties"), lambda run: run.report.setting.ties),
        (_hidden("num_queries"), lambda run: run.report.num_queries),
    ]


def _figure_fields(comparison: Comparison, which: Filter) -> Iterator[Field]:
    for side in comparison.common.metrics[which]:
        prefix = which if side == "both" else f"{which} {side}"
        for metric in METRICS:
            # People see every filter's MRR, and the other metrics under the chosen filter.
            shown = side == "both" and (metric.key == "mrr" or which == comparison.filter)
            label = f"{metric.label}\n{which}"
            column = Column(f"{prefix} {metric.key}", label, metric.format, shown=shown)
            yield column, partial(_figure, which, side, metric.key)
        for index, bound in enumerate(("low", "high")):
            yield _hidden(f"{prefix} mrr {bound}"), partial(_bound, which, side, index)


def _figure(which: Filter, side: Side, key: str, run: EvaluatedRun) -> Value:
    return run.report.metrics[which][side][key]


def _bound(which: Filter, side: Side, index: int, run: EvaluatedRun) -> Value:
    return run.report.mrr_interval[which][side][index]


def _difference_fields(comparison: Comparison) -> list[Field]:
    which, reference = comparison.filter, comparison.reference

    def of(name: str) -> Callable[[EvaluatedRun], Value]:
        def value(run: EvaluatedRun) -> Value:
            found: Value = getattr(comparison.differences[run.name], name)
            return None if run is reference else found

        return value

    def column(key: str, label: str, form: str = "+z.4f") -> Column:
        return Column(f"{which} {key}", f"{label}\n{which}", form, blank="–")

    return [
        (_hidden("filter"), lambda run: which),
        (_hidden("compared to"), lambda run: reference.name),
        (_hidden("resamples"), lambda run: comparison.resamples),
        (_hidden("seed"), lambda run: comparison.seed),
        (_hidden("level"), lambda run: LEVEL),
        (column("mrr difference", "difference"), of("mrr")),
        (column("mrr difference low", f"{PERCENT} low"), of("low")),
        (column("mrr difference high", f"{PERCENT} high"), of("high")),
        (column("zero inside", "0 inside", ""), of("zero_inside")),
    ]


def _cost_fields() -> list[Field]:
    return [
        (Column("num_parameters", "parameters", ","), lambda run: run.num_parameters),
        (
            Column("training seconds", "training (s)", ",.0f", blank="–"),
            lambda run: run.trained.seconds if run.trained else None,
        ),
        (
            Column("training device", "training device", blank="–"),
            lambda run: run.trained.device if run.trained else None,
        ),
        (_hidden("evaluation device"), lambda run: run.device),
        (Column("queries per second", "queries/s", ",.0f"), lambda run: run.queries_per_second),
    ]


def _hidden(key: str) -> Column:
    return Column(key, key, shown=False)


def require_ending(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path} should end in .csv, .json or .md")


def write_comparison(comparison: Comparison, path: Path | str) -> None:
    """Write the table of a comparison in the format of its file name."""
    path = Path(path)
    require_ending(path)
    text = WRITERS[path.suffix.lower()](comparison_table(comparison))
    with atomic_file(path) as draft:
        draft.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="")


def plot_comparison(comparison: Comparison, path: Path | str) -> None:
    """Plot the MRR against the number of parameters."""
    path = Path(path)
    require_picture(path)
    which, common = comparison.filter, comparison.common
    marks = [
        Mark(run.name, run.num_parameters, run.mrr(which), *run.report.mrr_interval[which]["both"])
        for run in comparison.ranked
    ]
    title = f"{common.dataset}, {common.setting}, {which} filter"
    plot_marks(marks, path, title, f"MRR, {which} filter")
