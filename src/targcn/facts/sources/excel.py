"""A sheet of an Excel or OpenDocument workbook, whose first row names the columns.

It is read in a process of its own: a cell far outside the table, or a count that is damaged, has
the library that reads it ask for more memory than there is, which ends its process.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TableSource, choose_table, first_line, run_apart

# The exit code of the process if it has said what is wrong.
EXPLAINED: Final = 2


class Excel(TableSource):
    title = "an Excel or OpenDocument workbook (.xlsx .xlsm .xlsb .xls .ods)"
    endings = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    takes = ("table",)
    libraries, extra = ("fastexcel",), "excel"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        path = path_of(source)
        import fastexcel  # noqa: F401

        with TemporaryDirectory() as folder:
            copy = Path(folder) / "sheet.arrow"
            done = run_apart(copy_sheet, str(path), str(copy), options.table)
            if done.returncode == EXPLAINED:
                raise InputError(done.stdout)
            if done.returncode:
                raise InputError(
                    f"{path.name} cannot be read: it is damaged, or a cell far outside the table "
                    "makes it too large; save the table alone into a new file"
                )
            return pl.read_ipc(copy.read_bytes()).lazy()


def copy_sheet(path: str, copy: str, table: str | None = None) -> None:
    """Write a sheet of a workbook as an Arrow file, or say why not and leave."""
    import fastexcel

    name, options = Path(path).name, ReadOptions(table=table)
    try:
        workbook = fastexcel.read_excel(path)
        sheet = choose_table(workbook.sheet_names, "sheets", name, options)
        # A column of several types is text.
        loaded = workbook.load_sheet(sheet, dtype_coercion="coerce", schema_sample_rows=None)
        pl.DataFrame(loaded).write_ipc(copy)
    except InputError as error:
        sys.stdout.write(str(error))
        sys.exit(EXPLAINED)
    except fastexcel.FastExcelError as error:
        sys.stdout.write(f"{name} cannot be read: {first_line(str(error))}")
        sys.exit(EXPLAINED)


SOURCES = (Excel(),)
