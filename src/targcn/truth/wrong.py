"""Wrong facts, made of right ones by another time or another entity."""

from typing import Final

import torch
from torch import Tensor

from targcn.graph.queries import FactColumns
from targcn.graph.temporal_graph import TemporalGraph
from targcn.graph.traces import find_codes

# How many times of the data a near time is away at most.
NEAR: Final = 7


def make_wrong(
    right: FactColumns, graph: TemporalGraph, ticks: Tensor, generator: torch.Generator
) -> dict[str, FactColumns]:
    """Of each right fact one of each kind, some of which may be true after all.

    The times of the data are given. An entity that is met has some fact with the other end.
    """
    num, num_entities = len(right), graph.num_entities

    def draw(below: Tensor | int) -> Tensor:
        return (torch.rand(num, generator=generator, dtype=torch.float64) * below).long()

    def meet(entities: Tensor) -> Tensor:
        first, end = graph.offsets[entities], graph.offsets[entities + 1]
        places = (first + draw(end - first)).clamp(max=max(len(graph) - 1, 0))
        met = graph.subjects[places].long() if len(graph) else entities
        return torch.where(end > first, met, draw(num_entities))

    subjects, relations, objects, times = right.tensors()
    positions, _ = find_codes(ticks, times)
    shift = (1 + draw(NEAR)) * (2 * draw(2) - 1)
    near = (positions + shift).clamp(min=0, max=len(ticks) - 1)
    return {
        "near time": FactColumns(subjects, relations, objects, ticks[near]),
        "random time": FactColumns(subjects, relations, objects, ticks[draw(len(ticks))]),
        "random object": FactColumns(subjects, relations, draw(num_entities), times),
        "random subject": FactColumns(draw(num_entities), relations, objects, times),
        "met object": FactColumns(subjects, relations, meet(subjects), times),
        "met subject": FactColumns(meet(objects), relations, objects, times),
    }
