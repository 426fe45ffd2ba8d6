"""Two rules without training, as a floor for every trained model.

`seen` asks whether the answer was true at any time; `decayed-copy` adds up the subject's facts with
each candidate, of which near ones count more. Both use only the context.
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
        index.shares.add_to(scores, queries.relations, index.share)
        counts = index.together.counts * self.settings.together
        index.together.add_to(scores, queries.subjects, counts)
        seen = torch.full_like(index.same_relation.counts, self.settings.seen)
        index.same_relation.add_to(scores, _subject_relation(queries, context), seen)
        return scores


@dataclass(frozen=True)
class DecayedCopySettings(ModelSettings):
    scale: float = 30.0
    """Ticks after which a fact counts 1/e as much."""

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
        self._index = PerContext(
            lambda context: [_DecayedSums(one, settings.scale) for one in _group_facts(context)]
        )

    def add_entities(self, count: int) -> None:
        """The context knows them."""

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        index = self._index.of(context)
        scores = _zeros(queries, context)
        bonus = self.settings.same_relation - 1
        all_keys = queries.subjects, _subject_relation(queries, context)
        for sums, keys, weight in zip(index, all_keys, (1.0, bonus), strict=True):
            groups = sums.groups
            rows, found = look_up(groups.keys, keys.long())
            decayed = sums.at(found, queries.times[rows])
            votes = weight * (decayed + self.settings.lasting * groups.counts[found])
            scores[rows, groups.answers[found]] += votes
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
        self.counts = counts.double()
        self.ends = counts.cumsum(0)
        self.starts = self.ends - counts
        self.times = context.times[order].long()
        self.of_fact = torch.repeat_interleave(counts)

    def add_to(self, scores: Tensor, keys: Tensor, values: Tensor) -> None:
        """Add each group's value to the scores of the queries with its key."""
        rows, found = look_up(self.keys, keys.long())
        scores[rows, self.answers[found]] += values[found]


class _DecayedSums:
    """Σ exp(−|t − t'| / scale) over the times t' of a group's facts, at any t, without a loop.

    Seen from one fact, all facts before it decay alike, and so do all facts after it: two running
    sums per fact, computed once, are enough for every t.
    """

    def __init__(self, groups: _Groups, scale: float) -> None:
        self.groups, self.scale = groups, scale
        self.span = int(groups.times.max()) + 1 if len(groups.times) else 1
        self.keys = groups.of_fact * self.span + groups.times
        self.before = self._running_sums(groups.times, groups.of_fact)
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

    def at(self, found: Tensor, times: Tensor) -> Tensor:
        """The sums of these groups at these times."""
        keys = found * self.span + times.clamp(min=-1, max=self.span - 1)
        after = torch.searchsorted(self.keys, keys, right=True)
        has_before, has_after = after > self.groups.starts[found], after < self.groups.ends[found]
        last = (after - 1).clamp(min=0)
        first = after.clamp(max=len(self.keys) - 1)
        before_sums = self.before[last] * self._decay(times - self.groups.times[last])
        after_sums = self.after[first] * self._decay(self.groups.times[first] - times)
        sums = torch.where(has_before, before_sums, 0.0) + torch.where(has_after, after_sums, 0.0)
        # Rounded to seven digits: equal distances must tie, in whatever order they were added.
        return sums.float().double()


class _SeenIndex:
    def __init__(self, context: TemporalGraph) -> None:
        self.together, self.same_relation = _group_facts(context)
        self.shares = _Groups(context.relations, context)
        per_relation = torch.bincount(context.relations, minlength=2 * context.num_relations)
        self.share = self.shares.counts / per_relation[self.shares.keys]


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
