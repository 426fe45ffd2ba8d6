"""The filters: known true answers, of whatever split, which must not count against a model.

`static` knows what is true at any time, `time-aware` what is true at the query's time, and `raw`
knows nothing. They are different tasks: figures under different filters never share a column.
ranking.py subtracts the known answers from the counts; the target itself stays.

A fact that holds over an interval is true at each of its ticks. If such facts are asked about once,
for all of their ticks, `identical` leaves to the time-aware filter what holds over the same
interval alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.lanes import Lanes, merge_intervals
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.ragged import expand_ranges, look_up, sort_rows
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of

Filter = Literal["raw", "static", "time-aware"]
FILTERS: Final[tuple[Filter, ...]] = ("raw", "static", "time-aware")


@dataclass(frozen=True, eq=False)
class KnownAnswers(Columns):
    """Every known answer once, sorted by the query it answers; a look-up is two searches."""

    keys: Tensor
    answers: Tensor
    num_relations: int
    # One tick past the last one known, or 0 where the time of a query does not matter.
    end_of_time: int

    @classmethod
    def of(cls, graph: TemporalGraph, which: Filter) -> "KnownAnswers":
        """Index the true answers among these facts."""
        if graph.folder is not None:
            return AnswersInGraph.of_stored(graph, which)
        if which == "time-aware" and graph.has_intervals:
            return AnswersOverTime.of_intervals(graph)
        end_of_time = graph.span if which == "time-aware" else 0
        num_entities, num_relations = graph.num_entities, graph.num_relations
        require_keys(num_entities * 2 * num_relations, end_of_time)
        known = cls(graph.offsets[:0], graph.subjects[:0], num_relations, end_of_time)
        if which == "raw":
            return known
        times = graph.times if end_of_time else torch.zeros_like(graph.times)
        subjects, relations, times, answers = sort_rows(
            [graph.subjects, graph.relations, times, graph.objects],
            [num_entities, 2 * num_relations, max(end_of_time, 1), num_entities],
        )
        keys = known._keys(Queries(subjects, relations, times))
        first = torch.ones_like(keys, dtype=torch.bool)
        first[1:] = (keys[1:] != keys[:-1]) | (answers[1:] != answers[:-1])
        return replace(known, keys=keys[first], answers=answers[first])

    def _keys(self, queries: Queries) -> Tensor:
        keys = queries.subjects.long() * (2 * self.num_relations) + queries.relations
        if self.end_of_time == 0:
            return keys
        times = queries.times.long()
        seen = (times >= 0) & (times < self.end_of_time)
        return torch.where(seen, keys * self.end_of_time + times, -1)

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """The known answers of a batch: the row of the query each belongs to, and the entity."""
        rows, positions = look_up(self.keys, self._keys(queries))
        return rows, self.answers[positions].long()

    @cached_property
    def most_others(self) -> int:
        """How many known answers a query has at most, besides one of them."""
        counts = torch.unique_consecutive(self.keys, return_counts=True)[1]
        return max(int(counts.max()) - 1, 0) if len(counts) else 0

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        """The known answers of each query besides this known one, in as many columns for any batch.

        Rows with fewer are filled up with the given answer.
        """
        keys = self._keys(queries)
        starts = torch.searchsorted(self.keys, keys)[:, None]
        counts = torch.searchsorted(self.keys, keys, right=True)[:, None] - starts
        columns = torch.arange(self.most_others, device=keys.device)
        # The answers of a query are sorted: from the given one on, each makes room for the next.
        own, last = answers[:, None], max(len(self.answers) - 1, 0)
        found = self.answers[(starts + columns).clamp(max=last)].long()
        following = self.answers[(starts + columns + 1).clamp(max=last)].long()
        others = torch.where(found < own, found, following)
        return torch.where(columns < counts - 1, others, own)


@dataclass(frozen=True, eq=False)
class AnswersInGraph(KnownAnswers):
    """Known answers read from a stored graph itself, which is too large for a second index.

    The facts that come in to the subject of a query are looked through: those of its time, or all.
    """

    graph: TemporalGraph

    @classmethod
    def of_stored(cls, graph: TemporalGraph, which: Filter) -> "AnswersInGraph":
        end_of_time = {"raw": -1, "static": 0}.get(which, graph.span)
        empty = graph.offsets[:0]
        return cls(empty, empty, graph.num_relations, end_of_time, graph)

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        graph, subjects, times = self.graph, queries.subjects.long(), queries.times.long()
        starts, ends = graph.offsets[subjects], graph.offsets[subjects + 1]
        if self.end_of_time > 0:
            seen = (times >= 0) & (times < self.end_of_time)
            starts = torch.where(seen, graph.ends_before(subjects, times), ends)
            ends = torch.where(seen, graph.ends_before(subjects, times + 1), ends)
        rows, positions = expand_ranges(starts, starts if self.end_of_time < 0 else ends)
        wanted = reciprocal_of(queries.relations, graph.num_relations)[rows]
        fits = graph.relations[positions] == wanted
        # Each once, in the order of the rows, then of the answers.
        cells = rows[fits] * graph.num_entities + graph.subjects[positions[fits]]
        rows = torch.unique(cells)
        return torch.div(rows, graph.num_entities, rounding_mode="floor"), rows % graph.num_entities

    @cached_property
    def most_others(self) -> int:
        return 0

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        """As many columns as this batch needs."""
        rows, known = self.look_up(queries)
        is_other = known != answers[rows]
        rows, known = rows[is_other], known[is_other]
        counts = torch.bincount(rows, minlength=len(queries))
        places = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
        width = int(counts.max()) if len(counts) else 0
        others = answers[:, None].expand(-1, width).contiguous()
        others[rows, places] = known
        return others


@dataclass(frozen=True, eq=False)
class AnswersOverTime(KnownAnswers):
    """Known answers over intervals: those that hold at the time of a query, each once."""

    lanes: Lanes

    @classmethod
    def of_intervals(cls, graph: TemporalGraph) -> "AnswersOverTime":
        require_keys(len(graph), graph.span + 1)
        groups = graph.subjects.long() * (2 * graph.num_relations) + graph.relations
        merged = merge_intervals(groups, graph.objects, graph.times, graph.ends, graph.span)
        lanes = Lanes.of(merged, graph.span)
        return cls(lanes.keys, lanes.values, graph.num_relations, 0, lanes)

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        rows, answers = self.lanes.look_up(self._keys(queries), queries.times)
        return rows, answers.long()

    @cached_property
    def most_others(self) -> int:
        return max(self.lanes.most_at_once - 1, 0)

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        found, holds = self.lanes.columns(self._keys(queries), queries.times)
        own, past_all = answers[:, None], torch.iinfo(torch.int64).max
        others = torch.where(holds & (found != own), found.long(), past_all)
        others = others.sort(dim=1).values[:, : self.most_others]
        return torch.where(others == past_all, own, others)


@dataclass(frozen=True, eq=False)
class IntervalQueries(Queries):
    """Queries about facts that hold over intervals; `times` are the ticks they are asked at."""

    firsts: Tensor
    # The last ticks; later than all that are known if open.
    lasts: Tensor


@dataclass(frozen=True, eq=False)
class AnswersOfInterval(KnownAnswers):
    """Known answers that hold over the very interval of a query."""

    # The distinct intervals, sorted: first tick · (span + 1) + last tick.
    intervals: Tensor
    span: int

    @classmethod
    def of_intervals(cls, graph: TemporalGraph) -> "AnswersOfInterval":
        require_keys(graph.span, graph.span + 1)
        known = cls(
            graph.offsets[:0],
            graph.objects[:0],
            graph.num_relations,
            0,
            torch.unique(_join(graph.times, graph.ends, graph.span)),
            graph.span,
        )
        require_keys(graph.num_entities * 2 * graph.num_relations, len(known.intervals))
        columns = graph.subjects, graph.relations, graph.times, graph.times, graph.ends
        rows = torch.stack([known._keys(IntervalQueries(*columns)), graph.objects.long()])
        keys, answers = torch.unique(rows, dim=1).contiguous()
        return replace(known, keys=keys, answers=answers)

    def _keys(self, queries: Queries) -> Tensor:
        assert isinstance(queries, IntervalQueries)
        wanted = _join(queries.firsts, queries.lasts, self.span)
        found = torch.searchsorted(self.intervals, wanted)
        exists = self.intervals[found.clamp(max=max(len(self.intervals) - 1, 0))] == wanted
        keys = queries.subjects.long() * (2 * self.num_relations) + queries.relations
        return torch.where(exists, keys * len(self.intervals) + found, -1)


def _join(firsts: Tensor, lasts: Tensor, span: int) -> Tensor:
    """One number for each interval; all open ends are `span`."""
    return firsts.long() * (span + 1) + lasts.long().clamp(max=span)


def require_keys(num_owners: int, span: int) -> None:
    """Refuse times so far apart that keys, owner · span + time, would not fit into 64 bits."""
    if num_owners * span >= 2**63:
        raise InputError(
            f"the last time is {span - 1:,} ticks after the first, too far for so many entities "
            "and relations; leave such times out"
        )


def known_answers(
    dataset: Dataset, device: torch.device | str, identical: bool = False
) -> dict[Filter, KnownAnswers]:
    """The true answers of all splits, indexed for every filter.

    If `identical`, the time-aware filter knows the answers over the interval of a query alone.
    """
    everything = TemporalGraph.of_context(dataset, "all")

    def index(which: Filter) -> KnownAnswers:
        if identical and which == "time-aware":
            return AnswersOfInterval.of_intervals(everything)
        return KnownAnswers.of(everything, which)

    return {which: index(which).to(device) for which in FILTERS}
