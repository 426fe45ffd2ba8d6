"""The facts that a model may use, as sorted tensors.

The reciprocal of each fact is added here and nowhere else. Facts are sorted by object and time: the
facts that come in to an entity lie together, in the order of time.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from targcn.facts.dataset import Context, Dataset, Facts
from targcn.graph.ragged import sort_rows

Numbers = npt.NDArray[Any]
# Rows sorted at once; bounds the memory needed besides the graph, not the result.
ROWS_SORTED_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """Columns of facts and their reciprocals, sorted by object, time, relation and subject.

    The facts that come in to entity e have the positions offsets[e] up to offsets[e + 1]; one
    binary search in `keys`, which are object · span + time, finds those of one time. The reciprocal
    of relation r is r + num_relations.
    """

    num_entities: int
    num_relations: int
    # One more than the last tick; ticks count from the first time of the timeline, which is 0.
    span: int
    subjects: Tensor
    relations: Tensor
    times: Tensor
    keys: Tensor
    offsets: Tensor
    # Whether a query may see only the facts before its time; whoever reads the graph sees to it.
    past_only: bool = field(default=False, kw_only=True)

    @classmethod
    def of(cls, facts: Facts, num_entities: int, num_relations: int) -> "TemporalGraph":
        """Build the graph of some facts, in whatever order.

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
        one, two, three = (torch.empty(num_rows, dtype=number) for _ in range(3))
        keys = torch.empty(num_rows, dtype=torch.int64)
        graph = cls(num_entities, num_relations, span, one, two, three, keys, offsets)
        for first, last in pairwise(_cuts(offsets)):
            graph._fill(facts, first, last)
        return graph

    def _fill(self, facts: Facts, first: int, last: int) -> None:
        """Sort the facts that come in to the entities [first, last) into their positions."""
        subjects, relations, objects, times = facts.columns
        at_once = (first, last) == (0, self.num_entities)
        there = slice(None) if at_once else (objects >= first) & (objects < last)
        back = slice(None) if at_once else (subjects >= first) & (subjects < last)
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
        """The graph of the facts that a model may use."""
        facts = dataset.context(context)
        graph = cls.of(facts, len(dataset.entities), len(dataset.relations))
        return replace(graph, past_only=context == "past")

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def objects(self) -> Tensor:
        return torch.div(self.keys, self.span, rounding_mode="floor").to(self.subjects.dtype)

    def ends_before(self, entities: Tensor, times: Tensor) -> Tensor:
        """The end of the facts that come in to each entity before a time; offsets are the start.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> graph.ends_before(torch.tensor([0, 0, 0]), torch.tensor([3, 5, 99])).tolist()
        [0, 1, 2]
        """
        moments = times.long().clamp(min=0, max=self.span)
        return torch.searchsorted(self.keys, entities.long() * self.span + moments)

    @cached_property
    def by_time(self) -> "TimeMajor":
        """The same facts, found by time instead of by entity."""
        order = torch.argsort(self.times, stable=True)
        times, counts = torch.unique_consecutive(self.times[order].long(), return_counts=True)
        offsets = torch.zeros(len(times) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(counts, 0, out=offsets[1:])
        return TimeMajor(times, order, offsets)

    @property
    def device(self) -> torch.device:
        return self.subjects.device

    @property
    def num_bytes(self) -> int:
        return sum(column.numel() * column.element_size() for column in self._columns)

    @property
    def _columns(self) -> tuple[Tensor, ...]:
        return self.subjects, self.relations, self.times, self.keys, self.offsets

    def to(self, device: torch.device | str) -> "TemporalGraph":
        columns = (column.to(device) for column in self._columns)
        sizes = self.num_entities, self.num_relations, self.span
        return TemporalGraph(*sizes, *columns, past_only=self.past_only)


@dataclass(frozen=True, eq=False)
class TimeMajor:
    """The positions of the facts of each time in the columns of a TemporalGraph.

    Those of times[i] are positions[offsets[i]] up to positions[offsets[i + 1]].
    """

    # The distinct times of the facts, in order.
    times: Tensor
    positions: Tensor
    offsets: Tensor

    def ranges(self, first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """The start and the end of the part of `positions` from one time to another, included."""
        starts = self.offsets[torch.searchsorted(self.times, first.contiguous())]
        ends = self.offsets[torch.searchsorted(self.times, last.contiguous(), right=True)]
        return starts, torch.maximum(starts, ends)


def _count(entities: Numbers, num_entities: int) -> Numbers:
    """How often each entity is in a column, which may be too long to be counted at once."""
    counts = np.zeros(num_entities, dtype=np.int64)
    for first in range(0, len(entities), ROWS_SORTED_AT_ONCE):
        part = entities[first : first + ROWS_SORTED_AT_ONCE]
        counts += np.bincount(part, minlength=num_entities)
    return counts


def _cuts(offsets: Tensor) -> list[int]:
    """The entities at which to cut, so that the facts of each piece can be sorted at once."""
    marks = torch.tensor(range(ROWS_SORTED_AT_ONCE, int(offsets[-1]), ROWS_SORTED_AT_ONCE))
    cuts = set((torch.searchsorted(offsets, marks, right=True) - 1).tolist())
    return [0, *sorted(cuts - {0}), len(offsets) - 1]
