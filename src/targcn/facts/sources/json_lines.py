"""JSON lines: one object per line."""

import codecs
from pathlib import Path

import polars as pl

from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_file import TextFile


class JsonLines(TextFile):
    title = "a JSON lines file (.jsonl .ndjson, also .gz or .zst)"
    endings = (".jsonl", ".ndjson")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        with path.open("rb") as stream:
            is_marked = stream.read(3) == codecs.BOM_UTF8
        # polars skips the byte order mark of CSV, but not that of JSON lines.
        content = path.read_bytes()[3:] if is_marked else path
        return pl.read_ndjson(content, infer_schema_length=None).lazy()


SOURCE = JsonLines()
