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


@dataclass(frozen=True, eq=False)
class FactColumns(Columns):
    """Facts to be asked about, one per row."""

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor

    @classmethod
    def of(cls, facts: Facts) -> "FactColumns":
        return cls(*torch.from_numpy(facts.columns.astype("int64", order="C")))

    def __len__(self) -> int:
        return len(self.subjects)

    def ask_objects(self) -> Queries:
        return Queries(self.subjects, self.relations, self.times)

    def ask_subjects(self, num_relations: int) -> Queries:
        return Queries(self.objects, self.relations + num_relations, self.times)


def queries_of(facts: Facts, num_relations: int) -> tuple[Queries, Tensor]:
    """Both queries of every fact, those for objects first, and the entity that each asks for."""
    columns = FactColumns.of(facts)
    sides = columns.ask_objects().tensors(), columns.ask_subjects(num_relations).tensors()
    queries = Queries(*(torch.cat(pair) for pair in zip(*sides, strict=True)))
    return queries, torch.cat([columns.objects, columns.subjects])
