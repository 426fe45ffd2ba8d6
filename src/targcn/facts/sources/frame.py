"""A frame: polars, pandas, or anything that offers its columns as Arrow does.

That is Arrow tables, Hugging Face datasets, relations of DuckDB and more.
"""

import sys
from typing import Any

import polars as pl

from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import needed_columns
from targcn.facts.sources.table_source import TableSource


class Frame(TableSource):
    title = "a polars or pandas frame, an Arrow table, a Hugging Face data set"

    def recognizes(self, source: object) -> bool:
        return (
            isinstance(source, pl.DataFrame | pl.LazyFrame)
            or _is(source, "pandas", "DataFrame")
            or _is(source, "datasets", "Dataset")
            or _is_arrow(source)
        )

    def label(self, source: object) -> str:
        return "the frame"

    def name_of(self, source: object) -> str:
        return "frame"

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        if isinstance(source, pl.LazyFrame):
            return source.collect().lazy()
        if isinstance(source, pl.DataFrame):
            return source.lazy()
        if _is(source, "pandas", "DataFrame"):
            return _read_pandas(source, self.label(source), options).lazy()
        if _is(source, "datasets", "Dataset"):
            source = source.with_format("arrow")[:]  # type: ignore[attr-defined]
        return pl.DataFrame(source).lazy()  # type: ignore[arg-type]


def _is(source: object, library: str, kind: str) -> bool:
    # Nobody has an object of a library without having imported the library.
    module = sys.modules.get(library)
    return module is not None and isinstance(source, getattr(module, kind, ()))


def _is_arrow(source: object) -> bool:
    # A single column offers a stream too, but has no columns.
    named = any(hasattr(source, name) for name in ("columns", "column_names", "schema"))
    return hasattr(source, "__arrow_c_stream__") and named


def _read_pandas(frame: Any, where: str, options: ReadOptions) -> pl.DataFrame:
    # Column by column, so that pyarrow is not needed; by position, as names may repeat.
    names = [str(name) for name in frame.columns]
    return pl.DataFrame(
        {
            name: _to_polars(frame.iloc[:, names.index(name)])
            for name in needed_columns(names, where, options)
        }
    )


def _to_polars(column: Any) -> pl.Series:
    if column.dtype.kind == "M":
        zone = getattr(column.dtype, "tz", None)
        if zone is None:
            return pl.Series(column.to_numpy("datetime64[us]"))
        in_utc = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[us]")
        try:
            return pl.Series(in_utc).dt.replace_time_zone("UTC").dt.convert_time_zone(str(zone))
        except pl.exceptions.PolarsError:  # a mere offset, which polars has no type for
            column = column.dt.strftime("%Y-%m-%dT%H:%M:%S.%f%z")
    if column.dtype.kind in "iuf" and column.notna().all():
        return pl.Series(column.to_numpy())
    values = column.astype(object).where(column.notna(), None).tolist()
    return pl.Series(values, strict=False)


SOURCE = Frame()
