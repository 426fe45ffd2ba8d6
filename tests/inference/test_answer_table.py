"""Curves in text."""

from targcn.inference.answer_table import draw_curve


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
