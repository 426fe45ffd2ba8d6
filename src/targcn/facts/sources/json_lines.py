"""JSON lines: one object per line."""

import codecs
import json
from pathlib import Path

import polars as pl

from targcn.facts.columns import choose_columns
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.table_file import TextFile, read_lines


class JsonLines(TextFile):
    title = "a JSON lines file (.jsonl .ndjson, also .gz or .zst)"
    endings = (".jsonl", ".ndjson")

    def parse(self, path: Path, options: ReadOptions) -> pl.DataFrame:
        with path.open("rb") as stream:
            is_marked = stream.read(3) == codecs.BOM_UTF8
        # polars skips the byte order mark of CSV, but not that of JSON lines.
        content = path.read_bytes()[3:] if is_marked else path
        frame = pl.read_ndjson(content, infer_schema_length=None)
        return choose_columns(frame, path.name, options)

    def explain(self, path: Path, message: str) -> str:
        if number := _find_faulty_line(path):
            return f"{path.name}, line {number}: not a JSON object; correct or remove the line"
        return super().explain(path, message)


def _find_faulty_line(path: Path) -> int | None:
    """The number of the first line that is no JSON object, if there is one."""
    try:
        lines = read_lines(path)
    except (OSError, pl.exceptions.PolarsError):  # the archive is at fault, not a line
        return None
    for number, line in enumerate(lines, 1):
        try:
            is_object = not line or not line.strip() or isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return number
        if not is_object:
            return number
    return None


SOURCE = JsonLines()
