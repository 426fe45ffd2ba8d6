"""Sheets of workbooks."""

from datetime import date, datetime

import polars as pl
import pytest
import xlsxwriter

from small_tables import FACTS, FRAME, HEADER, ROWS, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def write(path, **sheets: pl.DataFrame):
    with xlsxwriter.Workbook(path) as workbook:
        for name, frame in sheets.items():
            frame.write_excel(workbook, worksheet=name)
    return path


def test_the_only_sheet_gives_its_rows(tmp_path):
    assert read_table(write(tmp_path / "x.xlsx", facts=FRAME)).rows() == ROWS


def test_several_sheets(tmp_path):
    path = write(tmp_path / "x.xlsx", notes=FRAME.select("time"), facts=FRAME)
    assert complaint(path) == "x.xlsx holds 2 sheets: 'notes', 'facts'; choose one with --table"
    assert read_table(path, ReadOptions(table="facts")).rows() == ROWS
    assert "x.xlsx has no 'other' among its sheets" in complaint(path, ReadOptions(table="other"))


@pytest.mark.parametrize(
    ("times", "unit", "last"),
    [
        ([date(2014, 1, day) for day in range(1, 29)], "day", "2014-01-28"),
        ([datetime(2014, 1, day, 8) for day in range(1, 29)], "hour", "2014-01-28T08"),
        (list(range(1990, 2018)), "year", "2017"),
    ],
)
def test_dates_of_a_workbook_are_dates(tmp_path, times, unit, last):
    frame = pl.DataFrame(FACTS[:28], schema=HEADER, orient="row").with_columns(
        time=pl.Series(times)
    )
    timeline = open_dataset(write(tmp_path / "x.xlsx", facts=frame)).timeline
    assert (timeline.unit, timeline.last) == (unit, last)


def test_a_column_of_several_types_is_text(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for row, cells in enumerate([HEADER, *ROWS, (7, "meets", "Bob", "2014-01-09")]):
            sheet.write_row(row, 0, cells)
    assert read_table(tmp_path / "x.xlsx").rows()[-1] == ("7", "meets", "Bob", "2014-01-09")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04garbage"])
def test_a_file_that_is_no_workbook(tmp_path, content):
    sentence = complaint(write_file(tmp_path, "bad.xlsx", content))
    assert sentence.startswith("bad.xlsx cannot be read: ")


def test_a_cell_far_outside_is_explained(tmp_path):
    """The library that reads it ends its process, as there are 17 billion cells up to there."""
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for row, cells in enumerate([HEADER, *ROWS]):
            sheet.write_row(row, 0, cells)
        sheet.write("XFD1048576", "stray")
    assert complaint(tmp_path / "x.xlsx") == (
        "x.xlsx cannot be read: it is damaged, or a cell far outside the table makes it too large; "
        "save the table alone into a new file"
    )
