"""The filters: known true answers, of whatever split, which must not count against a model.

`static` knows what is true at any time, `time-aware` what is true at the query's time, and `raw`
knows nothing. They are different tasks: figures under different filters never share a column.
ranking.py subtracts the known answers from the counts; the target itself stays.

A fact that holds over an interval is true at each of its ticks. If such facts are asked about once,
for all of their ticks, `identical` leaves to the time-aware filter what holds over the same
interval alone.
"""

from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.evaluation.known import Intervals, KnownValues, merge_intervals, require_keys
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.ragged import expand_ranges
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
    """Every known answer once, found by the subject, the relation and the time of a query."""

    values: KnownValues
    num_relations: int

    @classmethod
    def of(cls, graph: TemporalGraph, which: Filter, identical: bool = False) -> "KnownAnswers":
        """Index the true answers among these facts."""
        if graph.folder is not None:
            return AnswersInGraph.of_stored(graph, which)
        span = graph.span if which == "time-aware" else 0
        require_keys(graph.num_entities * 2 * graph.num_relations, span + 1)
        groups = graph.subjects.long() * (2 * graph.num_relations) + graph.relations
        if which == "raw":
            return cls(KnownValues.at_any_time(groups[:0], groups[:0]), graph.num_relations)
        if which == "static":
            return cls(KnownValues.at_any_time(groups, graph.objects), graph.num_relations)
        if identical:
            rows = torch.stack([groups, graph.objects, graph.times, graph.ends.clamp(max=span)])
            values = KnownValues.over_time(Intervals(*torch.unique(rows, dim=1)), span)
            return AnswersOfInterval(values, graph.num_relations)
        merged = merge_intervals(groups, graph.objects, graph.times, graph.ends, span)
        return cls(KnownValues.over_time(merged, span), graph.num_relations)

    def _groups(self, queries: Queries) -> Tensor:
        return queries.subjects.long() * (2 * self.num_relations) + queries.relations

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """The known answers of a batch: the row of the query each belongs to, and the entity."""
        return self.values.look_up(self._groups(queries), queries.times)

    def others(self, queries: Queries, answers: Tensor) -> Tensor:
        """The known answers of each query besides this one, in as many columns for any batch.

        The other columns hold the given answer.
        """
        known, holds = self.values.columns(self._groups(queries), queries.times)
        return torch.where(holds, known, answers[:, None])

    @property
    def most_others(self) -> int:
        """How many columns others have; none are counted where a batch has as many as it needs."""
        return self.values.num_columns


@dataclass(frozen=True, eq=False)
class AnswersOfInterval(KnownAnswers):
    """Known answers that hold over the very interval of a query."""

    def look_up(self, queries: Queries) -> tuple[Tensor, Tensor]:
        assert isinstance(queries, IntervalQueries)
        groups = self._groups(queries)
        return self.values.look_up_interval(groups, queries.firsts, queries.lasts)


@dataclass(frozen=True, eq=False)
class AnswersInGraph(KnownAnswers):
    """Known answers read from a stored graph itself, which is too large for a second index.

    The facts that come in to the subject of a query are looked through: those of its time, or all.
    """

    graph: TemporalGraph
    which: Filter

    @classmethod
    def of_stored(cls, graph: TemporalGraph, which: Filter) -> "AnswersInGraph":
        nothing = KnownValues.at_any_time(graph.offsets[:0], graph.offsets[:0])
        return cls(nothing, graph.num_relations, graph, which)

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
