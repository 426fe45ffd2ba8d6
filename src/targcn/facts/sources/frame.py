"""A polars or pandas frame."""

import sys
from typing import Any

import polars as pl

from targcn.facts.columns import FactTable, check_cells, choose_columns, find_columns
from targcn.facts.dataset import Dataset
from targcn.facts.encode import encode_table
from targcn.facts.read_options import ReadOptions
from targcn.facts.sources.source import Source

WHERE = "the frame"


class Frame(Source):
    title = "a polars or pandas frame"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, pl.DataFrame | pl.LazyFrame) or _is_pandas(source)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        return encode_table("frame", self.read_table(source, options), options)

    def read_table(self, source: object, options: ReadOptions) -> FactTable:
        """The facts of a frame, every cell filled."""
        if isinstance(source, pl.LazyFrame):
            source = source.collect()
        if isinstance(source, pl.DataFrame):
            return check_cells(choose_columns(source, WHERE, options), WHERE, options)
        return check_cells(_read_pandas(source, options), WHERE, options)


def _is_pandas(source: object) -> bool:
    # Nobody has a pandas frame without having imported pandas.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def _read_pandas(frame: Any, options: ReadOptions) -> pl.DataFrame:
    # Column by column, so that pyarrow is not needed; by position, as names may repeat.
    names = [str(name) for name in frame.columns]
    chosen = find_columns(names, WHERE, options)
    return pl.DataFrame(
        {role: _to_polars(frame.iloc[:, names.index(name)]) for role, name in chosen.items()}
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
