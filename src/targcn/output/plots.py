"""Plots. matplotlib is an optional dependency and is imported when a plot is wanted.

Backgrounds are transparent and text is grey, so that a plot is readable on light and dark pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from targcn.config import require_libraries
from targcn.files import atomic_file, require_ending

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS: Final = (".png", ".svg", ".pdf")
INK: Final = "#808080"
# How matplotlib draws; a name is no formula, whatever signs it has.
STYLE: Final[Any] = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "text.parse_math": False,
    "legend.frameon": False,
    "savefig.transparent": True,
    "savefig.dpi": 150,
    # Equal figures give equal files.
    "svg.hashsalt": "targcn",
}
COLORS: Final = ("#2a8fbd", "#d9822b", "#4b9e4b", "#a86bb8", "#a39a3d")
MARKERS: Final = "os^Dv"
POINT_SIZE: Final = 5
# Letters of a line beside a lane, and of a title above: what a figure has room for.
LABEL_WIDTH: Final = 56
TITLE_WIDTH: Final = 100
INCHES_PER_LINE: Final = 0.16
INCHES_AROUND_LANES: Final = 1.2
INCHES_BESIDE_LABELS: Final = 6.5


@dataclass(frozen=True)
class Lane:
    """One row of a plot over time: its label, its points, which are joined, and its value."""

    label: str
    points: Sequence[float]
    value: float


@dataclass(frozen=True)
class Curve:
    """Points joined by a line; lines that belong together have the same color."""

    name: str
    points: Sequence[tuple[float, float]]
    color: int
    dashed: bool
    # How far a bar reaches above and below each point.
    spread: float = 0.0


def require_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before any work is done."""
    require_ending(path, *ENDINGS)
    require_libraries("a plot", "plot", "matplotlib")


def _save(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of its file name."""
    dateless: Any = {"Date": None} if path.suffix.lower() == ".svg" else None
    with atomic_file(path) as draft:
        figure.savefig(draft, metadata=dateless)


def plot_lines(
    lines: Sequence[Curve], path: Path, title: str, across: str, up: str, logarithmic: bool
) -> None:
    """Plot lines with a legend beside them, across an axis that may be logarithmic."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    with rc_context(STYLE):
        figure = Figure(figsize=(9, 4.5), layout="constrained")
        axes: Any = figure.add_subplot(title=title, xlabel=across, ylabel=up)
        if logarithmic:
            # 500 k, 1 M, 2 M: for numbers of parameters.
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            axes.xaxis.set_major_formatter(EngFormatter())
            axes.xaxis.set_minor_locator(NullLocator())
        handles: list[Any] = []
        for line in lines:
            color, points = COLORS[line.color % len(COLORS)], tuple(zip(*line.points, strict=True))
            if line.spread:
                axes.errorbar(*points, line.spread, fmt="none", ecolor=color)
            handles += axes.plot(
                *points,
                label=line.name,
                color=color,
                # After all colors have been used, they meet other markers.
                marker=MARKERS[(line.color + line.color // len(COLORS)) % len(MARKERS)],
                markersize=POINT_SIZE,
                linestyle="--" if line.dashed else "-",
            )
        figure.legend(handles=handles, loc="outside right center", fontsize=9)
        _save(figure, path)


def plot_lanes(
    lanes: Sequence[Lane], path: Path, title: str, across: str, measure: str
) -> "Figure":
    """Plot lanes, the first at the top: its label, its points over time, a bar and its value.

    Lanes are as high as the longest label needs, so that none covers another.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels = [
        "\n".join(shorten(line, LABEL_WIDTH) for line in lane.label.split("\n")) for lane in lanes
    ]
    num_lines = max((label.count("\n") + 1 for label in labels), default=1)
    height = INCHES_PER_LINE * (num_lines + 1) * max(len(lanes), 1)
    rows = range(len(lanes))
    with rc_context(STYLE | {"xtick.labelsize": 8, "ytick.labelsize": 8, "ytick.major.size": 0}):
        figure = Figure(figsize=(9, height + INCHES_AROUND_LANES), layout="constrained")
        times, bars = figure.subplots(1, 2, width_ratios=(3, 1))
        for row, lane in zip(rows, lanes, strict=True):
            color = COLORS[0] if lane.value >= 0 else COLORS[1]
            times.plot(lane.points, [row] * len(lane.points), "o-", color=color, markersize=6)
            bars.barh(row, lane.value, height=1 / (num_lines + 1), color=color)
        for axes in (times, bars):
            axes.set_ylim(max(len(lanes), 1) - 0.5, -0.5)
            axes.axvline(0, color=INK, linewidth=0.8)
            axes.locator_params(axis="x", nbins=4)
            axes.margins(x=0.1)
        times.set_yticks(rows, labels)
        bars.yaxis.tick_right()
        bars.set_yticks(rows, [f"{lane.value:+.4f}" for lane in lanes])
        times.set_xlabel(across)
        bars.set_xlabel(measure)
        figure.suptitle(shorten(title, TITLE_WIDTH), fontsize=10)
        # Whatever the labels need, times and bars have room.
        figure.draw_without_rendering()
        labelled = times.get_yticklabels()
        widest = max((text.get_window_extent().width for text in labelled), default=0)
        figure.set_figwidth(widest / figure.dpi + INCHES_BESIDE_LABELS)
        _save(figure, path)
    return figure


def shorten(text: str, width: int) -> str:
    """Text of at most so many letters; what is left out of its middle is an ellipsis.

    >>> shorten("Illinois Senate seat, class 3", 15)
    'Illinoi…class 3'
    """
    if len(text) <= width:
        return text
    ahead = width // 2
    return f"{text[:ahead]}…{text[len(text) - (width - ahead - 1) :]}"
