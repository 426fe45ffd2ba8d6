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


class Distances:
    """The vectors τ of distances in time, for all Δ from `least` to `most`, among which is 0.

    The table has the vectors of 0, 1 and so on.
    """

    def __init__(self, table: Tensor, least: int, most: int) -> None:
        last = len(table) - 1
        self.table, self.least, self.most = table, max(least, -last), min(most, last)

    def both_ways(self, maps: Tensor) -> Tensor:
        """The vectors of all Δ in order: τ of its distance, under the map of its sign.

        >>> table, maps = torch.tensor([[5.0], [6.0], [7.0]]), torch.tensor([-1.0, 0.0, 1.0])
        >>> Distances(table, -9, 1).both_ways(maps.view(3, 1, 1)).flatten().tolist()
        [-7.0, -6.0, 0.0, 6.0]
        """
        past, present, future = self.table @ maps
        return torch.cat([past[1 : 1 - self.least].flip(0), present[:1], future[1 : 1 + self.most]])

    def places(self, deltas: Tensor) -> Tensor:
        """The row of each Δ among those; what is farther than all has the farthest."""
        return deltas.clamp(min=self.least, max=self.most) - self.least


@dataclass(frozen=True, eq=False)
class Terms:
    """What relations and times add to an edge, whatever its nodes: laid out once for all edges."""

    of_relations: Tensor
    of_times: Tensor
    distances: Distances


class EdgeAttention(nn.Module):
    """One layer of messages and attention."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.maps = three_maps(dim)
        self.attention = nn.Parameter(torch.ones(dim))

    def terms(self, relations: Tensor, distances: Distances) -> Terms:
        """W_λ ρ of the past, the present and the future, and W_λ τ."""
        of_relations = (relations @ self.maps).flatten(0, 1)
        return Terms(of_relations, distances.both_ways(self.maps), distances)

    def forward(self, nodes: Tensor, terms: Terms, edges: Edges) -> Tensor:
        """The nodes after the layer; one that no edge comes in to is 0."""
        messages = self.messages(nodes, terms, edges)
        wanted = (self.attention * nodes).index_select(0, edges.targets)
        scores = functional.leaky_relu(wanted * messages, SLOPE)
        scores = scores.masked_fill(~edges.there[:, None], -torch.inf)
        weights = (scores - _largest(scores, edges.targets, nodes)).exp()
        nothing = torch.zeros_like(nodes)
        total = nothing.index_add(0, edges.targets, weights)
        joined = nothing.index_add(0, edges.targets, weights * messages)
        # The largest weight of a node is 1: a smaller sum is one of nothing.
        return joined / total.clamp(min=0.5)

    def messages(self, nodes: Tensor, terms: Terms, edges: Edges) -> Tensor:
        """W_λ (x + ρ + τ) of each edge, from products that were taken before."""
        signs = edges.deltas.sign() + 1
        from_nodes = (nodes @ self.maps).flatten(0, 1)
        found = from_nodes.index_select(0, signs * len(nodes) + edges.sources)
        relations = signs * (len(terms.of_relations) // 3) + edges.relations
        found = found + terms.of_relations.index_select(0, relations)
        return found + terms.of_times.index_select(0, terms.distances.places(edges.deltas))


def three_maps(dim: int) -> nn.Parameter:
    """Linear maps for what is past, present and future."""
    return nn.Parameter(torch.stack([xavier(dim, dim) for _ in range(3)]))


def xavier(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_normal_(torch.empty(rows, columns))


@torch.no_grad()
def _largest(scores: Tensor, targets: Tensor, nodes: Tensor) -> Tensor:
    """For each edge, the largest score at its target: subtracting it changes no softmax."""
    largest = torch.full_like(nodes, -torch.inf)
    largest.scatter_reduce_(0, targets[:, None].expand_as(scores), scores, "amax")
    largest.masked_fill_(largest == -torch.inf, 0)
    return largest.index_select(0, targets)
