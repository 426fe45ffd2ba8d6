"""A curve in plain text, for the terminal."""

from collections.abc import Sequence
from typing import Final

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"


def draw_curve(
    points: Sequence[tuple[float, float]], first: str, last: str, width: int = 72, height: int = 6
) -> str:
    """Values, from the least to the largest, over an axis from the first point to the last.

    A column shows the largest of its values as a bar; one without any is empty.

    >>> print(draw_curve([(0, 1.0), (1, 3.0), (3, 5.0)], "2001", "2004", width=8, height=2))
    5 ┤       █
    1 ┤▁ █    █
      └────────
       2001 2004
    """
    left, right = points[0][0], points[-1][0]
    least, most = min(value for _, value in points), max(value for _, value in points)
    bars: list[int] = [0] * width
    for place, value in points:
        column = int((place - left) / max(right - left, 1) * (width - 1))
        share = (value - least) / (most - least) if most > least else 1.0
        bars[column] = max(bars[column], 1, round(share * 8 * height))
    labels = {height - 1: f"{most:.3g}", 0: f"{least:.3g}"}
    margin = max(len(label) for label in labels.values())
    lines = []
    for row in reversed(range(height)):
        drawn = "".join(EIGHTHS[min(max(bar - 8 * row, 0), 8)] for bar in bars)
        label = labels.get(row, "")
        lines.append(f"{label:>{margin}} {'┤' if label else '│'}{drawn}".rstrip())
    axis = f"{first}{last:>{max(width - len(first), len(last) + 1)}}"
    blank = " " * (margin + 1)
    return "\n".join([*lines, f"{blank}└{'─' * width}", f"{blank} {axis}"])
