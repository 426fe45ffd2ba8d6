"""Questions for a relation or a time: each candidate is put in, and the object is scored with it.

- A **time** t scores as the object does at t: score(s, r, o, t).
- A **relation** r is judged by Bayes' rule: log p(o | s, r, t) + log p(r | s), where the prior
  p(r | s) counts the facts of the context. Without probabilities it is the object's score alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.evaluation.filters import FILTERS, Filter, KnownAnswers
from targcn.evaluation.ranking import in_batches, rows_at_once
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import FactColumns, Queries, time_order
from targcn.graph.ragged import expand_ranges
from targcn.graph.temporal_graph import TemporalGraph, find_first
from targcn.models.base import Model

# What stands in the open place of a question that is no entity.
Kind = Literal["relation", "time"]
KINDS: Final[tuple[Kind, ...]] = ("relation", "time")
# So many facts of anybody count as much as the subject's own in the prior of relations.
SMOOTHING: Final = 10.0


@dataclass(frozen=True, eq=False)
class Candidates(Columns):
    """All relations, or all times of the data, sorted."""

    kind: Kind
    ids: Tensor

    @classmethod
    def of(cls, dataset: Dataset, kind: Kind) -> "Candidates":
        if kind == "relation":
            return cls(kind, torch.arange(len(dataset.relations)))
        return cls(kind, torch.tensor(dataset.timeline.ticks))

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, facts: FactColumns) -> Tensor:
        """Which candidate stands in each of these facts; one of them must."""
        given = facts.relations if self.kind == "relation" else facts.times
        return torch.searchsorted(self.ids, given)

    def queries(self, facts: FactColumns, candidates: Tensor) -> Queries:
        """Queries for the objects of facts, each with a candidate in its place."""
        given = self.ids[candidates]
        if self.kind == "relation":
            return Queries(facts.subjects, given, facts.times)
        return Queries(facts.subjects, facts.relations, given)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Of times there is no static one: what is true at any time is all that is asked for."""
        return FILTERS if self.kind == "relation" else ("raw", "time-aware")

    def known_of(
        self, facts: FactColumns, known: Mapping[Filter, KnownAnswers]
    ) -> dict[Filter, tuple[Tensor, Tensor]]:
        """The row of a fact and a candidate each, with which its object is a known answer."""
        num = len(self)
        cells = torch.arange(len(facts) * num, device=facts.subjects.device)
        queries = self.queries(facts[cells // num], cells % num)
        pairs = {}
        for which in self.filters:
            rows, answers = known[which].look_up(queries)
            cells = rows[answers == facts.objects[rows // num]]
            pairs[which] = cells // num, cells % num
        return pairs


def score_candidates(
    model: Model, facts: FactColumns, candidates: Candidates, context: TemporalGraph
) -> Tensor:
    """The score of every candidate, one row per fact; only a batch of them is computed at once."""
    num = len(candidates)
    by_bayes = candidates.kind == "relation" and model.has_probabilities

    def ask(cells: Tensor) -> Queries:
        return candidates.queries(facts[cells // num], cells % num)

    order = time_order(ask(torch.arange(len(facts) * num, device=context.device)).times)

    def score(rows: slice) -> Tensor:
        cells = order[rows]
        scores: Tensor = model(ask(cells), context)
        logs = model.log_probabilities(scores) if by_bayes else None
        values = scores if logs is None else logs
        return values.gather(1, facts.objects[cells // num, None])[:, 0].double()

    size = rows_at_once(context.num_entities, context.device)
    in_order = torch.cat(list(in_batches(score, len(order), size)))
    scores = torch.empty_like(in_order).index_copy_(0, order, in_order).view(-1, num)
    return scores + relation_prior(facts, context) if by_bayes else scores


def relation_prior(facts: FactColumns, context: TemporalGraph) -> Tensor:
    """log p(r | s): the share of each relation in the subject's facts of the context, smoothed.

    Where the context is the past, the facts before each fact's time are counted.
    """
    num, span = context.num_relations, context.span
    ends = facts.times if context.past_only else torch.full_like(facts.times, span)
    relations = torch.arange(num, device=context.device)
    before, after = (
        find_first(context.by_relation, span, relations, times[:, None])
        for times in (torch.zeros_like(ends), ends)
    )
    of_anybody = (after - before).double()
    # The facts of a subject come in to it under reciprocal relations.
    starts = context.offsets[facts.subjects.long()]
    rows, places = expand_ranges(starts, context.ends_before(facts.subjects, ends))
    under = context.relations[places].long() - num
    cells = (rows * num + under)[under >= 0]
    counts = torch.bincount(cells, minlength=len(facts) * num).view(-1, num).double()
    shares = (of_anybody + 1) / (of_anybody + 1).sum(1, keepdim=True)
    return ((counts + SMOOTHING * shares) / (counts.sum(1, keepdim=True) + SMOOTHING)).log()
