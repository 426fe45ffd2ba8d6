"""Plots. matplotlib is an optional dependency and is imported when a plot is wanted.

Backgrounds are transparent and text is grey, so that a plot is readable on light and dark pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from targcn.errors import InputError
from targcn.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS: Final = (".png", ".svg", ".pdf")
INK: Final = "#808080"
COLORS: Final = ("#2a8fbd", "#d9822b", "#4b9e4b", "#a86bb8", "#a39a3d")
MARKERS: Final = "os^Dv"
POINT_SIZE: Final = 5
# How often the axes are widened for labels that do not fit.
MOST_MOVES: Final = 8
# Letters of a line beside a lane, and of a title above: what a figure has room for.
LABEL_WIDTH: Final = 56
TITLE_WIDTH: Final = 100
INCHES_PER_LINE: Final = 0.16
INCHES_AROUND_LANES: Final = 1.2
INCHES_BESIDE_LABELS: Final = 6.5


@dataclass(frozen=True)
class Mark:
    """A named value with its interval, placed at a number of parameters."""

    name: str
    num_parameters: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Lane:
    """One row of a plot over time: its label, its points, if any, and its value.

    Points are joined; a lane that is `always` has a line across all times instead.
    """

    label: str
    points: Sequence[float]
    value: float
    always: bool = False


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


def new_figure(height: float = 4.5) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(9, height), layout="constrained")


def save_picture(figure: "Figure", path: Path, transparent: bool = False) -> None:
    """Write a figure in the format of its file name; equal figures give equal files."""
    from matplotlib import rc_context

    dateless = {"metadata": {"Date": None}} if path.suffix.lower() == ".svg" else {}
    with atomic_file(path) as draft, rc_context({"svg.hashsalt": "targcn"}):
        figure.savefig(draft, dpi=150, transparent=transparent, **dateless)


def plot_marks(marks: Sequence[Mark], path: Path, title: str, up: str) -> None:
    """Plot values against the number of parameters; one without parameters is a horizontal line."""
    save_picture(draw_marks(marks, title, up), path, transparent=True)


def draw_marks(marks: Sequence[Mark], title: str, up: str) -> "Figure":
    """Each label stands beside its point, inside the axes."""
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
    _make_room(figure, axes, labels)
    _keep_apart(figure, axes, labels)
    return figure


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


def plot_bars(values: Mapping[str, float], path: Path, title: str, across: str) -> None:
    """Plot a bar for each value, the first at the top."""
    figure, axes = _grey_axes(title, across, "", logarithmic=False)
    figure.set_figheight(INCHES_AROUND_LANES + 2 * INCHES_PER_LINE * len(values))
    axes.barh(range(len(values)), list(values.values()), color=COLORS[0])
    labels = [shorten(name, LABEL_WIDTH) for name in values]
    axes.set_yticks(range(len(values)), labels, parse_math=False)
    axes.invert_yaxis()
    save_picture(figure, path, transparent=True)


def plot_lanes(lanes: Sequence[Lane], path: Path, title: str, across: str, measure: str) -> None:
    """Plot lanes, the first at the top: its label, its points over time, a bar and its value."""
    save_picture(draw_lanes(lanes, title, across, measure), path, transparent=True)


def draw_lanes(lanes: Sequence[Lane], title: str, across: str, measure: str) -> "Figure":
    """Each label has a lane of its own, so that none covers another."""
    labels = [_short_lines(lane.label) for lane in lanes]
    heights = [INCHES_PER_LINE * (label.count("\n") + 2) for label in labels]
    bottoms = [sum(heights[: number + 1]) for number in range(len(heights))]
    middles = [bottom - height / 2 for bottom, height in zip(bottoms, heights, strict=True)]
    total = max(sum(heights), INCHES_PER_LINE)
    figure = new_figure(total + INCHES_AROUND_LANES)
    times, bars = figure.subplots(1, 2, width_ratios=(3, 1))
    for middle, lane in zip(middles, lanes, strict=True):
        color = COLORS[0] if lane.value >= 0 else COLORS[1]
        times.plot(lane.points, [middle] * len(lane.points), "o-", color=color, markersize=6)
        if lane.always:
            times.axhline(middle, color=color, linestyle=":")
        bars.barh(middle, lane.value, height=INCHES_PER_LINE, color=color)
    for axes in (times, bars):
        axes.set_ylim(total, 0)
        axes.hlines(bottoms[:-1], 0, 1, transform=axes.get_yaxis_transform(), color=INK, lw=0.2)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.locator_params(axis="x", nbins=4)
        axes.margins(x=0.1)
        axes.tick_params(colors=INK, labelsize=8)
        axes.tick_params(axis="y", length=0)
        for spine in axes.spines.values():
            spine.set_edgecolor(INK)
    times.set_yticks(middles, labels, parse_math=False)
    bars.yaxis.tick_right()
    bars.set_yticks(middles, [f"{lane.value:+.4f}" for lane in lanes])
    times.set_xlabel(across, color=INK, parse_math=False)
    bars.set_xlabel(measure, color=INK)
    figure.suptitle(shorten(title, TITLE_WIDTH), color=INK, fontsize=10, parse_math=False)
    # Whatever the labels need, times and bars have room.
    figure.draw_without_rendering()
    widest = max((text.get_window_extent().width for text in times.get_yticklabels()), default=0)
    figure.set_figwidth(widest / figure.dpi + INCHES_BESIDE_LABELS)
    return figure


def _short_lines(text: str) -> str:
    return "\n".join(shorten(line, LABEL_WIDTH) for line in text.split("\n"))


def shorten(text: str, width: int) -> str:
    """Text of at most so many letters; what is left out of its middle is an ellipsis.

    >>> shorten("Illinois Senate seat, class 3", 15)
    'Illinoi…class 3'
    """
    if len(text) <= width:
        return text
    ahead = width // 2
    return f"{text[:ahead]}…{text[len(text) - (width - ahead - 1) :]}"


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


def _make_room(figure: Any, axes: Any, labels: Sequence[Any]) -> None:
    """Move the right end of the axes until no label of a point crosses it, if they have room."""
    from matplotlib.text import Text

    of_points = [label for label in labels if label.xycoords[0] == "data"]
    for _ in range(MOST_MOVES):
        figure.draw_without_rendering()
        ends = (Text.get_window_extent(one).x1 for one in of_points)
        over = max(ends, default=0) - axes.bbox.x1
        if over <= 0:
            return
        # Points move to the left meanwhile, so a little more than what is missing is enough.
        end = (axes.bbox.x1 + min(1.5 * over, axes.bbox.width), axes.bbox.y0)
        axes.set_xlim(right=axes.transData.inverted().transform(end)[0])


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
