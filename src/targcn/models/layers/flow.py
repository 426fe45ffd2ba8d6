"""The parts of an attention flow: scores of transitions, and the subgraph that each query grows."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.graph.columns import Columns
from targcn.models.layers.edge_attention import (
    SLOPE,
    Distances,
    Edges,
    Terms,
    three_maps,
    xavier,
)

# The row of a subgraph for all nodes that are not in it, and that of the node it starts at.
OUTSIDE, START = 0, 1


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


def _rows(table: Tensor, places: Tensor) -> Tensor:
    """Some rows of each query's table."""
    return table.gather(1, places[..., None].expand(*places.shape, table.shape[2]))


def _pick(products: Tensor, columns: Tensor) -> Tensor:
    """For every edge one of the products of its source, in every head."""
    return products.gather(3, columns[:, None].expand(-1, products.shape[1], -1, -1))
