"""The facts a model may look at, as sorted tensors.

Takes facts; adds the reciprocal of each (the one place where that happens) and sorts them by
object and time, so that the facts coming in to an entity lie side by side in the order of time
and the columns are their own index. Next room: sampling and models.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.facts.dataset import Context, Dataset, Facts
from targcn.ragged import sort_rows


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """Columns of facts, reciprocal ones included, sorted by object, time, relation and subject.

    The facts that come in to entity e stand at offsets[e] up to offsets[e + 1]; `keys`, which is
    object · span + time, finds a moment among them by one binary search. Relation r of
    `num_relations` has r + num_relations as its reciprocal. Immutable by convention.
    """

    num_entities: int
    num_relations: int
    # One tick past the last; ticks count from the first time, so none is below 0.
    span: int
    subjects: Tensor
    relations: Tensor
    times: Tensor
    keys: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, facts: Facts, num_entities: int, num_relations: int) -> "TemporalGraph":
        """Build the graph of some facts, whatever their order.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> first, last = graph.offsets[0], graph.offsets[1]
        >>> graph.subjects[first:last].tolist(), graph.relations[first:last].tolist()
        ([2, 1], [1, 1])
        """
        there = torch.from_numpy(facts.columns.copy())
        subjects = torch.cat([there[0], there[2]])
        relations = torch.cat([there[1], there[1] + num_relations])
        objects = torch.cat([there[2], there[0]])
        times = there[3].repeat(2)
        span = int(times.max()) + 1 if len(times) else 1
        objects, times, relations, subjects = sort_rows(
            [objects, times, relations, subjects],
            [num_entities, span, 2 * num_relations, num_entities],
        )
        keys = objects.long() * span + times
        offsets = torch.searchsorted(keys, torch.arange(num_entities + 1) * span)
        return cls(
            num_entities,
            num_relations,
            span,
            subjects,
            relations,
            times,
            keys,
            offsets,
        )

    @classmethod
    def of_context(cls, dataset: Dataset, context: Context) -> "TemporalGraph":
        """The graph of the facts that a model may look at."""
        facts = dataset.context(context)
        return cls.of(facts, len(dataset.entities), len(dataset.relations))

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def objects(self) -> Tensor:
        """The objects, read off the keys."""
        return torch.div(self.keys, self.span, rounding_mode="floor").to(self.subjects.dtype)

    @property
    def device(self) -> torch.device:
        return self.subjects.device

    @property
    def num_bytes(self) -> int:
        """Memory of the columns and the index."""
        return sum(column.numel() * column.element_size() for column in self._columns)

    @property
    def _columns(self) -> tuple[Tensor, ...]:
        return self.subjects, self.relations, self.times, self.keys, self.offsets

    def to(self, device: torch.device | str) -> "TemporalGraph":
        """The same graph on another device."""
        columns = (column.to(device) for column in self._columns)
        return TemporalGraph(self.num_entities, self.num_relations, self.span, *columns)
