"""A table has the same rows on a terminal, in Markdown, CSV and JSON."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from targcn.errors import InputError
from targcn.output.tables import (
    MOST_LINES,
    Column,
    Shown,
    Table,
    defused,
    to_csv,
    to_html,
    to_json,
    to_markdown,
    to_text,
    write_table,
)

TABLE = Table(
    (
        Column("run", "run"),
        Column("mrr", "MRR\nraw", ".3f"),
        Column("seconds", "seconds", ",.0f", blank="–"),
        Column("best", "best"),
        Column("seed", "seed", shown=False),
    ),
    (
        {"run": "a|b <i>", "mrr": 0.63649, "seconds": 1234.5, "best": True, "seed": 7},
        {"run": "second", "mrr": 0.5, "best": False},
    ),
    "a_title",
    ("see [1]",),
)


@pytest.mark.parametrize(
    ("ending", "text"), [("csv", to_csv), ("json", to_json), ("MD", to_markdown)]
)
def test_the_ending_of_a_file_says_how_it_is_written(
    ending: str, text: Callable[[Table], str], tmp_path: Path
) -> None:
    path = tmp_path / f"table.{ending}"
    write_table(TABLE, path)
    assert path.read_text(encoding="utf-8") == text(TABLE).rstrip("\n") + "\n"


def test_a_table_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.txt should end in \.csv, \.json or \.md"):
        write_table(TABLE, tmp_path / "table.txt")
    assert list(tmp_path.iterdir()) == []


def test_people_see_formatted_values_of_the_columns_that_are_shown() -> None:
    assert TABLE.labels == ["run", "MRR\nraw", "seconds", "best"]
    assert TABLE.cells() == [["a|b <i>", "0.636", "1,234", "yes"], ["second", "0.500", "–", "no"]]


def test_programs_get_the_values_of_all_columns() -> None:
    records = [
        {"run": "a|b <i>", "mrr": 0.63649, "seconds": 1234.5, "best": True, "seed": 7},
        {"run": "second", "mrr": 0.5, "seconds": None, "best": False, "seed": None},
    ]
    assert json.loads(to_json(TABLE)) == records
    rows = list(csv.DictReader(io.StringIO(to_csv(TABLE))))
    assert [row["mrr"] for row in rows] == ["0.63649", "0.5"]
    assert [row["seed"] for row in rows] == ["7", ""]
    assert rows[0].keys() == records[0].keys()


def test_markdown_has_a_title_and_notes_and_nothing_breaks_it() -> None:
    assert to_markdown(TABLE) == (
        "a\\_title:\n\n| run | MRR, raw | seconds | best |\n|---|---|---|---|\n"
        "| a\\|b \\<i> | 0.636 | 1,234 | yes |\n| second | 0.500 | – | no |\n\n- see \\[1\\]"
    )
    odd = Table.of_text(("run",), (("x|y *z* <i> `c`",),))
    assert to_markdown(odd) == "| run |\n|---|\n| x\\|y \\*z\\* \\<i> \\`c\\` |"


def test_flags_are_lower_case_in_csv_as_they_are_in_json() -> None:
    table = Table((Column("flag", "flag"), Column("count", "count")), ({"flag": True, "count": 1},))
    assert to_csv(table) == "flag,count\ntrue,1\n"


def test_text_has_a_line_for_everything_and_nothing_breaks_it() -> None:
    assert to_text(TABLE).splitlines() == [
        "a_title",
        "run      MRR raw  seconds  best",
        "a|b <i>  0.636    1,234    yes",
        "second   0.500    –        no",
        "see [1]",
    ]
    odd = Table.of_text(("run", "reason"), (("x" * 99, "a\nb " + "y" * 99),), "two\nlines")
    assert to_text(odd).splitlines() == [
        "two lines",
        f"{'run':40}  reason",
        f"{'x' * 20}…{'x' * 19}  a b {'y' * 99}",
    ]
    assert to_text(Table((), (), "alone")) == "alone"


def test_html_has_every_text_escaped() -> None:
    table = Table.of_text(("<run>",), (("<b>",),), "a & b", "<i>")
    assert to_html(table) == (
        "<p>a &amp; b</p><table><tr><th>&lt;run&gt;</th></tr><tr><td>&lt;b&gt;</td></tr></table>"
        "<p>&lt;i&gt;</p>"
    )
    assert to_html(Table((), (), "alone")) == "<p>alone</p>"
    assert Crowd(0, 0, "<script>")._repr_html_().startswith("<p>&lt;script&gt;</p>")


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+a", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_name_that_begins_like_a_formula_is_text_in_a_spreadsheet(name):
    [row] = list(csv.reader(io.StringIO(to_csv(Table.of_text(["name"], [[name]])))))[1:]
    assert row == [f"'{name}"]


@pytest.mark.parametrize("text", ["-3", "+4.5", "-12:30", "Ann", "", "a=b"])
def test_numbers_and_other_names_stay_as_they_are(text):
    assert defused(text) == text


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
def test_ten_lines_are_enough(num_rows: int, num_notes: int) -> None:
    lines = repr(Crowd(num_rows, num_notes)).splitlines()
    # Nothing is left out where there is room.
    assert len(lines) == min(2 + num_rows + min(num_notes, 3), MOST_LINES)
    shown = sum(line.startswith("<i>") for line in lines)
    assert (f"… and {num_rows - shown:,} more rows" in lines) is (shown < num_rows)
