"""The edges of T-GAP's graph, and which of them a query sees."""

import torch

from oracle import World
from targcn.graph.hidden import HiddenFacts
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.tgap_graph import WholeGraph

WORLD = World(3, 1, [(0, 0, 1, 0), (0, 0, 1, 4), (1, 0, 2, 4)], cuts=(3, 3))


def seen(graph: WholeGraph, time: int, hidden: HiddenFacts | None = None) -> set[tuple[int, ...]]:
    there = graph.are_there(time, hidden)
    assert there[graph.num_facts :].all()
    columns = (graph.sources, graph.relations, graph.targets, graph.times)
    facts = torch.stack([column[: graph.num_facts] for column in columns], dim=1)
    return {tuple(fact) for fact in facts[there[: graph.num_facts]].tolist()}


def test_a_query_sees_all_but_what_is_hidden_and_what_is_to_come() -> None:
    context = TemporalGraph.of_context(WORLD.dataset, "train")
    graph = WholeGraph(context)
    every = {*WORLD.facts, *((o, 1, s, t) for s, _, o, t in WORLD.facts)}
    assert seen(graph, 4) == every
    hidden = HiddenFacts(*torch.tensor([[0], [0], [1], [4]]))
    assert seen(graph, 4, hidden) == every - {(0, 0, 1, 4), (1, 1, 0, 4)}
    assert seen(graph, 0, hidden) == every
    past = WholeGraph(TemporalGraph.of_context(WORLD.dataset, "past"))
    assert seen(past, 4) == {(0, 0, 1, 0), (1, 1, 0, 0)}
    assert seen(past, 4, HiddenFacts(*torch.tensor([[0], [0], [1], [0]]))) == seen(past, 4)
