"""The facts that a model may use, as sorted tensors.

The reciprocal of each fact is added here and nowhere else. Facts are sorted by object and time: the
facts that come in to an entity lie together, in the order of time.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Context, Dataset, Facts, as_intervals, join_facts
from targcn.graph.build import (
    Allocate,
    both_directions,
    bring_to_pieces,
    count_owners,
    in_memory,
    sort_pieces,
)
from targcn.graph.ragged import take
from targcn.memory import require_memory

if TYPE_CHECKING:
    from targcn.graph.traces import Moments


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
    # The first and the last ticks; where every fact has one time, the very same tensor.
    times: Tensor
    ends: Tensor
    keys: Tensor
    offsets: Tensor
    # Whether each query may use only the facts before its own time.
    past_only: bool = False
    # What random draws know each fact by, where that is not its position.
    numbers: Tensor | None = None
    # Where the columns are mapped from (stored.py).
    folder: Path | None = None

    @classmethod
    def of(
        cls,
        facts: Facts,
        num_entities: int,
        num_relations: int,
        allocate: Allocate = in_memory,
    ) -> "TemporalGraph":
        """Build the graph of some facts, in whatever order.

        >>> graph = TemporalGraph.of(Facts.of([0, 0], [0, 0], [1, 2], [5, 3]), 3, 1)
        >>> first, last = graph.offsets[0], graph.offsets[1]
        >>> graph.subjects[first:last].tolist(), graph.relations[first:last].tolist()
        ([2, 1], [1, 1])
        """
        span = facts.last_time + 1 if len(facts) else 1
        # All keys that are made of an owner and a time have to fit into 64 bits.
        most_owners = max(num_entities, 2 * num_relations, 2 * len(facts))
        if most_owners * (span + 1) >= 2**63:
            raise InputError(
                f"the last time is {span - 1:,} ticks after the first, too far for "
                f"{len(facts):,} facts among {num_entities:,} entities; leave such times out"
            )
        num_rows = 2 * len(facts)
        offsets = count_owners([facts.subjects, facts.objects], num_entities)
        number = torch.int32 if facts.columns.dtype.itemsize == 4 else torch.int64
        names = ["times", "relations", "subjects", *(["ends"] if facts.has_intervals else [])]
        if allocate is in_memory:
            needed = num_rows * (len(names) * number.itemsize + torch.int64.itemsize)
            advice = "from 10 million facts on 'targcn data prepare' leaves it on the disk"
            require_memory(needed, f"the graph of {len(facts):,} facts", advice)
        columns = [allocate(name, number, num_rows) for name in names]
        # Until a piece is sorted, its keys are the owners alone.
        keys = allocate("keys", torch.int64, num_rows)
        parts = both_directions(facts, num_relations, span)
        bring_to_pieces(parts, offsets, [keys, *columns])
        sizes = [span, 2 * num_relations, num_entities, span + 1][: len(columns)]
        for place, owners in sort_pieces(offsets, keys, columns, sizes):
            torch.add(owners.long() * span, columns[0][place], out=keys[place])
        times, relations, subjects, *intervals = columns
        for ends in intervals:
            ends.masked_fill_(ends == span, _largest(ends))
        ends = intervals[0] if intervals else times
        counts = num_entities, num_relations, span
        return cls(*counts, subjects, relations, times, ends, keys, offsets)

    @classmethod
    def of_context(
        cls, dataset: Dataset, context: Context, past_only: bool = False
    ) -> "TemporalGraph":
        """The graph of the facts that a model may use; each query only of the past, if so said."""
        from targcn.graph.stored import find_stored, map_graph

        if stored := find_stored(dataset, context):
            graph = map_graph(stored, dataset, context)
        else:
            facts = dataset.context(context)
            graph = cls.of(facts, len(dataset.entities), len(dataset.relations))
        return graph.as_past() if past_only or context == "past" else graph

    def as_past(self) -> "TemporalGraph":
        """The same facts, of which each query sees those before its time.

        Random draws know a fact by its place among those of its entity: later ones do not move it.
        """
        if self.has_intervals:
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
        times, ends = self.times[incoming], self.ends[incoming]
        if end is None:
            held &= (times <= time) & (ends >= time)
        else:
            held &= (times == max(time, 0)) & (ends == (_largest(ends) if end == OPEN else end))
        return held.nonzero().flatten() + int(incoming.start)

    def shows(self, subject: int, relation: int, object: int, time: int) -> bool:
        """Whether a query for one entity of a fact would see the fact itself."""
        return not self.past_only and len(self.positions_of(subject, relation, object, time)) > 0

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
        if here.has_intervals:
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
        positions = [torch.empty(0, dtype=torch.int64)]
        for subject, relation, object_, *interval in facts.columns.T.tolist():
            positions.append(self.positions_of(subject, relation, object_, *interval))
            back = relation + self.num_relations
            positions.append(self.positions_of(object_, back, subject, *interval))
        return torch.cat(positions)

    def __len__(self) -> int:
        return len(self.subjects)

    @property
    def objects(self) -> Tensor:
        return (self.keys // self.span).to(self.subjects.dtype)

    @property
    def has_intervals(self) -> bool:
        return self.ends is not self.times

    def ends_before(self, entities: Tensor, times: Tensor) -> Tensor:
        """The end of the facts that come in to each entity before a time; offsets are the start."""
        return find_first(self.keys, self.span, entities, times)

    @cached_property
    def by_end(self) -> "ByEnd | None":
        """The facts of each entity, found by when they end, if they hold over intervals."""
        return ByEnd.of(self) if self.has_intervals else None

    @cached_property
    def by_relation(self) -> Tensor:
        """Relation · span + time of every fact, sorted; reciprocal facts are left out."""
        forward = self.relations < self.num_relations
        return (self.relations[forward].long() * self.span + self.times[forward]).sort().values

    @cached_property
    def triples(self) -> "Moments":
        """When each distinct (subject, relation, object) holds, by its `fact_codes`."""
        from targcn.graph.hidden import fact_codes
        from targcn.graph.traces import Moments, distinct_facts

        *said, firsts, lasts = distinct_facts(self)
        return Moments.of(fact_codes(self, *said), firsts, lasts, self.span)

    @property
    def device(self) -> torch.device:
        return self.subjects.device

    def _columns(self) -> dict[str, Any]:
        """What its facts are made of; the ends only where they are not the times."""
        names = ["subjects", "relations", "times", "keys", "offsets"]
        if self.has_intervals:
            names.append("ends")
        return {name: getattr(self, name) for name in names}

    @property
    def num_bytes(self) -> int:
        return sum(column.nbytes for column in self._columns().values())

    def to(self, device: torch.device | str) -> "TemporalGraph":
        columns = {name: column.to(device) for name, column in self._columns().items()}
        columns.setdefault("ends", columns["times"])
        folder = self.folder if torch.device(device).type == "cpu" else None
        numbers = None if self.numbers is None else self.numbers.to(device)
        return replace(self, folder=folder, numbers=numbers, **columns)


@dataclass(frozen=True, eq=False)
class ByEnd:
    """The positions of facts, sorted by object and last tick.

    The keys are object · span + last tick, in a span that has one tick more, for open ends.
    """

    span: int
    keys: Tensor
    positions: Tensor

    @classmethod
    def of(cls, graph: TemporalGraph) -> "ByEnd":
        span = graph.span
        keys = graph.objects.long() * (span + 1) + graph.ends.long().clamp(max=span)
        keys, positions = torch.sort(keys, stable=True)
        return cls(span + 1, keys, positions)


def find_first(keys: Tensor, span: int, owners: Tensor, times: Tensor) -> Tensor:
    """Where the facts of each owner, such as an entity, are no longer before a time.

    The keys are owner · span + time, sorted.
    """
    return torch.searchsorted(keys, owners.long() * span + times.long().clamp(min=0, max=span))


def moments_near(graph: TemporalGraph, places: Tensor, times: Tensor) -> Tensor:
    """When each of these facts is seen from the time of its row: at its moment nearest to it."""
    moments = take(graph.times, places).long()
    if not graph.has_intervals:
        return moments
    return torch.minimum(torch.maximum(times.long()[:, None], moments), take(graph.ends, places))


def reciprocal_of(relations: Tensor, num_relations: int) -> Tensor:
    """The relations read from object to subject, and reciprocal ones read back.

    >>> reciprocal_of(torch.tensor([0, 5]), num_relations=3).tolist()
    [3, 2]
    """
    return (relations + num_relations) % (2 * num_relations)


def _largest(numbers: Tensor) -> int:
    """What stands for an open end among these."""
    return int(torch.iinfo(numbers.dtype).max)
