"""A graph of NetworkX whose edges have a time, and a relation as an attribute or as their key."""

import sys
from typing import Any

import polars as pl

from targcn.facts.reading.columns import USUAL_NAMES, usual_role
from targcn.facts.reading.options import ReadOptions
from targcn.facts.reading.rows import needed_columns
from targcn.facts.sources.table_source import TableSource


class NetworkxGraph(TableSource):
    title = "a NetworkX graph"

    def recognizes(self, source: object) -> bool:
        # Nobody has a graph without having imported its library.
        networkx = sys.modules.get("networkx")
        return networkx is not None and isinstance(source, networkx.Graph)

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


SOURCE = NetworkxGraph()
