"""Messages and attention against single edges; what is not there, and very large numbers."""

import pytest
import torch

from targcn.models.layers import edge_attention
from targcn.models.layers.edge_attention import Distances, EdgeAttention, Edges


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
    at_once = layer(nodes, terms, edges)
    monkeypatch.setitem(edge_attention.MOST_EDGES_AT_ONCE, "cpu", 3)
    # Where something is learned all is kept anyway.
    assert len(edges.parts()) == 1
    with torch.no_grad():
        assert [len(part.there) for part in edges.parts()] == [3] * 6 + [2]
        torch.testing.assert_close(layer(nodes, terms, edges), at_once)
