"""Graphs of NetworkX."""

import networkx as nx
import pytest

from small_tables import FACTS, ROWS, complaint, read_table
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def as_graph(rows, kind=nx.MultiDiGraph, relation="relation", **others):
    graph = kind()
    for s, r, o, t in rows:
        graph.add_edge(s, o, **{relation: r, "time": t}, **others)
    return graph


def test_the_edges_of_a_multigraph():
    graph = as_graph(FACTS)
    assert sorted(read_table(graph).rows()) == sorted(FACTS)
    assert open_dataset(graph).notes == ("split at random with seed 0",)


def test_the_relation_may_be_the_key_of_an_edge():
    graph = nx.MultiDiGraph(name="visits")
    for s, r, o, t in ROWS:
        graph.add_edge(s, o, key=r, time=t)
    assert read_table(graph).rows() == ROWS
    assert open_dataset(graph).name == "visits"


def test_a_key_that_is_a_number_is_no_relation():
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", time=2014)
    assert "the graph: no column for the relation among 'subject', 'object', 'time'" in complaint(
        graph
    )


def test_a_plain_graph_and_columns_of_other_names():
    graph = as_graph(ROWS, nx.DiGraph, relation="what", source="news", weight=1)
    options = ReadOptions(relation="what", where="weight = 1")
    assert read_table(graph, options).rows() == ROWS
    assert read_table(graph, ReadOptions(relation="what", subject="source")).row(0)[0] == "news"


def test_a_graph_without_directions_says_so():
    dataset = open_dataset(as_graph(ROWS, nx.MultiGraph))
    assert dataset.notes[0] == (
        "the graph has no directions: each edge is read from its first node to its second"
    )


def test_an_edge_without_a_time():
    graph = as_graph(ROWS)
    graph.add_edge("Ann", "Zoë", relation="meets")
    assert "the time is missing in row 2" in complaint(graph)


@pytest.mark.parametrize("graph", [nx.MultiDiGraph(), nx.path_graph(3)])
def test_a_graph_without_facts(graph):
    assert complaint(graph).startswith("the graph: no column for the ")


def test_edges_may_have_a_start_and_an_end():
    graph = nx.MultiDiGraph()
    graph.add_edge("Ann", "Bob", relation="owns", since=2012, until=2014)
    graph.add_edge("Bob", "Ann", relation="owns", since=2013)
    assert read_table(graph).rows() == [
        ("Ann", "owns", "Bob", 2012, 2014),
        ("Bob", "owns", "Ann", 2013, None),
    ]
