"""Arrow files (Feather), and the streams that Hugging Face `datasets` keeps."""

from pathlib import Path
from typing import Final

import polars as pl

from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import FactTable
from targcn.facts.sources.parquet import silence_panics
from targcn.facts.sources.table_file import TableFile

# A file begins with this; what does not is a stream.
BEGINNING: Final = b"ARROW1"


class ArrowFile(TableFile):
    title = "an Arrow file (.arrow .feather .ipc)"
    endings = (".arrow", ".feather", ".ipc")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        with path.open("rb") as stream:
            is_stream = stream.read(len(BEGINNING)) != BEGINNING
        return pl.read_ipc_stream(path).lazy() if is_stream else pl.scan_ipc(path)

    def read_columns(self, source: object, options: ReadOptions) -> FactTable:
        with silence_panics():
            return super().read_columns(source, options)


SOURCE = ArrowFile()
