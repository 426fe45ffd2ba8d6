"""What T-GAP's mass flows on: the edges of a context, what queries of a time share, and a step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of
from targcn.models.layers.edge_attention import Terms


class WholeGraph:
    """The edges of a context: its facts in their positions, then a loop at every node."""

    def __init__(self, context: TemporalGraph) -> None:
        loops = torch.arange(context.num_entities, device=context.device)
        relations = context.relations.long()
        back = reciprocal_of(relations, context.num_relations)
        of_loops = torch.full_like(loops, 2 * context.num_relations)
        self.context, self.num_facts = context, len(context)
        self.sources = torch.cat([context.subjects.long(), loops])
        self.targets = torch.cat([context.objects.long(), loops])
        self.relations = torch.cat([relations, of_loops])
        # What the relations are when an edge is read from its target to its source.
        self.back = torch.cat([back, of_loops])
        self.times = context.times.long()
        ends = self.sources[: len(context)], self.targets[: len(context)]
        self.codes = self.code(ends[0], relations, ends[1])
        # How many edges any node has; of the past nobody may know how many will be.
        self.most_edges = int(context.offsets.diff().max()) if context.num_entities else 0
        if context.past_only:
            self.most_edges = torch.iinfo(torch.int64).max

    def code(self, sources: Tensor, relations: Tensor, targets: Tensor) -> Tensor:
        """One number for a fact at whatever time."""
        codes = sources * 2 * self.context.num_relations + relations
        return codes * self.context.num_entities + targets


@dataclass(frozen=True, eq=False)
class Shared:
    """What all queries of one time share."""

    graph: WholeGraph
    time: int
    # Δ of every edge, and whether it is there: not if it is hidden.
    deltas: Tensor
    there: Tensor
    # The vectors h of the nodes after the first layer, and what they bring into a subgraph.
    nodes: Tensor
    entering: Tensor
    # What h says about leaving along every edge, which is read from its target for that: one
    # column per head.
    scores: Tensor
    layer_terms: Terms
    score_terms: Terms


@dataclass(frozen=True, eq=False)
class Step(Columns):
    """One step of a flow, for each query: the nodes that send mass, and their edges.

    The last edge of a node is its loop.
    """

    # One column per node.
    nodes: Tensor
    # One row per node and one column per edge.
    relations: Tensor
    targets: Tensor
    deltas: Tensor
    # The mass of each node, and the shares of it that its edges carry, for each head.
    masses: Tensor
    shares: Tensor

    @property
    def carried(self) -> Tensor:
        """The mass that each edge carries: for each head, one row per node, one column per edge."""
        return self.shares * self.masses[..., None]
