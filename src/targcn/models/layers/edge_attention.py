"""Messages along dated edges, joined at each node by an attention of every coordinate.

With Δ the time of an edge minus the query's, the edge from i to j sends

    m = W_λ (x_i + ρ + τ_|Δ|),    λ one of past, present and future: the sign of Δ,

and node j becomes Σ α ⊙ m over the edges that come in to it, where α is the softmax of
LeakyReLU(a ⊙ x_j ⊙ m) over them, coordinate by coordinate.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.graph.columns import Columns

# The slope of LeakyReLU below 0.
SLOPE = 0.2


@dataclass(frozen=True, eq=False)
class Edges(Columns):
    """Edges between the rows of a table of nodes, one per row; those that are not there say so."""

    sources: Tensor
    targets: Tensor
    relations: Tensor
    # Time of the edge minus that of the query.
    deltas: Tensor
    there: Tensor


class EdgeAttention(nn.Module):
    """One layer of messages and attention."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.maps = three_maps(dim)
        self.attention = nn.Parameter(torch.ones(dim))

    def forward(self, nodes: Tensor, relations: Tensor, distances: Tensor, edges: Edges) -> Tensor:
        """The nodes after the layer; one that no edge comes in to is 0."""
        messages = self.messages(nodes, relations, distances, edges)
        wanted = (self.attention * nodes).index_select(0, edges.targets)
        scores = functional.leaky_relu(wanted * messages, SLOPE)
        scores = scores.masked_fill(~edges.there[:, None], -torch.inf)
        weights = (scores - self._largest(scores, edges, nodes)).exp()
        nothing = torch.zeros_like(nodes)
        total = nothing.index_add(0, edges.targets, weights)
        joined = nothing.index_add(0, edges.targets, weights * messages)
        # The largest weight of a node is 1, so that only sums of nothing are below.
        return joined / total.clamp(min=0.5)

    def messages(self, nodes: Tensor, relations: Tensor, distances: Tensor, edges: Edges) -> Tensor:
        """W_λ (x + ρ + τ) of each edge; the products are taken before anything is laid out."""
        signs = edges.deltas.sign() + 1
        of_nodes, of_relations = (nodes @ self.maps).flatten(0, 1), (relations @ self.maps)
        found = of_nodes.index_select(0, signs * len(nodes) + edges.sources)
        places = signs * len(relations) + edges.relations
        found = found + of_relations.flatten(0, 1).index_select(0, places)
        times = both_ways(distances, self.maps)
        return found + times.index_select(0, place_of(edges.deltas, distances))

    @staticmethod
    @torch.no_grad()
    def _largest(scores: Tensor, edges: Edges, nodes: Tensor) -> Tensor:
        """For each edge, the largest score at its target: it changes no softmax."""
        places = edges.targets[:, None].expand_as(scores)
        largest = torch.full_like(nodes, -torch.inf).scatter_reduce_(0, places, scores, "amax")
        largest.masked_fill_(largest == -torch.inf, 0)
        return largest.index_select(0, edges.targets)


def three_maps(dim: int) -> nn.Parameter:
    """Linear maps for what is past, present and future."""
    return nn.Parameter(torch.stack([xavier(dim, dim) for _ in range(3)]))


def xavier(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_normal_(torch.empty(rows, columns))


def both_ways(distances: Tensor, maps: Tensor) -> Tensor:
    """The vectors of all Δ, the most negative first: τ of its distance, under the map of its sign.

    >>> maps = torch.tensor([-1.0, 0.0, 1.0]).view(3, 1, 1)
    >>> both_ways(torch.tensor([[5.0], [6.0], [7.0]]), maps).flatten().tolist()
    [-7.0, -6.0, 0.0, 6.0, 7.0]
    """
    past, present, future = maps
    return torch.cat([distances[1:].flip(0) @ past, distances[:1] @ present, distances[1:] @ future])


def place_of(deltas: Tensor, distances: Tensor) -> Tensor:
    """The row of each Δ in `both_ways`; what is farther than all rows has the farthest."""
    last = len(distances) - 1
    return deltas.clamp(min=-last, max=last) + last
