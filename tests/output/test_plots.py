"""The legend of plots, and curves in text."""

import pytest

from targcn.output.plots import (
    Mark,
    draw_curve,
    draw_marks,
)

pytest.importorskip("matplotlib")


def test_the_legend_names_marks_by_their_values() -> None:
    values = {"$a$": 0.4, "b": 0.6, "without parameters": 0.5}
    marks = [Mark(name, 10 * (len(name) < 9), v, v, v) for name, v in values.items()]
    [legend] = draw_marks(marks, "main results", "MRR").legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["b", "without parameters", "$a$"]


def test_the_largest_value_of_a_column_is_shown() -> None:
    points = [(tick, float(tick == 50)) for tick in range(101)]
    top, *_, bottom, _, axis = draw_curve(points, "first", "last", width=11, height=3).splitlines()
    assert top == "1 ┤     █"
    assert bottom == "0 ┤▁▁▁▁▁█▁▁▁▁▁"
    assert axis.split() == ["first", "last"]


def test_a_curve_of_equal_values_is_level() -> None:
    drawn = draw_curve([(0, 2.0), (5, 2.0)], "a", "b", width=6, height=1)
    assert drawn.splitlines()[0] == "2 ┤█    █"
    assert "█" in draw_curve([(3, -1.0)], "a", "a")
