"""Messages along dated edges, joined at each node by an attention of every coordinate.

With Δ the time of an edge minus the query's, the edge from i to j sends

    m = W_λ (x_i + ρ + τ_|Δ|),    λ one of past, present and future: the sign of Δ,

and node j becomes Σ α ⊙ m over the edges that come in to it, where α is the softmax of
LeakyReLU(a ⊙ x_j ⊙ m) over them, coordinate by coordinate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.graph.columns import Columns

# The slope of LeakyReLU below 0.
SLOPE = 0.2
# Edges whose vectors are laid out at once when nothing is learned; bounds memory, and what stays in
# a processor's cache is quick.
MOST_EDGES_AT_ONCE = {"cpu": 1 << 14, "cuda": 1 << 22}


@dataclass(frozen=True, eq=False)
class Edges(Columns):
    """Edges between the rows of a table of nodes, one per row; those that are not there say so."""

    sources: Tensor
    targets: Tensor
    relations: Tensor
    # Time of the edge minus that of the query.
    deltas: Tensor
    there: Tensor

    def parts(self) -> list["Edges"]:
        """The edges in parts of a bounded size; all in one where something is learned."""
        most = MOST_EDGES_AT_ONCE.get(self.there.device.type, MOST_EDGES_AT_ONCE["cpu"])
        if torch.is_grad_enabled() or len(self.there) <= most:
            return [self]
        return [self[start : start + most] for start in range(0, len(self.there), most)]


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


@dataclass(frozen=True, eq=False)
class Scored:
    """What edges send to their targets, and the scores of it, coordinate by coordinate."""

    targets: Tensor
    messages: Tensor
    scores: Tensor


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
        sent, wanted = (nodes @ self.maps).flatten(0, 1), self.attention * nodes

        def scored() -> Iterator[Scored]:
            return (_score(sent, wanted, terms, part) for part in edges.parts())

        # Several parts are scored twice rather than kept.
        kept = list(scored()) if len(edges.parts()) == 1 else None
        largest = torch.full_like(nodes, -torch.inf)
        for part in kept or scored():
            _raise(largest, part.scores.detach(), part.targets)
        # Subtracting it changes no softmax.
        largest = largest.masked_fill(largest == -torch.inf, 0).detach()
        total, joined = torch.zeros_like(nodes), torch.zeros_like(nodes)
        for part in kept or scored():
            weights = (part.scores - largest.index_select(0, part.targets)).exp()
            total = total.index_add_(0, part.targets, weights)
            joined = joined.index_add_(0, part.targets, weights * part.messages)
        # The largest weight of a node is 1: a smaller sum is one of nothing.
        return joined / total.clamp(min=0.5)


def _score(sent: Tensor, wanted: Tensor, terms: Terms, edges: Edges) -> Scored:
    """Messages and their scores, from products W_λ x and a ⊙ x of the nodes."""
    signs = edges.deltas.sign() + 1
    messages = sent.index_select(0, signs * len(wanted) + edges.sources)
    relations = signs * (len(terms.of_relations) // 3) + edges.relations
    messages = messages + terms.of_relations.index_select(0, relations)
    messages = messages + terms.of_times.index_select(0, terms.distances.places(edges.deltas))
    scores = functional.leaky_relu(wanted.index_select(0, edges.targets) * messages, SLOPE)
    return Scored(edges.targets, messages, scores.masked_fill(~edges.there[:, None], -torch.inf))


def three_maps(dim: int) -> nn.Parameter:
    """Linear maps for what is past, present and future."""
    return nn.Parameter(torch.stack([xavier(dim, dim) for _ in range(3)]))


def xavier(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_normal_(torch.empty(rows, columns))


@torch.no_grad()
def _raise(largest: Tensor, scores: Tensor, targets: Tensor) -> None:
    """Let each node know the largest score of the edges that come in to it."""
    largest.scatter_reduce_(0, targets[:, None].expand_as(scores), scores, "amax")
