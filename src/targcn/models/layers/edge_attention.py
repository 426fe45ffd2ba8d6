"""Attention along dated edges: messages, the flow of a mass, and the subgraph that it grows.

With Δ the time of an edge minus the query's, the edge from i to j sends

    m = W_λ (x_i + ρ + τ_|Δ|),    λ one of past, present and future: the sign of Δ,

and node j becomes Σ α ⊙ m over the edges that come in to it, where α is the softmax of
LeakyReLU(a ⊙ x_j ⊙ m) over them, coordinate by coordinate (`EdgeAttention`). What a mass flows by,
the score of each edge that leaves a node, is `TransitionScores`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.graph.columns import Columns

# The slope of LeakyReLU below 0.
SLOPE = 0.2
# Edges whose vectors are laid out at once when nothing is learned; bounds memory, and what stays in
# a processor's cache is quick.
MOST_EDGES_AT_ONCE = {"cpu": 1 << 14, "cuda": 1 << 22}
# The row of a subgraph for all nodes that are not in it, and that of the node it starts at.
OUTSIDE, START = 0, 1


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
        """The vectors of all Δ in order: τ of its distance, under the map of its sign."""
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
        sent, wanted = (nodes @ self.maps).flatten(0, 1), self.attention * nodes

        def scored() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
            return (_score(sent, wanted, terms, part) for part in edges.parts())

        # Several parts are scored twice rather than kept.
        kept = list(scored()) if len(edges.parts()) == 1 else None
        largest = torch.full_like(nodes, -torch.inf)
        for targets, _, scores in kept or scored():
            rows = targets[:, None].expand_as(scores)
            largest.scatter_reduce_(0, rows, scores.detach(), "amax")
        # Subtracting it changes no softmax.
        largest = largest.masked_fill(largest == -torch.inf, 0).detach()
        total, joined = torch.zeros_like(nodes), torch.zeros_like(nodes)
        for targets, messages, scores in kept or scored():
            weights = (scores - largest.index_select(0, targets)).exp()
            total = total.index_add_(0, targets, weights)
            joined = joined.index_add_(0, targets, weights * messages)
        # The largest weight of a node is 1: a smaller sum is one of nothing.
        return joined / total.clamp(min=0.5)


def _score(
    sent: Tensor, wanted: Tensor, terms: Terms, edges: Edges
) -> tuple[Tensor, Tensor, Tensor]:
    """Targets, messages and their scores, from products W_λ x and a ⊙ x of the nodes."""
    signs = edges.deltas.sign() + 1
    messages = sent.index_select(0, signs * len(wanted) + edges.sources)
    relations = signs * (len(terms.of_relations) // 3) + edges.relations
    messages = messages + terms.of_relations.index_select(0, relations)
    messages = messages + terms.of_times.index_select(0, terms.distances.places(edges.deltas))
    scores = functional.leaky_relu(wanted.index_select(0, edges.targets) * messages, SLOPE)
    return edges.targets, messages, scores.masked_fill(~edges.there[:, None], -torch.inf)


class TransitionScores(nn.Module):
    """LeakyReLU(⟨Q x_i, K (x_j + ρ) + W_λ τ_|Δ|⟩ / √size) for each head."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Parameter(xavier(dim, dim)), nn.Parameter(xavier(dim, dim))
        self.time_maps = three_maps(dim)

    def terms(self, relations: Tensor, distances: Distances) -> Terms:
        """K ρ and W_λ τ."""
        return Terms(relations @ self.key, distances.both_ways(self.time_maps), distances)

    def of_edges(self, nodes: Tensor, terms: Terms, edges: Edges) -> Tensor:
        """The scores of edges between the rows of a table: one row per edge and column per head."""
        queries, keys = nodes @ self.query, nodes @ self.key
        parts = [self._products(queries, keys, terms, part) for part in edges.parts()]
        return self._bend(torch.cat(parts))

    def _products(self, queries: Tensor, keys: Tensor, terms: Terms, edges: Edges) -> Tensor:
        of_edges = keys.index_select(0, edges.targets)
        of_edges = of_edges + terms.of_relations.index_select(0, edges.relations)
        of_edges = of_edges + terms.of_times.index_select(0, terms.distances.places(edges.deltas))
        products = queries.index_select(0, edges.sources) * of_edges
        return products.view(len(products), self.heads, -1).sum(2)

    def of_steps(self, states: Tensor, terms: Terms, edges: Edges) -> Tensor:
        """The scores of edges that lie in a row for each source: query, head, source, edge.

        Sources and targets are rows of each query's states. Every source is multiplied with all
        relations, times and states first: a score is then the sum of three numbers.
        """
        sources = self._in_heads(_rows(states, edges.sources) @ self.query)
        shared = self._in_heads(torch.cat([terms.of_relations, terms.of_times]))
        with_shared = sources @ shared.transpose(1, 2)
        with_states = sources @ self._in_heads(states @ self.key).transpose(2, 3)
        times = terms.distances.places(edges.deltas) + len(terms.of_relations)
        total = _pick(with_shared, edges.relations) + _pick(with_shared, times)
        return self._bend(total + _pick(with_states, edges.targets))

    def _in_heads(self, vectors: Tensor) -> Tensor:
        return vectors.view(*vectors.shape[:-1], self.heads, -1).transpose(-2, -3)

    def _bend(self, products: Tensor) -> Tensor:
        size = len(self.query) // self.heads
        return functional.leaky_relu(products / math.sqrt(size), SLOPE)


@dataclass(frozen=True, eq=False)
class Subgraph(Columns):
    """The nodes and edges that each query has collected: one row per query.

    A node that was collected has a place of its own in the query's table of states.
    """

    # For every entity, its place; OUTSIDE if it has none.
    places: Tensor
    # The entity in each place, and whether it was collected.
    entities: Tensor
    used: Tensor
    # Edges between places, one column per edge.
    edges: Edges

    @classmethod
    def at(cls, entities: Tensor, num_entities: int) -> "Subgraph":
        """A subgraph of one node and no edge, for each of the entities."""
        entities = entities[:, None]
        places = torch.zeros(len(entities), num_entities, dtype=torch.int64, device=entities.device)
        places.scatter_(1, entities, START)
        nothing = entities[:, :0]
        edges = Edges(nothing, nothing, nothing, nothing, nothing.bool())
        used = (torch.arange(2, device=entities.device) == START).expand(len(entities), -1)
        return cls(places, entities.expand(-1, 2), used, edges)

    def grown(self, new: Edges) -> "Subgraph":
        """With more edges, which are given between entities, and the nodes that they lead to."""
        size = self.entities.shape[1]
        numbers = torch.arange(size, size + new.targets.shape[1], device=new.targets.device)
        numbers = numbers.expand_as(new.targets)
        # Of several edges to a new node, the last one has its place.
        claimed = torch.zeros_like(self.places)
        claimed.scatter_reduce_(1, new.targets, numbers * new.there, "amax")
        places = torch.where(self.places == OUTSIDE, claimed, self.places)
        targets = places.gather(1, new.targets)
        edges = replace(new, sources=places.gather(1, new.sources), targets=targets)
        pairs = zip(self.edges.tensors(), edges.tensors(), strict=True)
        return Subgraph(
            places,
            torch.cat([self.entities, new.targets], dim=1),
            torch.cat([self.used, targets == numbers], dim=1),
            Edges(*(torch.cat(pair, dim=1) for pair in pairs)),
        )

    def flat_edges(self) -> Edges:
        """The edges of all queries, between the rows of all their states in one table."""
        first = torch.arange(len(self.used), device=self.used.device) * self.used.shape[1]
        edges = replace(
            self.edges,
            sources=self.edges.sources + first[:, None],
            targets=self.edges.targets + first[:, None],
        )
        return edges.map(torch.flatten)


def three_maps(dim: int) -> nn.Parameter:
    """Linear maps for what is past, present and future."""
    return nn.Parameter(torch.stack([xavier(dim, dim) for _ in range(3)]))


def xavier(rows: int, columns: int) -> Tensor:
    return nn.init.xavier_normal_(torch.empty(rows, columns))


def _rows(table: Tensor, places: Tensor) -> Tensor:
    """Some rows of each query's table."""
    return table.gather(1, places[..., None].expand(*places.shape, table.shape[2]))


def _pick(products: Tensor, columns: Tensor) -> Tensor:
    """For every edge one of the products of its source, in every head."""
    return products.gather(3, columns[:, None].expand(-1, products.shape[1], -1, -1))
