"""The whole context as the edges of T-GAP's graph."""

import torch
from torch import Tensor

from targcn.graph.neighbors import HiddenFacts
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

    def are_there(self, time: int, hidden: HiddenFacts | None = None) -> Tensor:
        """Which edges are seen from a time: not those that are hidden then."""
        there = torch.ones_like(self.sources, dtype=torch.bool)
        facts = there[: self.num_facts]
        if self.context.past_only:
            facts &= self.times < time
        if hidden is not None:
            codes = [self.code(*side) for side in hidden.sides(self.context.num_relations)]
            # No fact has the code -1, which stands for what is hidden at other times.
            gone = torch.cat([torch.where(hidden.times == time, code, -1) for code in codes])
            facts &= ~(_are_among(gone, self.codes) & (self.times == time))
        return there


def _are_among(few: Tensor, values: Tensor) -> Tensor:
    """Which of the values are among a few others: `torch.isin` would sort all of them."""
    few = few.sort().values
    places = torch.searchsorted(few, values).clamp(max=len(few) - 1)
    return few[places] == values
