"""The filters: known true answers, of whatever split, which must not count against a model.

`static` knows what is true at any time, `time-aware` what is true at the query's time, and `raw`
knows nothing. They are different tasks: figures under different filters never share a column.
ranking.py subtracts the known answers from the counts; the target itself stays.

A fact that holds over an interval is true at each of its ticks. If such facts are asked about once,
for all of their ticks, `identical` leaves to the time-aware filter what holds over the same
interval alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.facts.dataset import Dataset, Facts
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns, Queries
from targcn.graph.ragged import expand_ranges, look_up, sort_rows
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of

Filter = Literal["raw", "static", "time-aware"]
FILTERS: Final[tuple[Filter, ...]] = ("raw", "static", "time-aware")


@dataclass(frozen=True, eq=False)
class IntervalQueries(Queries):
    """Queries about facts that hold over intervals; `times` are the ticks they are asked at."""

    firsts: Tensor
    # The last ticks; later than all that are known if open.
    lasts: Tensor


@dataclass(frozen=True, eq=False)
class KnownAnswers(Columns):
    """Every known answer once, found by the subject, the relation and the time of a query.

    Sorted by group, which is a subject with a relation, and by first tick. What holds at a tick
    began no earlier than `longest` ticks before it: the search looks through these alone, for
    points through none in vain.
    """

    num_relations: int
    # Group · width + first tick.
    keys: Tensor
    lasts: Tensor
    answers: Tensor
    # One more than the ticks known: open intervals alone hold then. 1 if time does not matter.
    width: int
    longest: int

    @classmethod
    def of(cls, graph: TemporalGraph, which: Filter, identical: bool = False) -> "KnownAnswers":
        """Index the true answers among these facts."""
        if graph.folder is not None:
            nothing = graph.offsets[:0]
            empty = graph.num_relations, nothing, nothing, nothing, 1, 0
            return AnswersInGraph(*empty, graph, which)
        span = graph.span if which == "time-aware" else 0
        require_keys(graph.num_entities * 2 * graph.num_relations, span + 1)
        groups = graph.subjects.long() * (2 * graph.num_relations) + graph.relations
        columns = [groups, graph.objects, graph.times, graph.ends.clamp(max=span)]
        if which != "time-aware":
            always = torch.zeros_like(groups)
            columns = [groups, graph.objects, always, always]
        if which == "raw":
            columns = [column[:0] for column in columns]
        if identical and which == "time-aware":
            distinct = torch.unique(torch.stack(columns), dim=1)
            return AnswersOfInterval.of_intervals(graph.num_relations, distinct, span)
        return cls.of_intervals(graph.num_relations, merge_intervals(columns, span), span)

    @classmethod
    def of_intervals(
        cls, num_relations: int, intervals: Iterable[Tensor], span: int
    ) -> "KnownAnswers":
        """Index groups, answers, first and last ticks; no tick known is `span` or later."""
        groups, answers, firsts, lasts = intervals
        keys, order = torch.sort(groups * (span + 1) + firsts, stable=True)
        longest = int((lasts - firsts).max()) if len(keys) else 0
        return cls(num_relations, keys, lasts[order], answers[order], span + 1, longest)

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """The known answers of a batch: the row of the query each belongs to, and the entity."""
        rows, places = expand_ranges(*self._ranges(self._groups(queries), queries.times))
        holds = self.lasts[places] >= self._ticks(queries.times)[rows]
        return rows[holds], self.answers[places[holds]].long()

    def hold(self, facts: FactColumns) -> Tensor:
        """Which facts are known to be true at their time."""
        rows, answers = self.look_up(facts.ask_objects())
        held = torch.zeros(len(facts), dtype=torch.bool, device=answers.device)
        held[rows[answers == facts.objects[rows]]] = True
        return held

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        """The known answers of each query besides this one, in as many columns for any batch.

        The other columns hold the given answer.
        """
        starts, ends = self._ranges(self._groups(queries), queries.times)
        places = starts[:, None] + torch.arange(self.most_others, device=starts.device)
        in_range = places < ends[:, None]
        places = places.clamp(max=max(len(self.keys) - 1, 0))
        holds = in_range & (self.lasts[places] >= self._ticks(queries.times)[:, None])
        return torch.where(holds, self.answers[places].long(), answers[:, None])

    @cached_property
    def most_others(self) -> int:
        """How many columns others have; none are counted where a batch has as many as it needs."""
        groups = torch.div(self.keys, self.width, rounding_mode="floor")
        starts, ends = self._ranges(groups, self.keys % self.width)
        return int((ends - starts).max()) if len(starts) else 0

    def _groups(self, queries: Queries) -> Tensor:
        return queries.subjects.long() * (2 * self.num_relations) + queries.relations

    def _ranges(self, groups: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        """The places of the answers that may hold at a time."""
        keys, ticks = groups * self.width, self._ticks(times)
        starts = torch.searchsorted(self.keys, keys + (ticks - self.longest).clamp(min=0))
        ends = torch.searchsorted(self.keys, keys + ticks, right=True)
        # Before the first tick nothing holds, unless time does not matter.
        return starts, torch.where((times < 0) & (self.width > 1), starts, ends)

    def _ticks(self, times: Tensor) -> Tensor:
        return times.long().clamp(min=0, max=self.width - 1)


@dataclass(frozen=True, eq=False)
class AnswersOfInterval(KnownAnswers):
    """Known answers that hold over the very interval of a query."""

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        assert isinstance(queries, IntervalQueries)
        firsts = self._groups(queries) * self.width + self._ticks(queries.firsts)
        rows, places = look_up(self.keys, firsts)
        same = self.lasts[places] == self._ticks(queries.lasts)[rows]
        return rows[same], self.answers[places[same]].long()


@dataclass(frozen=True, eq=False)
class AnswersInGraph(KnownAnswers):
    """Known answers read from a stored graph itself, which is too large for a second index.

    The facts that come in to the subject of a query are looked through: those of its time, or all.
    """

    graph: TemporalGraph
    which: Filter

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        graph, subjects, times = self.graph, queries.subjects.long(), queries.times.long()
        starts, ends = graph.offsets[subjects], graph.offsets[subjects + 1]
        if self.which == "time-aware":
            seen = (times >= 0) & (times < graph.span)
            starts = torch.where(seen, graph.ends_before(subjects, times), ends)
            ends = torch.where(seen, graph.ends_before(subjects, times + 1), ends)
        rows, positions = expand_ranges(starts, starts if self.which == "raw" else ends)
        wanted = reciprocal_of(queries.relations, graph.num_relations)[rows]
        fits = graph.relations[positions] == wanted
        # Each once, in the order of the rows, then of the answers.
        cells = rows[fits] * graph.num_entities + graph.subjects[positions[fits]]
        rows = torch.unique(cells)
        return torch.div(rows, graph.num_entities, rounding_mode="floor"), rows % graph.num_entities

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        """As many columns as this batch needs."""
        rows, known = self.look_up(queries)
        counts = torch.bincount(rows, minlength=len(queries))
        places = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
        width = int(counts.max()) if len(counts) else 0
        others = answers[:, None].repeat(1, width)
        others[rows, places] = known
        return others


def known_answers(
    dataset: Dataset,
    device: torch.device | str,
    identical: bool = False,
    everything: TemporalGraph | None = None,
) -> dict[Filter, KnownAnswers]:
    """The true answers of all splits, indexed for every filter.

    If `identical`, the time-aware filter knows the answers over the interval of a query alone. A
    graph of all facts may be given, if there is one.
    """
    if everything is None:
        everything = TemporalGraph.of_context(dataset, "all")
    return {which: KnownAnswers.of(everything, which, identical).to(device) for which in FILTERS}


def known_in(facts: Facts, dataset: Dataset) -> KnownAnswers:
    """The answers that some facts of a data set know at each time."""
    graph = TemporalGraph.of(facts, len(dataset.entities), len(dataset.relations))
    return KnownAnswers.of(graph, "time-aware")


def merge_intervals(columns: Sequence[Tensor], span: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Join the intervals of each group and value that overlap; no tick known is `span` or later.

    The columns are groups, values, first and last ticks; they come back sorted in this order.

    >>> zero = torch.zeros(3, dtype=torch.int64)
    >>> first, last = torch.tensor([4, 0, 2]), torch.tensor([9, 2, 3])
    >>> *_, firsts, lasts = merge_intervals([zero, zero, first, last], 10)
    >>> firsts.tolist(), lasts.tolist()
    ([0, 4], [3, 9])
    """
    groups, values, firsts, lasts = columns
    columns = [groups, values, firsts.long(), lasts.long().clamp(max=span)]
    sizes = [int(column.max()) + 1 if len(column) else 1 for column in columns]
    groups, values, firsts, lasts = sort_rows(columns, sizes)
    width = span + 1
    pairs = torch.ones_like(groups)
    pairs[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    starts = pairs.cumsum(0) * width
    # How far the intervals of a pair reach up to here; the reach of another pair is below.
    reach = torch.cummax(starts + lasts, 0).values if len(starts) else starts
    is_new = torch.ones_like(groups, dtype=torch.bool)
    is_new[1:] = starts[1:] + firsts[1:] > reach[:-1]
    is_end = torch.ones_like(is_new)
    is_end[:-1] = is_new[1:]
    return groups[is_new], values[is_new], firsts[is_new], (reach - starts)[is_end]


def require_keys(num_groups: int, span: int) -> None:
    """Refuse times so far apart that keys, group · span + time, would not fit into 64 bits."""
    if num_groups * span >= 2**63:
        raise InputError(
            f"the last time is {span - 1:,} ticks after the first, too far for so many entities "
            "and relations; leave such times out"
        )
