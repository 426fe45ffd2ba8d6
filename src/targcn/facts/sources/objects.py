"""Objects of Python: frames, graphs of NetworkX, and dictionaries of tables.

A frame is one of polars or pandas, or anything that offers its columns as Arrow does: Arrow tables,
Hugging Face datasets, relations of DuckDB and more.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Split
from targcn.facts.open import Source, find_source
from targcn.facts.reading.columns import USUAL_NAMES, usual_role
from targcn.facts.reading.encode import encode_splits
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import needed_columns
from targcn.facts.sources.folders import STEMS, refuse_other_splits
from targcn.facts.sources.table_source import TableSource, find_table

SPLIT_OF: dict[object, Split] = {stem: split for split, stems in STEMS.items() for stem in stems}


class Frame(TableSource):
    title = "a polars or pandas frame, an Arrow table, a Hugging Face data set"

    def recognizes(self, source: object) -> bool:
        if isinstance(source, pl.LazyFrame) or _is(source, "pandas", "DataFrame"):
            return True
        # A single column of Arrow offers a stream too, but has no columns.
        has_columns = any(hasattr(source, name) for name in ("columns", "column_names", "schema"))
        return _is(source, "datasets", "Dataset") or (
            has_columns and hasattr(source, "__arrow_c_stream__")
        )

    def label(self, source: object) -> str:
        return "the frame"

    def name_of(self, source: object) -> str:
        return "frame"

    def load(self, source: Any, options: ReadOptions) -> pl.LazyFrame:
        if isinstance(source, pl.DataFrame | pl.LazyFrame):
            return source.lazy().collect().lazy()
        if _is(source, "pandas", "DataFrame"):
            # Column by column, so that pyarrow is not needed; by position, as names may repeat.
            names = [str(name) for name in source.columns]
            needed = needed_columns(names, self.label(source), options)
            columns = [_to_polars(source.iloc[:, names.index(name)]) for name in needed]
            return pl.LazyFrame(dict(zip(needed, columns, strict=True)))
        if _is(source, "datasets", "Dataset"):
            source = source.with_format("arrow")[:]
        return pl.DataFrame(source).lazy()


class NetworkxGraph(TableSource):
    """Its edges have a time, and a relation as an attribute or as their key."""

    title = "a NetworkX graph"

    def recognizes(self, source: object) -> bool:
        return _is(source, "networkx", "Graph")

    def label(self, source: object) -> str:
        return "the graph"

    def name_of(self, source: object) -> str:
        return str(getattr(source, "name", "")) or "graph"

    def notes_of(self, source: object) -> tuple[str, ...]:
        if source.is_directed():  # type: ignore[attr-defined]
            return ()
        return ("the graph has no directions: each edge is read from its first node to its second",)

    def load(self, source: object, options: ReadOptions) -> pl.LazyFrame:
        edges = _columns_of(source, [getattr(options, role) for role in USUAL_NAMES])
        needed = needed_columns(list(edges), self.label(source), options)
        return pl.LazyFrame({name: pl.Series(edges[name], strict=False) for name in needed})


class DictOfSplits(Source):
    """As `datasets.load_dataset` gives one; the table of train alone is split like any other."""

    title = "a dictionary of such tables for train, valid and test"

    def recognizes(self, source: object) -> bool:
        return isinstance(source, Mapping) and "train" in source and set(source) <= set(SPLIT_OF)

    def read(self, source: object, options: ReadOptions) -> Dataset:
        assert isinstance(source, Mapping)
        if len(source) == 1:
            return find_source(source["train"]).read(source["train"], options)
        given = {SPLIT_OF[key]: table for key, table in source.items()}
        if len(given) < len(STEMS) or len(source) > len(STEMS):
            listed = ", ".join(map(repr, source))
            raise InputError(
                f"the dictionary holds {listed}; give one table each for train, valid and test, or "
                "train alone"
            )
        refuse_other_splits("the dictionary", options)
        tables = {}
        for split in STEMS:
            where = f"{split} of the dictionary"
            table = find_table(given[split], where, "give one table")
            tables[split] = replace(table.read_table(given[split], options), where=where)
        return encode_splits("splits", tables, options)


def _is(source: object, library: str, kind: str) -> bool:
    # Nobody has an object of a library without having imported the library.
    module = sys.modules.get(library)
    return module is not None and isinstance(source, getattr(module, kind, ()))


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


def _columns_of(graph: Any, given: list[str | None]) -> dict[str, list[Any]]:
    """The nodes, the key and the attributes of each edge, empty where it has none."""
    edges = list(graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges.data())
    columns = {"subject": [edge[0] for edge in edges], "object": [edge[1] for edge in edges]}
    names = dict.fromkeys(name for edge in edges for name in edge[-1])
    for name in names:
        # The nodes are subject and object, whatever attributes tell of a source and a target.
        if usual_role(str(name)) not in ("subject", "object") or name in given:
            columns[str(name)] = [edge[-1].get(name) for edge in edges]
    has_relation = any(usual_role(name) == "relation" for name in columns)
    # Keys that are mere numbers tell parallel edges apart, and name no relation.
    if not has_relation and all(isinstance(edge[2], str) for edge in edges):
        columns["relation"] = [edge[2] for edge in edges]
    return columns


SOURCES = (Frame(), NetworkxGraph(), DictOfSplits())
