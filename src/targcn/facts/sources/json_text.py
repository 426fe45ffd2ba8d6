"""JSON lines, with one object per line, and JSON with one array of objects."""

import codecs
import json
from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.open import path_of
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_source import TextFile, explain_empty, read_lines


class JsonLines(TextFile):
    title = "a JSON lines file (.jsonl .ndjson, also .gz or .zst)"
    endings = (".jsonl", ".ndjson")

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        with path.open("rb") as stream:
            is_marked = stream.read(3) == codecs.BOM_UTF8
        # polars skips the byte order mark of CSV, but not that of JSON lines.
        content = path.read_bytes()[3:] if is_marked else path
        return pl.read_ndjson(content, infer_schema_length=None).lazy()

    def explain(self, source: object, message: str) -> str:
        fault = _find_fault(path_of(source))
        return f"{self.label(source)}, {fault}" if fault else super().explain(source, message)


class JsonArray(TextFile):
    title = "a JSON file with an array of objects (.json)"
    endings = (".json",)
    compressions = ()

    def parse(self, path: Path, options: ReadOptions) -> pl.LazyFrame:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8).strip()
        if not content:
            raise InputError(explain_empty(path))
        if content.startswith(b"{") and b"\n" in content:
            # Many programs call JSON lines .json.
            return pl.read_ndjson(content, infer_schema_length=None).lazy()
        if not content.startswith(b"["):
            raise InputError(
                f"{path.name} holds no array; write [{{…}}, {{…}}], or an object per line"
            )
        return pl.read_json(content, infer_schema_length=None).lazy()


def _find_fault(path: Path) -> str | None:
    """What is wrong with the first line that is no JSON object, or not one like the others."""
    try:
        lines = read_lines(path)
    except (OSError, pl.exceptions.PolarsError):  # the archive is at fault, not a line
        return None
    is_nested: dict[str, bool] = {}
    for number, line in enumerate(lines, 1):
        if not line or not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            return f"line {number}: not a JSON object; correct or remove the line"
        for key, value in row.items():
            nested = isinstance(value, list | dict)
            if value is not None and is_nested.setdefault(key, nested) != nested:
                return f"line {number}: {key[:40]!r} is a list or an object in some lines only"
    return None


SOURCES = (JsonLines(), JsonArray())
