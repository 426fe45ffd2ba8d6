"""The facts a model may look at, as sorted tensors.

Takes facts; adds the reciprocal of each (the one place where that happens) and sorts them by
object and time, so that the facts coming in to an entity lie side by side in the order of time
and the columns are their own index. Next room: sampling and models.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from targcn.facts.dataset import Context, Dataset, Facts
from targcn.ragged import sort_rows

Numbers = npt.NDArray[Any]
# Rows sorted together; bounds the memory beside the graph itself, not the result.
ROWS_SORTED_AT_ONCE = 1 << 24


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
        span = int(facts.times.max()) + 1 if len(facts) else 1
        num_rows = 2 * len(facts)
        degrees = _count(facts.subjects, num_entities) + _count(facts.objects, num_entities)
        offsets = torch.zeros(num_entities + 1, dtype=torch.int64)
        torch.cumsum(torch.from_numpy(degrees), 0, out=offsets[1:])
        number = torch.int32 if facts.columns.dtype.itemsize == 4 else torch.int64
        graph = cls(
            num_entities,
            num_relations,
            span,
            torch.empty(num_rows, dtype=number),
            torch.empty(num_rows, dtype=number),
            torch.empty(num_rows, dtype=number),
            torch.empty(num_rows, dtype=torch.int64),
            offsets,
        )
        for first, last in pairwise(_cuts(offsets)):
            graph._fill(facts, first, last)
        return graph

    def _fill(self, facts: Facts, first: int, last: int) -> None:
        """Sort the facts coming in to the entities [first, last) into their place."""
        subjects, relations, objects, times = facts.columns
        everyone = (first, last) == (0, self.num_entities)
        there = slice(None) if everyone else (objects >= first) & (objects < last)
        back = slice(None) if everyone else (subjects >= first) & (subjects < last)
        columns = (
            np.concatenate([objects[there], subjects[back]]) - first,
            np.concatenate([times[there], times[back]]),
            np.concatenate([relations[there], relations[back] + self.num_relations]),
            np.concatenate([subjects[there], objects[back]]),
        )
        ends, when, how, others = sort_rows(
            [torch.from_numpy(column) for column in columns],
            [last - first, self.span, 2 * self.num_relations, self.num_entities],
        )
        place = slice(int(self.offsets[first]), int(self.offsets[last]))
        self.subjects[place], self.relations[place], self.times[place] = others, how, when
        torch.add((ends.long() + first) * self.span, when, out=self.keys[place])

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


def _count(entities: Numbers, num_entities: int) -> Numbers:
    """How often each entity stands in a column, which may be too long to be counted at once."""
    counts = np.zeros(num_entities, dtype=np.int64)
    for first in range(0, len(entities), ROWS_SORTED_AT_ONCE):
        part = entities[first : first + ROWS_SORTED_AT_ONCE]
        counts += np.bincount(part, minlength=num_entities)
    return counts


def _cuts(offsets: Tensor) -> list[int]:
    """Entities between which to cut, so that the facts of each piece can be sorted together."""
    marks = torch.tensor(range(ROWS_SORTED_AT_ONCE, int(offsets[-1]), ROWS_SORTED_AT_ONCE))
    cuts = set((torch.searchsorted(offsets, marks, right=True) - 1).tolist())
    return [0, *sorted(cuts - {0}), len(offsets) - 1]
