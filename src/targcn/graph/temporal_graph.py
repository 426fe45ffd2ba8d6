"""The facts that a model may use, as sorted tensors.

The reciprocal of each fact is added here and nowhere else. Facts are sorted by object and time: the
facts that come in to an entity lie together, in the order of time.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Context, Dataset, Facts, as_intervals, join_facts
from targcn.graph.ragged import sort_rows, take

if TYPE_CHECKING:
    from targcn.graph.copies import Copies
    from targcn.graph.partners import Partners

Numbers = npt.NDArray[Any]
# Rows sorted at once; bounds the memory needed besides the graph, not the result.
ROWS_SORTED_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """Columns of facts and their reciprocals, sorted by object, time, relation, subject and end.

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
    # Whether each query may use only the facts before its own time.
    past_only: bool = False
    # What random draws know each fact by, where that is not its position.
    numbers: Tensor | None = None
    # The last tick of every fact, if facts hold over intervals; `times` are then the first ticks.
    ends: Tensor | None = None

    @classmethod
    def of(cls, facts: Facts, num_entities: int, num_relations: int) -> "TemporalGraph":
        """Build the graph of some facts, in whatever order.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> first, last = graph.offsets[0], graph.offsets[1]
        >>> graph.subjects[first:last].tolist(), graph.relations[first:last].tolist()
        ([2, 1], [1, 1])
        """
        span = facts.last_time + 1 if len(facts) else 1
        # All keys that are made of an owner and a time have to fit into 64 bits.
        owners = max(num_entities, 2 * num_relations, 2 * len(facts))
        if owners * (span + 1) >= 2**63:
            raise InputError(
                f"the last time is {span - 1:,} ticks after the first, too far for "
                f"{len(facts):,} facts among {num_entities:,} entities; leave such times out"
            )
        num_rows = 2 * len(facts)
        degrees = _count(facts.subjects, num_entities) + _count(facts.objects, num_entities)
        offsets = torch.zeros(num_entities + 1, dtype=torch.int64)
        torch.cumsum(torch.from_numpy(degrees), 0, out=offsets[1:])
        number = torch.int32 if facts.columns.dtype.itemsize == 4 else torch.int64
        one, two, three = (torch.empty(num_rows, dtype=number) for _ in range(3))
        keys = torch.empty(num_rows, dtype=torch.int64)
        graph = cls(num_entities, num_relations, span, one, two, three, keys, offsets)
        if facts.has_intervals:
            graph = replace(graph, ends=torch.empty(num_rows, dtype=number))
        for first, last in pairwise(_cuts(offsets)):
            graph._fill(facts, first, last)
        return graph

    def _fill(self, facts: Facts, first: int, last: int) -> None:
        """Sort the facts that come in to the entities [first, last) into their positions."""
        subjects, relations, objects = facts.columns[:3]
        times = facts.times
        at_once = (first, last) == (0, self.num_entities)
        there = slice(None) if at_once else (objects >= first) & (objects < last)
        back = slice(None) if at_once else (subjects >= first) & (subjects < last)
        columns: tuple[Numbers, ...] = (
            np.concatenate([objects[there], subjects[back]]) - first,
            np.concatenate([times[there], times[back]]),
            np.concatenate([relations[there], relations[back] + self.num_relations]),
            np.concatenate([subjects[there], objects[back]]),
        )
        sizes = [last - first, self.span, 2 * self.num_relations, self.num_entities]
        if facts.has_intervals:
            # Open ends are sorted as the tick after the last one.
            ends = np.minimum(facts.ends, self.span)
            columns += (np.concatenate([ends[there], ends[back]]),)
            sizes.append(self.span + 1)
        owners, when, how, others, *until = sort_rows(
            [torch.from_numpy(column) for column in columns], sizes
        )
        place = slice(int(self.offsets[first]), int(self.offsets[last]))
        self.subjects[place], self.relations[place], self.times[place] = others, how, when
        torch.add((owners.long() + first) * self.span, when, out=self.keys[place])
        if self.ends is not None:
            self.ends[place] = until[0].masked_fill_(until[0] == self.span, _largest(until[0]))

    @classmethod
    def of_context(
        cls, dataset: Dataset, context: Context, past_only: bool = False
    ) -> "TemporalGraph":
        """The graph of the facts that a model may use; each query only of the past, if so said."""
        facts = dataset.context(context)
        graph = cls.of(facts, len(dataset.entities), len(dataset.relations))
        return graph.as_past() if past_only or context == "past" else graph

    def as_past(self) -> "TemporalGraph":
        """The same facts, of which each query sees those before its time.

        Random draws know a fact by its place among those of its entity: later ones do not move it.
        """
        if self.ends is not None:
            raise InputError(
                "facts that hold over intervals cannot be cut at a query's time, so there is no "
                "context 'past' and no past_only for them; choose train, train+valid or all"
            )
        places = torch.arange(len(self), device=self.device)
        return replace(self, past_only=True, numbers=places - self.offsets[self.objects.long()])

    def positions_of(
        self, subject: int, relation: int, object: int, time: int, end: int | None = None
    ) -> Tensor:
        """Where a fact that holds at a time stands: nowhere, once, or more often if data repeat it.

        With an end, only a fact from that very time to that end; either may be OPEN.
        """
        incoming = slice(*self.offsets[object : object + 2].tolist())
        held = (self.subjects[incoming] == subject) & (self.relations[incoming] == relation)
        times, ends = self.times[incoming], self.last_ticks[incoming]
        if end is None:
            held &= (times <= time) & (ends >= time)
        else:
            held &= (times == max(time, 0)) & (ends == (_largest(ends) if end == OPEN else end))
        return held.nonzero().flatten() + int(incoming.start)

    def changed(self, without: Facts, given: Facts) -> "TemporalGraph":
        """The graph without some facts and with others that it does not hold.

        A fact of one time to leave out is every one that holds at that time. All other facts keep
        the numbers that random draws know them by: where a neighbourhood is sampled, they are drawn
        as before, and the answers change by these facts alone.
        """
        here = self.to("cpu")
        gone = here._positions(without)
        kept = torch.ones(len(here), dtype=torch.bool)
        kept[gone] = False
        facts = [here.subjects, here.relations, here.objects, here.times]
        if here.ends is not None:
            facts.append(here.ends.masked_fill(here.ends == _largest(here.ends), OPEN))
            given = as_intervals(given)
        stay = kept & (here.relations < here.num_relations)
        stayed = Facts(torch.stack([column[stay] for column in facts]).numpy())
        changed = TemporalGraph.of(join_facts(stayed, given), here.num_entities, here.num_relations)
        # Both graphs are sorted alike, so the facts that stayed have the same order in both.
        is_new = torch.zeros(len(changed), dtype=torch.bool)
        is_new[changed._positions(given)] = True
        numbers = torch.empty(len(changed), dtype=torch.int64)
        before = torch.arange(len(here)) if here.numbers is None else here.numbers
        numbers[~is_new] = before[kept]
        numbers[is_new] = torch.arange(len(here), len(here) + int(is_new.sum()))
        return replace(changed, numbers=numbers, past_only=self.past_only).to(self.device)

    def _positions(self, facts: Facts) -> Tensor:
        """Where these facts and their reciprocals stand."""
        found = [torch.empty(0, dtype=torch.int64)]
        for subject, relation, object_, *interval in facts.columns.T.tolist():
            found.append(self.positions_of(subject, relation, object_, *interval))
            back = relation + self.num_relations
            found.append(self.positions_of(object_, back, subject, *interval))
        return torch.cat(found)

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def objects(self) -> Tensor:
        return torch.div(self.keys, self.span, rounding_mode="floor").to(self.subjects.dtype)

    @property
    def last_ticks(self) -> Tensor:
        """The last tick of every fact: that of an interval, or the only one."""
        return self.times if self.ends is None else self.ends

    def ends_before(self, entities: Tensor, times: Tensor) -> Tensor:
        """The end of the facts that come in to each entity before a time; offsets are the start.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> graph.ends_before(torch.tensor([0, 0, 0]), torch.tensor([3, 5, 99])).tolist()
        [0, 1, 2]
        """
        return find_first(self.keys, self.span, entities, times)

    @cached_property
    def by_time(self) -> "TimeMajor":
        """The same facts, found by time instead of by entity."""
        order = torch.argsort(self.times, stable=True)
        times, counts = torch.unique_consecutive(self.times[order].long(), return_counts=True)
        offsets = torch.zeros(len(times) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(counts, 0, out=offsets[1:])
        return TimeMajor(times, order, offsets)

    @cached_property
    def by_relation(self) -> "RelationMajor":
        """The same facts, found by relation instead of by entity."""
        keys = self.relations.long() * self.span + self.times
        order = torch.argsort(keys, stable=True)
        counts = torch.bincount(self.relations, minlength=2 * self.num_relations)
        ends = None if self.ends is None else self.ends[order]
        return RelationMajor(
            self.subjects[order],
            self.objects[order],
            self.times[order],
            keys[order],
            functional.pad(counts.cumsum(0), (1, 0)),
            ends,
            None if ends is None else ByEnd.of(self.relations[order], ends, self.span),
        )

    @cached_property
    def by_end(self) -> "ByEnd | None":
        """The facts of each entity, found by when they end, if they hold over intervals."""
        return None if self.ends is None else ByEnd.of(self.objects, self.ends, self.span)

    @cached_property
    def partners(self) -> "Partners":
        """With whom each entity shares facts, and how often."""
        from targcn.graph.partners import Partners

        return Partners(self)

    @cached_property
    def copies(self) -> "Copies":
        """How many facts say the same at a time."""
        from targcn.graph.copies import Copies

        return Copies(self)

    @property
    def device(self) -> torch.device:
        return self.subjects.device

    @property
    def num_bytes(self) -> int:
        columns = [*self._columns, *([] if self.ends is None else [self.ends])]
        return sum(column.numel() * column.element_size() for column in columns)

    @property
    def _columns(self) -> tuple[Tensor, ...]:
        return self.subjects, self.relations, self.times, self.keys, self.offsets

    def to(self, device: torch.device | str) -> "TemporalGraph":
        subjects, relations, times, keys, offsets = (one.to(device) for one in self._columns)
        return replace(
            self,
            subjects=subjects,
            relations=relations,
            times=times,
            keys=keys,
            offsets=offsets,
            numbers=None if self.numbers is None else self.numbers.to(device),
            ends=None if self.ends is None else self.ends.to(device),
        )


@dataclass(frozen=True, eq=False)
class RelationMajor:
    """Columns of the same facts, sorted by relation and time.

    Those of relation r have the positions offsets[r] up to offsets[r + 1]; the keys are
    relation · span + time.
    """

    subjects: Tensor
    objects: Tensor
    times: Tensor
    keys: Tensor
    offsets: Tensor
    ends: Tensor | None = None
    by_end: "ByEnd | None" = None


@dataclass(frozen=True, eq=False)
class ByEnd:
    """The positions of facts, sorted by their owner, an entity or a relation, and their last tick.

    The keys are owner · span + last tick, in a span that has one tick more, for open ends.
    """

    span: int
    keys: Tensor
    positions: Tensor

    @classmethod
    def of(cls, owners: Tensor, ends: Tensor, span: int) -> "ByEnd":
        keys = owners.long() * (span + 1) + ends.long().clamp(max=span)
        keys, positions = torch.sort(keys, stable=True)
        return cls(span + 1, keys, positions)


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


def find_first(keys: Tensor, span: int, owners: Tensor, times: Tensor) -> Tensor:
    """Where the facts of each owner, an entity or a relation, are no longer before a time.

    The keys are owner · span + time, sorted.
    """
    return torch.searchsorted(keys, owners.long() * span + times.long().clamp(min=0, max=span))


def moments_near(facts: TemporalGraph | RelationMajor, places: Tensor, times: Tensor) -> Tensor:
    """When each of these facts is seen from the time of its row: at its moment nearest to it."""
    moments = take(facts.times, places).long()
    if facts.ends is None:
        return moments
    return torch.minimum(torch.maximum(times.long()[:, None], moments), take(facts.ends, places))


def reciprocal_of(relations: Tensor, num_relations: int) -> Tensor:
    """The relations read from object to subject, and reciprocal ones read back.

    >>> reciprocal_of(torch.tensor([0, 5]), num_relations=3).tolist()
    [3, 2]
    """
    return (relations + num_relations) % (2 * num_relations)


def _largest(numbers: Tensor) -> int:
    """What stands for an open end among these."""
    return int(torch.iinfo(numbers.dtype).max)


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
