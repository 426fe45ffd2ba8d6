"""JSON lines: one object per line."""

from pathlib import Path
from typing import Final

import polars as pl

from targcn.facts.columns import choose_columns
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_file import COMPRESSIONS, TableFile, explain_text

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class JsonLines(TableFile):
    title = "a JSON lines file (.jsonl .ndjson, also .gz or .zst)"
    endings = (".jsonl", ".ndjson")
    compressions = COMPRESSIONS

    def parse(self, path: Path, options: ReadOptions) -> pl.DataFrame:
        with path.open("rb") as stream:
            is_marked = stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK
        # polars skips the byte order mark of CSV, but not that of JSON lines.
        content = path.read_bytes()[len(BYTE_ORDER_MARK) :] if is_marked else path
        frame = pl.read_ndjson(content, infer_schema_length=None)
        return choose_columns(frame, path.name, options)

    def explain(self, path: Path, message: str) -> str:
        return explain_text(path, message) or super().explain(path, message)


SOURCE = JsonLines()
