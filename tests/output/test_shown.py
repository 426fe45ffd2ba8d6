"""What shows itself: short as text, and safe as HTML."""

from dataclasses import dataclass

import pytest

from targcn.output.shown import MOST_LINES, Shown, cut
from targcn.output.tables import Table


@dataclass(frozen=True, repr=False)
class Crowd(Shown):
    """As many rows and notes as wanted."""

    num_rows: int
    num_notes: int = 0
    title: str = "a title"

    def as_table(self) -> Table:
        rows = [[f"<i>{number}</i>"] for number in range(self.num_rows)]
        return Table.of_text(["name"], rows, self.title, *["a & b"] * self.num_notes)


def test_what_is_small_is_shown_whole() -> None:
    assert repr(Crowd(2, 1)) == str(Crowd(2, 1)) == "a title\nname\n<i>0</i>\n<i>1</i>\na & b"


@pytest.mark.parametrize(("num_rows", "num_notes"), [(8, 0), (9, 0), (5, 3), (500, 50), (0, 20)])
@pytest.mark.parametrize("title", ["", "a title"])
def test_ten_lines_are_enough(num_rows: int, num_notes: int, title: str) -> None:
    crowd = Crowd(num_rows, num_notes, title)
    lines = repr(crowd).splitlines()
    assert len(lines) <= MOST_LINES
    table = cut(crowd.as_table())
    left_out = num_rows - len(table.rows)
    assert (f"… and {left_out:,} more rows" in lines) is (left_out > 0)
    # Nothing is left out where there is room.
    assert not left_out or len(lines) == MOST_LINES


def test_names_do_not_become_html() -> None:
    html = Crowd(1, 1, "<script>")._repr_html_()
    assert html == (
        "<p>&lt;script&gt;</p><table><tr><th>name</th></tr>"
        "<tr><td>&lt;i&gt;0&lt;/i&gt;</td></tr></table><p>a &amp; b</p>"
    )
