"""Results as tables, with published figures under their own filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Final

from targcn.evaluation.filters import Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.evaluation.report import Setting
from targcn.experiments.cells import Result, cells_of
from targcn.experiments.spec import Experiment, Row
from targcn.output.tables import Table

# Key of a cell -> its result.
Results = Mapping[str, Result]

COSTS: Final = ("parameters", "seconds per epoch", "training (s)", "peak GPU memory (MB)", "device")
# A cost that the paper may print -> the label of its column.
PRINTED_COSTS: Final = {
    "parameters": "paper's parameters",
    "seconds": "paper's seconds per epoch",
    "megabytes": "paper's GPU memory (MB)",
}


@dataclass(frozen=True)
class Line:
    """A row of an experiment on one data set: its results and the published figures."""

    row: Row
    num_wanted: int
    results: Sequence[Result]
    paper: Mapping[str, Any]
    published: Mapping[str, Any]

    def measured(self, setting: Setting, which: Filter, metric: str) -> list[float]:
        """A figure of every seed that is finished."""
        return [result.figures[setting][which][metric] for result in self.results]

    def printed(self, setting: Setting, which: Filter) -> Sequence[float]:
        """The paper's figures of this split, if they were measured with this filter."""
        figures: Sequence[float] = self.paper.get(setting.split, ())
        return figures if self.paper.get("filter") == which else ()


def lines_of(experiment: Experiment, data: str, results: Results) -> list[Line]:
    """The rows of an experiment on a data set, each with the results of its finished cells."""
    lines = []
    for row in experiment.rows:
        wanted = cells_of(row, data, experiment.seeds)
        finished = [results[cell.key] for cell in wanted if cell.key in results]
        paper, published = row.paper.get(data, {}), row.published.get(data, {})
        lines.append(Line(row, len(wanted), finished, paper, published))
    return lines


def tables_of(experiment: Experiment, data: str, results: Results) -> list[Table]:
    """The tables of an experiment on a data set: one for each setting and filter, and costs."""
    lines, num_seeds = lines_of(experiment, data, results), experiment.seeds
    about = f"{experiment.title}, {data}"
    tables = [
        _figure_table(about, lines, setting, which, num_seeds)
        for setting in experiment.shown
        for which in experiment.filters
    ]
    return [*tables, _cost_table(about, lines, num_seeds)] if experiment.costs else tables


def _figure_table(
    about: str, lines: Sequence[Line], setting: Setting, which: Filter, num_seeds: int
) -> Table:
    shown = [line for line in lines if line.row.model or line.printed(setting, which)]
    labels = [metric.label for metric in PAPER_METRICS]
    num_printed = max((len(line.printed(setting, which)) for line in shown), default=0)
    rows = []
    for line in shown:
        if line.results:
            cells = [
                mean_and_spread(line.measured(setting, which, metric.key))
                for metric in PAPER_METRICS
            ]
        else:
            cells = blank_cells(line, len(labels))
        printed = [_joined(line.printed(setting, which))] if num_printed else []
        rows.append((line.row.name, *cells, *printed))
    notes = [f"paper: {'/'.join(labels[:num_printed])} as it prints them"] if num_printed else []
    notes += [
        f"{line.row.name}: {line.published['source']} prints {_joined(line.published['test'])}"
        for line in shown
        if (setting.split, which) == ("test", line.published.get("filter"))
    ]
    notes += seed_notes(shown) + row_notes([line.row for line in shown])
    heads = ("run", *labels, *(["paper"] if num_printed else []))
    title = (
        f"{about}: {setting.split} split, context {setting.context}, {which} filter, "
        f"{setting.ties} rank on ties, both directions, {over_seeds(num_seeds)}"
    )
    return Table.of_text(heads, rows, title, *notes)


def over_seeds(num_seeds: int, what: str = "mean ± standard deviation") -> str:
    return "1 seed" if num_seeds == 1 else f"{what} of {num_seeds} seeds"


def _cost_table(about: str, lines: Sequence[Line], num_seeds: int) -> Table:
    given = [name for name in PRINTED_COSTS if any(name in line.paper for line in lines)]
    shown = [line for line in lines if line.row.model or not line.paper.keys().isdisjoint(given)]
    rows = []
    for line in shown:
        printed = [f"{line.paper[name]:,}" if name in line.paper else "" for name in given]
        cells = _cost_cells(line) if line.results else blank_cells(line, len(COSTS))
        rows.append((line.row.name, *cells, *printed))
    labels = ("run", *COSTS, *(PRINTED_COSTS[name] for name in given))
    trained = [line for line in shown if any(result.trained for result in line.results)]
    shared = [line.row.name for line in trained if not _timed(line)]
    partly = [line.row.name for line in trained if 0 < len(_timed(line)) < len(line.results)]
    notes = by_note(
        dict.fromkeys(shared, "shared the machine, so no times")
        | dict.fromkeys(partly, "times of the seeds that did not share the machine")
    )
    notes += seed_notes(shown) + row_notes([line.row for line in shown])
    title = f"{about}: what it cost, {over_seeds(num_seeds, 'mean')}"
    return Table.of_text(labels, rows, title, *notes)


def _cost_cells(line: Line) -> list[str]:
    trained = [result.trained for result in _timed(line) if result.trained]
    peaks = [result.peak_megabytes for result in line.results if result.peak_megabytes]
    return [
        f"{line.results[0].parameters:,}",
        f"{mean(how['seconds_per_epoch'] for how in trained):,.2f}" if trained else "–",
        f"{mean(how['seconds'] for how in trained):,.0f}" if trained else "–",
        f"{max(peaks):,}" if peaks else "–",
        "; ".join(sorted({result.device for result in line.results})),
    ]


def _timed(line: Line) -> list[Result]:
    """The results whose times are meaningful: those that did not share the machine."""
    return [result for result in line.results if result.jobs == 1]


def blank_cells(line: Line, num_cells: int) -> list[str]:
    """The cells of a line without a result."""
    return ["not run" if line.row.model else "", *[""] * (num_cells - 1)]


def seed_notes(lines: Sequence[Line]) -> list[str]:
    """Which lines lack seeds; without names if all do that should have several."""
    several = [line for line in lines if line.results and line.num_wanted > 1]
    lacking = {
        line.row.name: f"only {len(line.results)} of {line.num_wanted} seeds finished"
        for line in several
        if len(line.results) < line.num_wanted
    }
    return by_note(lacking, num_all=len(several))


def row_notes(rows: Sequence[Row]) -> list[str]:
    return by_note({row.name: row.note for row in rows if row.note})


def by_note(notes: Mapping[str, str], num_all: int | None = None) -> list[str]:
    """Every note once, after the names that have it; without names if all have it."""
    names: dict[str, list[str]] = {}
    for name, note in notes.items():
        names.setdefault(note, []).append(name)
    return [
        note if len(those) == num_all else f"{'; '.join(those)}: {note}"
        for note, those in names.items()
    ]


def mean_and_spread(values: Sequence[float]) -> str:
    """
    >>> mean_and_spread([0.63551]), mean_and_spread([0.634, 0.636, 0.638])
    ('.636', '.636 ± .002')
    """
    spread = f" ± {without_zero(stdev(values))}" if len(values) > 1 else ""
    return without_zero(mean(values)) + spread


def without_zero(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _joined(values: Sequence[float]) -> str:
    return "/".join(map(without_zero, values))
