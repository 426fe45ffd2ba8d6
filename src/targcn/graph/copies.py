"""Copies: how many facts say the same at a time, over intervals that may overlap."""

import torch
from torch import Tensor

from targcn.graph.temporal_graph import TemporalGraph


class Copies:
    """Every distinct (subject, relation, object) of a graph, and when its facts begin and end.

    How many hold at a time is how many have begun, less how many are over: two binary searches. A
    fact that is there twice counts once.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self.num_entities, self.num_relations = graph.num_entities, 2 * graph.num_relations
        self.span = graph.span + 1
        keys = self._keys(graph.subjects.long(), graph.relations, graph.objects)
        # The facts of an object are sorted by their beginning, then end, and stay so within a key.
        order = torch.argsort(keys, stable=True)
        keys, times = keys[order], graph.times[order].long()
        ends = graph.ends[order].long().clamp(max=graph.span)
        is_new = torch.ones_like(keys, dtype=torch.bool)
        is_new[1:] = (keys[1:] != keys[:-1]) | (times[1:] != times[:-1]) | (ends[1:] != ends[:-1])
        self.keys, numbers = torch.unique_consecutive(keys[is_new], return_inverse=True)
        self.begins = numbers * self.span + times[is_new]
        self.ends = torch.sort(numbers * self.span + ends[is_new]).values

    def count(self, subjects: Tensor, relations: Tensor, objects: Tensor, times: Tensor) -> Tensor:
        """How many different facts say each of these at its time."""
        keys = self._keys(subjects.long(), relations, objects)
        if len(self.keys) == 0:
            return torch.zeros_like(keys)
        numbers = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        then = numbers * self.span + times.clamp(min=0, max=self.span - 1)
        begun = torch.searchsorted(self.begins, then, right=True)
        over = torch.searchsorted(self.ends, then)
        return torch.where((self.keys[numbers] == keys) & (times >= 0), begun - over, 0)

    def _keys(self, subjects: Tensor, relations: Tensor, objects: Tensor) -> Tensor:
        return (objects.long() * self.num_relations + relations) * self.num_entities + subjects
