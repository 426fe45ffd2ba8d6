"""JSON: one array of objects."""

import codecs
from pathlib import Path

import polars as pl

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.table_file import TextFile, explain_empty


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


SOURCE = JsonArray()
