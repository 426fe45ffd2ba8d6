"""Plots, whose texts do not cover each other."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from targcn.output.plots import LABEL_WIDTH, Lane, plot_lanes

pytest.importorskip("matplotlib")


def texts(figure: Any) -> list[Any]:
    """Every text of a figure that is seen."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    # Axes keep labels of ticks outside their range, which are not drawn.
    outside = {
        tick.label1
        for axes in figure.axes
        for tick in axes.xaxis.get_major_ticks()
        if not min(axes.get_xlim()) <= tick.get_loc() <= max(axes.get_xlim())
    }
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return [text for text in found if text not in outside]


LONG = "Governor of the Province of Santiago del Estero — Express intent to cooperate — " * 2
LANES = {
    "one": [Lane("a", [3.0], 0.5)],
    "at one time": [Lane(f"reason {number}", [-1.0], 0.1 * number) for number in range(-5, 6)],
    "long names": [Lane(f"{LONG}\n{LONG}", [-3650.0, 12.0], 1 / (n + 1)) for n in range(20)],
    "wide letters": [Lane("W" * 300, [-1e9, 1e9], 12345.6)] * 3,
    "no points": [Lane("more facts", (), 2.0), Lane("prior", (), -1.0)],
    "nothing": [],
}


@pytest.mark.parametrize("name", LANES)
def test_no_text_covers_another(tmp_path: Path, name: str) -> None:
    figure = plot_lanes(
        LANES[name], tmp_path / "x.svg", LONG, "days from 2014-10-15", "part of score"
    )
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    assert len(boxes) >= 3 + 2 * len(LANES[name])
    covering = [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]
    assert not covering


def test_a_long_label_is_cut_in_its_middle(tmp_path: Path) -> None:
    lane = Lane("a" * 99 + "b" * 99, [], 1.0)
    [label] = [
        text.get_text()
        for text in texts(plot_lanes([lane], tmp_path / "x.svg", "", "", ""))
        if "a" in text.get_text()
    ]
    assert (len(label), label[0], label[-1]) == (LABEL_WIDTH, "a", "b")


def test_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    name = r"$\\foo$ corp"
    plot_lanes([Lane(name, [1.0], 1.0)], tmp_path / "lanes.svg", name, name, "effect")
    assert (tmp_path / "lanes.svg").is_file()
