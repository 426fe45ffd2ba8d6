"""Copies: how many facts say the same at a time, over intervals that may overlap."""

import torch
from torch import Tensor

from targcn.graph.temporal_graph import TemporalGraph


class Copies:
    """Every distinct (subject, relation, object) of a graph, and when its facts begin and end.

    Of those that begin together, the one that ends last counts. How many hold at a time is how many
    have begun, less how many are over: two binary searches.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self.num_entities, self.num_relations = graph.num_entities, 2 * graph.num_relations
        self.span = graph.span + 1
        keys = self._keys(graph.subjects.long(), graph.relations, graph.objects)
        # The facts of an object are sorted by their beginning, then end, and stay so within a key.
        order = torch.argsort(keys, stable=True)
        keys, times = keys[order], graph.times[order].long()
        ends = graph.last_ticks[order].long().clamp(max=graph.span)
        ends_last = torch.ones_like(keys, dtype=torch.bool)
        ends_last[:-1] = (keys[1:] != keys[:-1]) | (times[1:] != times[:-1])
        self.keys, numbers = torch.unique_consecutive(keys[ends_last], return_inverse=True)
        self.begins = numbers * self.span + times[ends_last]
        self.ends = torch.sort(numbers * self.span + ends[ends_last]).values

    def count(self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor) -> Tensor:
        """How many facts with different beginnings say each of these at its time."""
        keys = self._keys(subjects.long(), relations, objects)
        if len(self.keys) == 0:
            return torch.zeros_like(keys)
        numbers = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        then = numbers * self.span + times.clamp(min=0, max=self.span - 1)
        begun = torch.searchsorted(self.begins, then, right=True)
        is_known = (self.keys[numbers] == keys) & (times >= 0)
        return (begun - torch.searchsorted(self.ends, then)) * is_known

    def _keys(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        return (objects.long() * self.num_relations + relations) * self.num_entities + subjects
