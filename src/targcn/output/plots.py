"""Plots. matplotlib is an optional dependency and is imported when a plot is wanted.

Backgrounds are transparent and text is grey, so that a plot is readable on light and dark pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from targcn.errors import InputError
from targcn.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS: Final = (".png", ".svg", ".pdf")
INK: Final = "#808080"
COLORS: Final = ("#2a8fbd", "#d9822b", "#4b9e4b", "#a86bb8")
MARKERS: Final = "os^D"
POINT_SIZE: Final = 5


@dataclass(frozen=True)
class Mark:
    """A named value with its interval, placed at a number of parameters."""

    name: str
    num_parameters: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """Points joined by a line; lines that belong together have the same color."""

    name: str
    points: Sequence[tuple[float, float]]
    color: int
    dashed: bool


def require_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before any work is done."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} should end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "plots need matplotlib; install it with: pip install 'targcn[plot]'"
        ) from None


def new_figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(9, 4.5), layout="constrained")


def save_picture(figure: "Figure", path: Path, transparent: bool = False) -> None:
    """Write a figure in the format of its file name; equal figures give equal files."""
    from matplotlib import rc_context

    dateless = {"metadata": {"Date": None}} if path.suffix.lower() == ".svg" else {}
    with atomic_file(path) as draft, rc_context({"svg.hashsalt": "targcn"}):
        figure.savefig(draft, dpi=150, transparent=transparent, **dateless)


def plot_marks(marks: Sequence[Mark], path: Path, title: str, up: str) -> None:
    """Plot values against the number of parameters; one without parameters is a horizontal line."""
    sizes = {mark.num_parameters for mark in marks if mark.num_parameters}
    across = "parameters" if sizes else "no run has parameters"
    figure, axes = _grey_axes(title, across, up, logarithmic=bool(sizes))
    if sizes:
        axes.margins(x=0.2, y=0.15)
    else:
        axes.set_xticks([])
    if len(sizes) == 1:
        # For a single number matplotlib would leave no room for its label.
        axes.set_xlim(min(sizes) / 2, min(sizes) * 2)
    labels = []
    for mark in sorted(marks, key=lambda mark: -mark.value):
        at = (mark.num_parameters or 1, mark.value)
        if mark.num_parameters:
            spread = [[mark.value - mark.low], [mark.high - mark.value]]
            axes.errorbar(*at, spread, fmt="o", color=COLORS[0], markersize=POINT_SIZE)
        else:
            axes.axhline(mark.value, color=COLORS[1], linestyle="--", linewidth=1)
        label = axes.annotate(
            mark.name,
            at,
            # The label of a line is to the right of the axes, where there are no points.
            xycoords=("data" if mark.num_parameters else "axes fraction", "data"),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=9,
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.5, "relpos": (0, 0.5)},
        )
        labels.append(label)
    _keep_apart(figure, axes, labels)
    save_picture(figure, path, transparent=True)


def plot_lines(
    lines: Sequence[Curve], path: Path, title: str, across: str, up: str, logarithmic: bool
) -> None:
    """Plot lines with a legend beside them."""
    figure, axes = _grey_axes(title, across, up, logarithmic)
    for line in lines:
        axes.plot(
            *zip(*line.points, strict=True),
            label=line.name,
            color=COLORS[line.color % len(COLORS)],
            marker=MARKERS[line.color % len(MARKERS)],
            markersize=POINT_SIZE,
            linestyle="--" if line.dashed else "-",
        )
    legend = figure.legend(loc="outside right center", frameon=False, labelcolor=INK, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
    save_picture(figure, path, transparent=True)


def _grey_axes(title: str, across: str, up: str, logarithmic: bool) -> tuple["Figure", Any]:
    """Empty axes; a logarithmic one is for numbers of parameters: 500 k, 1 M, 2 M."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

    figure = new_figure()
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


def _keep_apart(figure: Any, axes: Any, labels: Sequence[Any]) -> None:
    """Move labels down, the topmost first, until none covers another one, a point or a line."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    reach = POINT_SIZE / 2 * figure.dpi / 72
    placed = []
    for label in labels:
        x, y = axes.transData.transform(label.xy)
        is_point = label.xycoords[0] == "data"
        left, right = (x - reach, x + reach) if is_point else axes.bbox.intervalx
        height = reach if is_point else 1
        placed.append(Bbox([(left, y - height), (right, y + height)]))
    for label in labels:
        box = Text.get_window_extent(label)  # Of the text alone, without its arrow.
        while hit := next((other for other in placed if box.overlaps(other)), None):
            down = box.y1 - hit.y0 + 1
            x, y = label.get_position()
            label.set_position((x, y - down * 72 / figure.dpi))
            box = box.translated(0, -down)
        placed.append(box)
