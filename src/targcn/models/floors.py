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
        self._index = PerContext(
            lambda context: (_Groups(context.relations, context), *_group_facts(context))
        )

    def add_entities(self, count: int) -> None:
        """The context knows them."""

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        by_relation, together, same_relation = self._index.of(context)
        scores = _zeros(queries, context)
        rows, _, answers, counts = by_relation.look_up(queries.relations, queries.times)
        totals = counts.new_zeros(len(queries)).index_add_(0, rows, counts)
        scores[rows, answers] += counts / totals[rows].clamp(min=1)
        rows, _, answers, counts = together.look_up(queries.subjects, queries.times)
        scores[rows, answers] += counts * self.settings.together
        keys = _subject_relation(queries, context)
        rows, _, answers, counts = same_relation.look_up(keys, queries.times)
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
            rows, groups, answers, counts = sums.groups.look_up(keys, queries.times)
            votes = sums.at(groups, queries.times[rows]) + self.settings.lasting * counts
            scores[rows, answers] += weight * votes
        return scores


class _Groups:
    """The distinct answers under each key, and the facts behind each, sorted by time."""

    def __init__(self, keys: Tensor, context: TemporalGraph) -> None:
        # A graph's facts are sorted by object and time; a stable sort keeps each group sorted.
        pairs = keys.long() * context.num_entities + context.objects
        order = torch.argsort(pairs, stable=True)
        distinct, self.of_fact, counts = torch.unique_consecutive(
            pairs[order], return_inverse=True, return_counts=True
        )
        self.keys = distinct // context.num_entities
        self.answers = distinct % context.num_entities
        self.ends: Tensor = counts.cumsum(0)
        self.starts: Tensor = self.ends - counts
        self.span, self.past_only = context.span + 1, context.past_only
        self.times = context.times[order].long()
        self.moments = self.of_fact * self.span + self.times
        # The last ticks of each group's facts, in their own order.
        last_times = context.ends[order].long().clamp(max=context.span)
        self.last_moments = torch.sort(self.of_fact * self.span + last_times).values
        self.last_times = self.last_moments % self.span

    def look_up(self, keys: Tensor, times: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The groups under the key of each query: its row, group, answer, and how many facts."""
        rows, groups = look_up(self.keys, keys.long())
        ends = self.begun(groups, times[rows]) if self.past_only else self.ends[groups]
        return rows, groups, self.answers[groups], (ends - self.starts[groups]).double()

    def begun(self, groups: Tensor, times: Tensor) -> Tensor:
        """The end of the facts of these groups that begin before these times."""
        return torch.searchsorted(self.moments, self._moments(groups, times))

    def over(self, groups: Tensor, times: Tensor) -> Tensor:
        """The end of the facts of these groups, in the order of their ends, that end before."""
        return torch.searchsorted(self.last_moments, self._moments(groups, times))

    def _moments(self, groups: Tensor, times: Tensor) -> Tensor:
        return groups * self.span + times.clamp(min=0, max=self.span - 1)


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

    def at(self, which: Tensor, times: Tensor) -> Tensor:
        """The sums of these groups at these times, over the facts that may be seen then."""
        groups = self.groups
        now = times if groups.past_only else times + 1
        begun, over = groups.begun(which, now), groups.over(which, now)
        last, first = (over - 1).clamp(min=0), begun.clamp(max=len(groups.times) - 1)
        before = self.before[last] * self._decay(times - groups.last_times[last])
        sums = torch.where(over > groups.starts[which], before, 0.0)
        if not groups.past_only:
            after = self.after[first] * self._decay(groups.times[first] - times)
            sums = sums + torch.where(begun < groups.ends[which], after, 0.0)
        # Rounded to seven digits: equal distances must tie, in whatever order they were added.
        return (sums + (begun - over)).float().double()


def _group_facts(context: TemporalGraph) -> tuple[_Groups, _Groups]:
    """The context's facts by subject, and by subject and relation."""
    return _Groups(context.subjects, context), _Groups(_subject_relation(context, context), context)


def _subject_relation(asked: Queries | TemporalGraph, context: TemporalGraph) -> Tensor:
    return asked.subjects.long() * (2 * context.num_relations) + asked.relations


def _zeros(queries: Queries, context: TemporalGraph) -> Tensor:
    # Double precision: the terms of `seen` lie ten powers of ten apart.
    shape = (len(queries), context.num_entities)
    return torch.zeros(shape, dtype=torch.float64, device=context.device)
