"""A sheet of an Excel or OpenDocument workbook, whose first row names the columns."""

from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_file import TableFile
from targcn.facts.sources.table_source import choose_table, first_line


class Excel(TableFile):
    title = "an Excel or OpenDocument workbook (.xlsx .xlsm .xlsb .xls .ods)"
    endings = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    takes = ("table",)
    libraries, extra = ("fastexcel",), "excel"

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        import fastexcel

        try:
            workbook = fastexcel.read_excel(path)
            sheet = choose_table(workbook.sheet_names, "sheets", path.name, options)
            # A column of several types is text.
            loaded = workbook.load_sheet(sheet, dtype_coercion="coerce", schema_sample_rows=None)
            return pl.DataFrame(loaded).lazy()
        except fastexcel.FastExcelError as error:
            raise InputError(f"{path.name} cannot be read: {first_line(str(error))}") from None


SOURCE = Excel()
