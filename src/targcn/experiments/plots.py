"""The plots of the experiments: what was measured beside what the paper prints.

Backgrounds are transparent and text is grey, so that a plot is readable on light and dark pages.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, Final

from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.experiments.spec import EXPERIMENTS, SETTINGS, find_experiment
from targcn.experiments.tables import Line, Results, lines_of
from targcn.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The experiment whose rows are points over the number of their parameters.
MAIN: Final = "main"
# What plots show.
SETTING: Final = SETTINGS[0]
COMMON_FILTER: Final[Filter] = "static"
INK: Final = "#808080"
COLORS: Final = ("#2a8fbd", "#d9822b", "#4b9e4b", "#a86bb8", "#a39a3d")
MARKERS: Final = "os^Dv"
POINT_SIZE: Final = 5


@dataclass(frozen=True)
class Curve:
    """Points joined by a line; lines that belong together have the same color."""

    name: str
    points: Sequence[tuple[float, float]]
    color: int
    dashed: bool


def require_matplotlib() -> None:
    """Refuse plots before any work is done, where they cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "plots need matplotlib; install it with: pip install 'targcn[plot]'"
        ) from None


def plot_experiments(results: Results, folder: Path) -> list[Path]:
    """Write a plot of every experiment that has one, on each data set that has results."""
    written = []
    for experiment in map(find_experiment, EXPERIMENTS):
        if not experiment.plot and experiment.name != MAIN:
            continue
        for data in experiment.data:
            lines = lines_of(experiment, data, results)
            if not any(line.results for line in lines):
                continue
            path = folder / f"{experiment.name}-{data}.svg"
            setting = f"{SETTING.split} split, context {SETTING.context}"
            title = f"{experiment.title}, {data}\n{setting}"
            if experiment.name == MAIN:
                figure = draw_results(lines, f"{title}, time-aware filter")
            elif all(line.row.place is not None for line in lines):
                curves = lines_over_places(lines)
                figure = _draw_lines(curves, title, experiment.plot, "MRR and Hits", False)
            else:
                curves = lines_over_parameters(lines)
                figure = _draw_lines(curves, title, experiment.plot, "MRR", True)
            _save(figure, path)
            written.append(path)
    return written


def lines_over_places(lines: Sequence[Line]) -> Iterator[Curve]:
    """Every metric of all rows, over their places."""
    for number, metric in enumerate(PAPER_METRICS):
        yield from _measured_and_printed(metric.label, lines, COMMON_FILTER, number, number)


def lines_over_parameters(lines: Sequence[Line]) -> Iterator[Curve]:
    """The MRR over the number of parameters, for all rows of a system and each of its filters.

    A system has the filter that is common to all, and that of the paper's figures for it.
    """
    groups = groupby(lines, key=lambda line: line.row.name.partition(",")[0])
    colors = count()
    for name, group in groups:
        rows = list(group)
        for which in FILTERS:
            if which == COMMON_FILTER or any(line.printed(SETTING, which) for line in rows):
                yield from _measured_and_printed(name, rows, which, next(colors), metric=0)


def _measured_and_printed(
    name: str, lines: Sequence[Line], which: Filter, color: int, metric: int
) -> Iterator[Curve]:
    """One line for what was measured under a filter, and one for the paper's figures under it."""
    key = PAPER_METRICS[metric].key
    measured = [
        (_place(line, line.results[0].parameters), mean(line.measured(SETTING, which, key)))
        for line in lines
        if line.results
    ]
    printed = [
        (_place(line, line.paper.get("parameters")), line.printed(SETTING, which)[metric])
        for line in lines
        if len(line.printed(SETTING, which)) > metric
    ]
    for whose, points in (("measured", measured), ("paper", printed)):
        if points:
            label = f"{name}, {whose}, {which} filter"
            yield Curve(label, sorted(points), color, whose == "paper")


def _place(line: Line, num_parameters: int | None) -> float:
    place = num_parameters if line.row.place is None else line.row.place
    assert place is not None, "a published figure needs a place or a number of parameters"
    return float(place)


def draw_results(lines: Sequence[Line], title: str) -> "Figure":
    """The MRR of rows over their parameters; the legend names them in the order of their MRR.

    A row is at its mean, with the deviation of its seeds; one without parameters is a horizontal
    line.
    """
    figure, axes = _grey_axes(title, "parameters", "MRR, time-aware filter", logarithmic=True)
    measured = [(line, line.measured(SETTING, "time-aware", "mrr")) for line in lines]
    rows = [(mean(values), values, line) for line, values in measured if values]
    handles: list[Any] = []
    for number, (middle, values, line) in enumerate(sorted(rows, key=lambda row: -row[0])):
        look = {"label": line.row.name, "color": COLORS[number % len(COLORS)]}
        if num_parameters := line.results[0].parameters:
            reach = stdev(values) if len(values) > 1 else 0.0
            # After all colors have been used, they meet other markers.
            marker = MARKERS[(number + number // len(COLORS)) % len(MARKERS)]
            how = {"fmt": marker, "markersize": POINT_SIZE, **look}
            handles.append(axes.errorbar(num_parameters, middle, reach, **how))
        else:
            handles.append(axes.axhline(middle, linestyle="--", linewidth=1, **look))
    _add_legend(figure, handles)
    return figure


def _draw_lines(
    lines: Iterable[Curve], title: str, across: str, up: str, logarithmic: bool
) -> "Figure":
    """Lines with a legend beside them."""
    figure, axes = _grey_axes(title, across, up, logarithmic)
    handles: list[Any] = []
    for line in lines:
        handles += axes.plot(
            *zip(*line.points, strict=True),
            label=line.name,
            color=COLORS[line.color % len(COLORS)],
            marker=MARKERS[line.color % len(MARKERS)],
            markersize=POINT_SIZE,
            linestyle="--" if line.dashed else "-",
        )
    _add_legend(figure, handles)
    return figure


def _grey_axes(title: str, across: str, up: str, logarithmic: bool) -> tuple["Figure", Any]:
    """Empty axes; a logarithmic one is for numbers of parameters: 500 k, 1 M, 2 M."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes: Any = figure.add_subplot()
    axes.set_title(title, color=INK, parse_math=False)
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.tick_params(which="both", colors=INK)
    for spine in axes.spines.values():
        spine.set_edgecolor(INK)
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axes.xaxis.set_major_formatter(EngFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
    return figure, axes


def _add_legend(figure: "Figure", handles: Sequence[Any]) -> None:
    legend = figure.legend(
        handles=handles, loc="outside right center", frameon=False, labelcolor=INK, fontsize=9
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _save(figure: "Figure", path: Path) -> None:
    """Write a figure as SVG; equal figures give equal files."""
    from matplotlib import rc_context

    with atomic_file(path) as draft, rc_context({"svg.hashsalt": "targcn"}):
        figure.savefig(draft, format="svg", transparent=True, metadata={"Date": None})
