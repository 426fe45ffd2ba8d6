"""Two rules without training, as a floor for every trained model.

`seen` asks whether the answer was true at any time; `decayed-copy` adds up the subject's facts with
each candidate, of which near ones count more. Both use only the context, and where that is the past
only what was true before the query's time.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.config import require_positive
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.graph.ragged import look_up
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model, ModelSettings, PerContext


@dataclass(frozen=True)
class SeenSettings(ModelSettings):
    seen: float = 1e6
    """Score of an answer that the context holds for this subject and relation, at any time."""

    together: float = 1e2
    """Score of each fact between subject and answer, whatever its relation."""


class Seen(Model):
    """Whether seen before, then how often together, then how common under the relation."""

    Settings = SeenSettings
    reads_context = True
    settings: SeenSettings

    def __init__(self, settings: SeenSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        self._index = PerContext(_SeenIndex)

    def add_entities(self, count: int) -> None:
        """The context knows them."""

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        index = self._index.of(context)
        scores = _zeros(queries, context)
        rows, answers, counts = index.by_relation.look_up(queries.relations, queries.times)
        totals = counts.new_zeros(len(queries)).index_add_(0, rows, counts)
        scores[rows, answers] += counts / totals[rows].clamp(min=1)
        rows, answers, counts = index.together.look_up(queries.subjects, queries.times)
        scores[rows, answers] += counts * self.settings.together
        keys = _subject_relation(queries, context)
        rows, answers, counts = index.same_relation.look_up(keys, queries.times)
        scores[rows, answers] += (counts > 0) * self.settings.seen
        return scores


@dataclass(frozen=True)
class DecayedCopySettings(ModelSettings):
    scale: float = 30.0
    """Ticks, or days if ticks are shorter, after which a fact counts 1/e as much."""

    lasting: float = 1e-3
    """What every fact counts at least, however far away."""

    same_relation: float = 10.0
    """How many times as much a fact of the query's own relation counts."""

    def __post_init__(self) -> None:
        require_positive(self, "scale")


class DecayedCopy(Model):
    """The sum of (10 if same relation else 1)·(exp(−|Δ|/30) + 0.001) over the facts of s with o."""

    Settings = DecayedCopySettings
    reads_context = True
    settings: DecayedCopySettings

    def __init__(self, settings: DecayedCopySettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        scale = settings.scale * dataset.timeline.ticks_per_day
        self._index = PerContext(
            lambda context: [_DecayedSums(groups, scale) for groups in _group_facts(context)]
        )

    def add_entities(self, count: int) -> None:
        """The context knows them."""

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        index = self._index.of(context)
        scores = _zeros(queries, context)
        bonus = self.settings.same_relation - 1
        all_keys = queries.subjects, _subject_relation(queries, context)
        for sums, keys, weight in zip(index, all_keys, (1.0, bonus), strict=True):
            rows, answers, votes = sums.look_up(keys, queries.times, self.settings.lasting)
            scores[rows, answers] += weight * votes
        return scores


class _Groups:
    """The distinct answers under each key, and the facts behind each, sorted by time."""

    def __init__(self, keys: Tensor, context: TemporalGraph) -> None:
        # A graph's facts are sorted by object and time; a stable sort keeps each group sorted.
        num_entities = context.num_entities
        pairs = keys.long() * num_entities + context.objects
        order = torch.argsort(pairs, stable=True)
        distinct, counts = torch.unique_consecutive(pairs[order], return_counts=True)
        self.keys = torch.div(distinct, num_entities, rounding_mode="floor")
        self.answers = distinct % num_entities
        self.counts: Tensor = counts.double()
        self.ends: Tensor = counts.cumsum(0)
        self.starts: Tensor = self.ends - counts
        self.times = context.times[order].long()
        self.of_fact = torch.repeat_interleave(counts)
        self.span, self.past_only = context.span + 1, context.past_only
        self.moments = self.of_fact * self.span + self.times
        # The last ticks of each group's facts, in their own order.
        self.last_moments, self.last_times = self.moments, self.times
        if context.has_intervals:
            last_times = context.ends[order].long().clamp(max=context.span)
            self.last_moments = torch.sort(self.of_fact * self.span + last_times).values
            self.last_times = self.last_moments % self.span

    def look_up(self, keys: Tensor, times: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The answers under the key of each query: its row, the answer, and how many facts."""
        rows, found = look_up(self.keys, keys.long())
        return rows, self.answers[found], self.count(found, times[rows])

    def count(self, found: Tensor, times: Tensor) -> Tensor:
        """How many facts of these groups may be seen at these times."""
        if not self.past_only:
            return self.counts[found]
        return (self.ends_before(found, times) - self.starts[found]).double()

    def ends_before(self, found: Tensor, times: Tensor) -> Tensor:
        """The end of the facts of these groups that begin before these times."""
        return torch.searchsorted(self.moments, self._moments(found, times))

    def over_before(self, found: Tensor, times: Tensor) -> Tensor:
        """The end of the facts of these groups, in the order of their ends, that end before."""
        return torch.searchsorted(self.last_moments, self._moments(found, times))

    def _moments(self, found: Tensor, times: Tensor) -> Tensor:
        return found * self.span + times.clamp(min=0, max=self.span - 1)


class _DecayedSums:
    """Σ exp(−|t − t'| / scale) over the times t' of a group's facts, at any t, without a loop.

    The t' of an interval is its moment nearest to t: while it holds, it counts 1. Seen from one
    fact, all facts that are over decay alike, and so do all facts to come: two running sums per
    fact, computed once, are enough for every t.
    """

    def __init__(self, groups: _Groups, scale: float) -> None:
        self.groups, self.scale = groups, scale
        self.before = self._running_sums(groups.last_times, groups.of_fact)
        self.after = self._running_sums(-groups.times.flip(0), groups.of_fact.flip(0)).flip(0)

    def look_up(self, keys: Tensor, times: Tensor, lasting: float) -> tuple[Tensor, Tensor, Tensor]:
        """The answers under the key of each query: its row, the answer, and its decayed facts."""
        rows, found = look_up(self.groups.keys, keys.long())
        counts = self.groups.count(found, times[rows])
        votes = self.at(found, times[rows]) + lasting * counts
        return rows, self.groups.answers[found], votes

    def _running_sums(self, times: Tensor, groups: Tensor) -> Tensor:
        """For each fact the decayed sum over it and those before it, by doubling the reach."""
        sums = torch.ones(len(times), dtype=torch.float64, device=times.device)
        reach = 1
        while reach < len(times):
            together = groups[reach:] == groups[:-reach]
            if not together.any():
                break
            decay = self._decay(times[reach:] - times[:-reach])
            sums[reach:] += torch.where(together, decay * sums[:-reach], 0.0)
            reach *= 2
        return sums

    def _decay(self, distances: Tensor) -> Tensor:
        return torch.exp(distances.double().clamp(min=0) / -self.scale)

    def at(self, found: Tensor, times: Tensor) -> Tensor:
        """The sums of these groups at these times, over the facts that may be seen then."""
        groups = self.groups
        begun = groups.ends_before(found, times if groups.past_only else times + 1)
        over = groups.over_before(found, times if groups.past_only else times + 1)
        has_before, has_after = over > groups.starts[found], begun < groups.ends[found]
        if groups.past_only:
            has_after = torch.zeros_like(has_after)
        last = (over - 1).clamp(min=0)
        first = begun.clamp(max=len(groups.times) - 1)
        before_sums = self.before[last] * self._decay(times - groups.last_times[last])
        after_sums = self.after[first] * self._decay(groups.times[first] - times)
        sums = torch.where(has_before, before_sums, 0.0) + torch.where(has_after, after_sums, 0.0)
        sums = sums + (begun - over)
        # Rounded to seven digits: equal distances must tie, in whatever order they were added.
        return sums.float().double()


class _SeenIndex:
    def __init__(self, context: TemporalGraph) -> None:
        self.together, self.same_relation = _group_facts(context)
        self.by_relation = _Groups(context.relations, context)


def _group_facts(context: TemporalGraph) -> tuple[_Groups, _Groups]:
    """The context's facts by subject, and by subject and relation."""
    keys = context.subjects, _subject_relation(context, context)
    return _Groups(keys[0], context), _Groups(keys[1], context)


def _subject_relation(asked: Queries | TemporalGraph, context: TemporalGraph) -> Tensor:
    return asked.subjects.long() * (2 * context.num_relations) + asked.relations


def _zeros(queries: Queries, context: TemporalGraph) -> Tensor:
    # Double precision: the terms of `seen` lie ten powers of ten apart.
    shape = (len(queries), context.num_entities)
    return torch.zeros(shape, dtype=torch.float64, device=context.device)
