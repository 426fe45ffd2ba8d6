"""The whole context as the edges of T-GAP's graph."""

import torch
from torch import Tensor

from targcn.graph.hidden import HiddenFacts, fact_codes, shown_facts
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of


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
        self.codes = fact_codes(context, context.subjects, relations, context.objects)
        # How many edges any node has; of the past nobody may know how many will be.
        self.most_edges = int(context.offsets.diff().max()) if context.num_entities else 0
        if context.past_only:
            self.most_edges = torch.iinfo(torch.int64).max

    def are_there(self, time: int, hidden: HiddenFacts | None = None) -> Tensor:
        """Which edges are seen from a time: not those that are hidden then."""
        there = torch.ones_like(self.sources, dtype=torch.bool)
        there[: self.num_facts] = shown_facts(self.context, self.codes, time, hidden)
        return there
