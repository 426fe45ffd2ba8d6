"""Queries: facts whose object is missing, or under the reciprocal relation whose subject is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.facts.dataset import Facts
from targcn.graph.columns import Columns


@dataclass(frozen=True, eq=False)
class Queries(Columns):
    """Queries for a missing object, one per row."""

    subjects: Tensor
    relations: Tensor
    times: Tensor

    def __len__(self) -> int:
        return len(self.subjects)


def queries_of(facts: Facts, num_relations: int) -> tuple[Queries, Tensor]:
    """Both queries of every fact, those for objects first, and the entity that each asks for."""
    subjects, relations, objects, times = torch.from_numpy(facts.columns.astype("int64"))
    both_relations = torch.cat([relations, relations + num_relations])
    queries = Queries(torch.cat([subjects, objects]), both_relations, times.repeat(2))
    return queries, torch.cat([objects, subjects])
