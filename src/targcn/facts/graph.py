"""The facts a model may look at, as sorted tensors.

Takes facts; adds the reciprocal of each (the one place where that happens) and sorts them by
object and time, so that the facts coming in to an entity lie side by side in the order of time
and the columns are their own index. Next room: sampling and models.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.facts.dataset import Facts


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """Four columns, reciprocal facts included, sorted by object, time, relation and subject.

    The facts that come in to entity e stand at offsets[e] up to offsets[e + 1]. Relation r of
    `num_relations` has r + num_relations as its reciprocal. Immutable by convention.
    """

    num_entities: int
    num_relations: int
    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, facts: Facts, num_entities: int, num_relations: int) -> "TemporalGraph":
        """Build the graph of some facts, whatever their order.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> first, last = graph.offsets[0], graph.offsets[1]
        >>> graph.subjects[first:last].tolist(), graph.relations[first:last].tolist()
        ([2, 1], [1, 1])
        """
        columns = torch.from_numpy(facts.columns.copy())
        subjects, relations, objects, times = columns
        there_and_back = (
            torch.cat([subjects, objects]),
            torch.cat([relations, relations + num_relations]),
            torch.cat([objects, subjects]),
            times.repeat(2),
        )
        subjects, relations, objects, times = there_and_back
        # Two stable sorts, least significant first: one key of all four could pass 64 bits.
        order = torch.argsort(relations.long() * num_entities + subjects, stable=True)
        earliest = int(times.min()) if len(times) else 0
        span = int(times.max()) - earliest + 1 if len(times) else 1
        by_object = objects[order].long() * span + (times[order].long() - earliest)
        order = order[torch.argsort(by_object, stable=True)]
        offsets = torch.zeros(num_entities + 1, dtype=torch.long)
        offsets[1:] = torch.bincount(objects, minlength=num_entities).cumsum(0)
        return cls(
            num_entities,
            num_relations,
            subjects[order],
            relations[order],
            objects[order],
            times[order],
            offsets,
        )

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def device(self) -> torch.device:
        return self.subjects.device

    @property
    def num_bytes(self) -> int:
        """Memory of the columns and the index."""
        columns = (self.subjects, self.relations, self.objects, self.times, self.offsets)
        return sum(column.numel() * column.element_size() for column in columns)

    def to(self, device: torch.device | str) -> "TemporalGraph":
        """The same graph on another device."""
        return TemporalGraph(
            self.num_entities,
            self.num_relations,
            self.subjects.to(device),
            self.relations.to(device),
            self.objects.to(device),
            self.times.to(device),
            self.offsets.to(device),
        )
