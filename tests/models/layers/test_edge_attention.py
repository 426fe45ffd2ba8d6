"""Messages, attention and transitions against single edges, and how a subgraph grows."""

import pytest
import torch

from targcn.models.layers import edge_attention
from targcn.models.layers.edge_attention import (
    OUTSIDE,
    START,
    Distances,
    EdgeAttention,
    Edges,
    Subgraph,
    TransitionScores,
)


def layer_of(dim: int) -> EdgeAttention:
    torch.manual_seed(0)
    layer = EdgeAttention(dim).double()
    torch.nn.init.normal_(layer.attention)
    return layer


def edges_of(*rows: tuple[int, int, int, int, bool]) -> Edges:
    *columns, there = zip(*rows, strict=True)
    return Edges(*map(torch.tensor, columns), torch.tensor(there))


RELATIONS = torch.arange(12, dtype=torch.float64).sin().view(3, 4)
TABLE = torch.arange(20, dtype=torch.float64).cos().view(5, 4)


def test_a_node_with_one_edge_gets_its_message_and_one_without_gets_nothing() -> None:
    layer, nodes = layer_of(4), torch.randn(3, 4).double()
    distances = Distances(TABLE, -9, 9)
    terms = layer.terms(RELATIONS, distances)
    for delta, sign in ((-2, 0), (0, 1), (3, 2), (9, 2)):
        edges = edges_of((0, 1, 2, delta, True), (1, 2, 0, 0, False))
        found = layer(nodes, terms, edges)
        sent = nodes[0] + RELATIONS[2] + TABLE[min(abs(delta), 4)]
        torch.testing.assert_close(found[1], sent @ layer.maps[sign])
        assert not found[[0, 2]].any()


def test_edges_in_parts_are_joined_as_if_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, nodes = layer_of(4), torch.randn(3, 4).double()
    rows = torch.randint(3, (20, 3)).tolist()
    edges = edges_of(*((*row, row[0] - 2 * row[1], row != rows[3]) for row in rows))
    terms = layer.terms(RELATIONS, Distances(TABLE, -9, 9))
    scores = TransitionScores(dim=4, heads=2).double()
    flow = scores.terms(RELATIONS, terms.distances)
    at_once = layer(nodes, terms, edges), scores.of_edges(nodes, flow, edges)
    monkeypatch.setitem(edge_attention.MOST_EDGES_AT_ONCE, "cpu", 3)
    # Where something is learned all is kept anyway.
    assert len(edges.parts()) == 1
    with torch.no_grad():
        assert [len(part.there) for part in edges.parts()] == [3] * 6 + [2]
        in_parts = layer(nodes, terms, edges), scores.of_edges(nodes, flow, edges)
        torch.testing.assert_close(in_parts, at_once)


def test_scores_of_steps_are_those_of_their_edges() -> None:
    torch.manual_seed(0)
    scores = TransitionScores(dim=6, heads=2).double()
    relations, table = torch.randn(4, 6).double(), torch.randn(9, 6).double()
    states = torch.randn(3, 5, 6).double()
    terms = scores.terms(relations, Distances(table, -6, 7))
    # Three queries, two sources each, with four edges each.
    sources, targets = torch.randint(5, (3, 2)), torch.randint(5, (3, 2, 4))
    columns = torch.randint(4, (3, 2, 4)), torch.randint(-9, 9, (3, 2, 4))
    there = torch.ones_like(targets, dtype=torch.bool)
    found = scores.of_steps(states, terms, Edges(sources, targets, *columns, there))
    assert found.shape == (3, 2, 2, 4)
    for query in range(3):
        edges = Edges(
            sources[query][:, None].expand(-1, 4),
            targets[query],
            columns[0][query],
            columns[1][query],
            there[query],
        )
        one = scores.of_edges(states[query], terms, edges.map(torch.flatten))
        torch.testing.assert_close(found[query].flatten(1), one.T)


def test_a_subgraph_has_a_place_for_each_node_that_edges_lead_to() -> None:
    graph = Subgraph.at(torch.tensor([3, 0]), num_entities=5)
    assert graph.places.tolist() == [[0, 0, 0, START, 0], [START, 0, 0, 0, 0]]
    assert graph.used.tolist() == [[False, True]] * 2
    new = Edges(
        sources=torch.tensor([[3, 3, 3, 3], [0, 0, 2, 0]]),
        targets=torch.tensor([[1, 4, 1, 3], [2, 0, 4, 1]]),
        relations=torch.tensor([[0, 1, 0, 2], [1, 2, 0, 0]]),
        deltas=torch.tensor([[-1, 0, 4, 0], [5, 0, 0, 1]]),
        there=torch.tensor([[True] * 4, [True, True, True, False]]),
    )
    grown = graph.grown(new)
    assert grown.places.tolist() == [[0, 4, 0, START, 3], [START, 0, 2, 0, 4]]
    # A place belongs to the last edge that leads to a new node.
    assert grown.used.tolist() == [
        [False, True, False, True, True, False],
        [False, True, True, False, True, False],
    ]
    assert grown.entities.gather(1, grown.places).tolist()[0][3] == 3
    assert grown.edges.targets.tolist() == [[4, 3, 4, START], [2, START, 4, OUTSIDE]]
    assert grown.edges.sources.tolist() == [[START] * 4, [START, START, 2, START]]
    flat = grown.flat_edges()
    assert flat.targets.tolist() == [4, 3, 4, 1, 8, 7, 10, 6]
    assert flat.there.tolist() == [True] * 7 + [False]
    again = grown.grown(Edges(*(column[:, :1] for column in new.tensors())))
    assert torch.equal(again.places, grown.places)
    assert again.edges.sources.shape == (2, 5)
