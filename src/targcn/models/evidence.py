"""Temporal evidence: a candidate's score is a sum over the facts that speak for it.

Every piece of evidence ends in one entity o and has a weight c. It is a fact of the subject, or a
path of two facts that starts with one of them. Then

    score(o) = log(1 + Σ exp c over the evidence that ends in o) + (p[r] + p'[s]) · q[o] + β[o].

No entity has a vector except in the last two terms, a small prior. If the settings say so, the
facts of the subject may also speak against the entities that they end in, with a second weight d:
log(1 + Σ exp d) is subtracted.

So a query is answered in three steps, which follow each other below: find the evidence, weigh it
(layers/evidence_weights.py), add it up.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.config import require_least, require_positive
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import HiddenFacts, hide_nearest
from targcn.graph.nearest import NearestFacts, nearest_of_entities
from targcn.graph.queries import Queries
from targcn.graph.ragged import take
from targcn.graph.random import combine, uniform
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models import evidence_candidates
from targcn.models.base import NO_ENTITY, Learner, ModelSettings, Shortlist, with_mean_rows
from targcn.models.evidence_candidates import (
    Rivals,
    distinct_of_rows,
    draw_rivals,
    estimated_cross_entropy,
    is_among,
    list_rivals,
)
from targcn.models.evidence_reasons import find_reasons, find_rules
from targcn.models.layers.buckets import TimeBuckets, typical_gap
from targcn.models.layers.evidence_weights import SCALE, FactWeights, PathWeights
from targcn.models.layers.losses import cross_entropy

# Pieces of evidence found at once; bounds memory, not results. A CPU's should fit its cache.
MOST_PIECES_AT_ONCE = {"cpu": 1 << 19, "cuda": 1 << 22}


@dataclass(frozen=True)
class EvidenceSettings(ModelSettings):
    """How much evidence is looked at, and the sizes of what is learned about it."""

    facts: int = 128
    """Facts of the subject, the nearest in time."""

    first_facts: int = 16
    """Facts of the subject that paths start with, those of the largest weight; 0: no paths."""

    second_facts: int = 16
    """Facts of the next entity that paths go on with, the nearest in time."""

    against: bool = False
    """Whether facts of the subject may also speak against the entities that they end in."""

    dim: int = 64
    """Hidden units that weigh a piece of evidence."""

    prior_dim: int = 128
    """Numbers per vector of the prior; 0: no prior."""

    prior_dropout: float = 0.5
    """Share of each query vector of the prior dropped in training."""

    fact_dropout: float = 0.15
    """Share of the subject's facts dropped in training."""

    candidates: int = 0
    """Entities drawn for the softmax of a training step, beside those with evidence; 0: all are in
    it. For a million entities and more (docs/scale.md)."""

    time_unit: float | None = None
    """Ticks to a unit of time: buckets are exact up to 8 units, then three per doubling; none: a
    third of the typical gap between the facts of an entity, at least one tick."""

    def __post_init__(self) -> None:
        require_least(self, facts=1, first_facts=0, second_facts=1)
        require_least(self, dim=1, prior_dim=0, candidates=0)
        if self.time_unit is not None:
            require_positive(self, "time_unit")
        for name in ("prior_dropout", "fact_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 0 up to below 1 was expected")


@dataclass(frozen=True, eq=False)
class EvidenceSample(Columns):
    """The evidence found for each query, one row per query."""

    facts: NearestFacts
    # The places among the facts that paths start with, and the facts that each goes on with.
    first_places: Tensor
    second: NearestFacts
    # Which numbers of the prior's query vector dropout keeps.
    kept: Tensor | None = None
    # If the softmax is estimated: what is drawn for it.
    rivals: Rivals | None = None


class Evidence(Learner):
    """Adds up the evidence for each candidate."""

    Settings = EvidenceSettings
    reads_context = True
    can_filter_loss = True
    # Which paths are looked at depends on the weights.
    samples_ahead = False
    about_new_entities = "are scored by their facts and the mean prior"
    settings: EvidenceSettings

    def __init__(self, settings: EvidenceSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        num_entities = len(dataset.entities)
        # With the reciprocal ones.
        num_directed = self.num_directed = 2 * len(dataset.relations)
        unit = settings.time_unit or max(typical_gap(dataset.train) / 3, 1.0)
        self.time_buckets = TimeBuckets(unit)
        self.fact_weights = FactWeights(num_directed, settings.dim, bias=-1.0)
        self.path_weights = PathWeights(num_directed, settings.dim, bias=-4.0)
        size = settings.prior_dim
        self.prior_relations = nn.Parameter(SCALE * torch.randn(num_directed, size))
        self.prior_subjects = nn.Parameter(SCALE * torch.randn(num_entities, size))
        self.prior_objects = nn.Parameter(SCALE * torch.randn(num_entities, size))
        for table in (self.prior_relations, self.prior_subjects, self.prior_objects):
            # Without numbers there is nothing to learn, and some kernels fail.
            table.requires_grad_(size > 0)
        self.prior_bias = nn.Parameter(torch.zeros(num_entities))
        if settings.against:
            self.against_weights = FactWeights(num_directed, settings.dim, bias=-4.0)
        # What they were listed for, and their biases and vectors: looked up anew for each question,
        # these would take longest.
        self._listed: tuple[tuple[int, ...], Rivals, Tensor, Tensor] | None = None

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        size = self.queries_at_once
        parts = [queries[first : first + size] for first in range(0, len(queries), size)]
        return torch.cat([self.score(part, self.find(part, context)) for part in parts])

    @property
    def queries_at_once(self) -> int:
        """For how many queries evidence is found at once."""
        width = self.settings.facts + self.settings.first_facts * self.settings.second_facts
        most = MOST_PIECES_AT_ONCE.get(self.prior_bias.device.type, MOST_PIECES_AT_ONCE["cpu"])
        return max(most // width, 1)

    # --- find the evidence ------------------------------------------------------------------

    @torch.no_grad()
    def find(
        self,
        queries: Queries,
        context: TemporalGraph,
        hidden: HiddenFacts | None = None,
        dropout_seeds: Tensor | None = None,
    ) -> EvidenceSample:
        """All evidence for some queries; a hidden fact is in the context, and counts nowhere."""
        facts = nearest_of_entities(context, queries.subjects, queries.times, self.settings.facts)
        facts = hide_nearest(facts, hidden, context)
        if dropout_seeds is not None:
            columns = torch.arange(facts.filled.shape[1], device=dropout_seeds.device)
            stays = uniform(dropout_seeds[:, None], columns) >= self.settings.fact_dropout
            facts = replace(facts, filled=facts.filled & stays)
        # Paths start with the facts of the largest weight.
        count = min(self.settings.first_facts, facts.filled.shape[1])
        weights = self.weigh_facts(queries, facts, self.fact_weights)
        first = torch.topk(weights, count, dim=1).indices
        if hidden is not None:
            hidden = hidden.map(lambda column: column.repeat_interleave(count))
        second = nearest_of_entities(
            context,
            facts.objects.gather(1, first).flatten(),
            queries.times.repeat_interleave(count),
            self.settings.second_facts,
        )
        second = hide_nearest(second, hidden, context)
        second = second.map(lambda column: column.view(*first.shape, column.shape[1]))
        goes_on = second.objects != queries.subjects[:, None, None]
        exists = facts.filled.gather(1, first)[..., None]
        second = replace(second, filled=second.filled & goes_on & exists)
        return EvidenceSample(facts, first, second)

    def ends(self, sample: EvidenceSample) -> Tensor:
        """The entity that each piece ends in, in the order of `weigh`; num_entities: no piece."""
        nothing = len(self.prior_bias)
        ends = [
            torch.where(near.filled, near.objects, nothing).flatten(1)
            for near in (sample.facts, sample.second)
        ]
        return torch.cat(ends, dim=1)

    # --- weigh it ---------------------------------------------------------------------------

    def weigh(self, queries: Queries, sample: EvidenceSample) -> Tensor:
        """The weight c of every piece of evidence: one row per query, the facts, then the paths.

        Where there is no evidence, it is −∞.
        """
        facts, second, times = sample.facts, sample.second, queries.times
        first_times = facts.times.gather(1, sample.first_places)
        of_paths = self.path_weights(
            queries.relations,
            facts.relations.gather(1, sample.first_places),
            self.time_buckets(first_times - times[:, None]),
            second.relations,
            self.time_buckets(second.times - times[:, None, None]),
        )
        of_paths = of_paths.masked_fill(~second.filled, -torch.inf).flatten(1)
        of_facts = self.weigh_facts(queries, facts, self.fact_weights)
        return torch.cat([of_facts, of_paths], dim=1)

    def weigh_facts(self, queries: Queries, facts: NearestFacts, weights: FactWeights) -> Tensor:
        """The weight, c or d, of every fact of the subject."""
        buckets = self.time_buckets(facts.times - queries.times[:, None])
        each: Tensor = weights(queries.relations, facts.relations, buckets)
        return each.masked_fill(~facts.filled, -torch.inf)

    # --- add it up --------------------------------------------------------------------------

    def score(self, queries: Queries, sample: EvidenceSample) -> Tensor:
        """The score of every entity, given the evidence that was found."""
        num_entities = len(self.prior_bias)
        # Where there is no evidence, exp(−∞) = 0 is added, whatever it is added to.
        places = self.ends(sample).clamp(max=num_entities - 1)
        prior_queries = self.prior_queries(queries, sample.kept)
        prior = torch.addmm(self.prior_bias, prior_queries, self.prior_objects.T)
        return self._add_up(queries, sample, places, num_entities) + prior

    def score_some(
        self,
        queries: Queries,
        sample: EvidenceSample,
        rivals: Rivals,
        bias: Tensor,
        vectors: Tensor,
        answers: Tensor | None = None,
    ) -> Shortlist:
        """The entities that evidence ends in, with the answers, then the rivals, and their scores.

        The rivals' own biases and vectors are given. An entity has one column with a score; what is
        left over has −∞.
        """
        nothing, ends = len(self.prior_bias), self.ends(sample)
        if answers is not None:
            ends = torch.cat([ends, answers[:, None]], dim=1)
        own, places = distinct_of_rows(ends, nothing)
        which = own.clamp(max=nothing - 1)
        prior_queries = self.prior_queries(queries, sample.kept)
        prior = functional.embedding(which, self.prior_objects) @ prior_queries[..., None]
        prior = prior.squeeze(2) + take(self.prior_bias, which)
        scores = self._add_up(queries, sample, places, own.shape[1]) + prior
        each = rivals.entities.expand(len(own), -1)
        of_rivals = torch.addmm(bias, prior_queries, vectors.T)
        of_rivals = of_rivals.masked_fill(is_among(each, own), -torch.inf)
        return Shortlist(
            torch.cat([own, each], dim=1),
            torch.cat([scores.masked_fill(own == nothing, -torch.inf), of_rivals], dim=1),
            torch.cat([bias.new_zeros(own.shape[1]), rivals.log_weights]),
        )

    def _add_up(
        self, queries: Queries, sample: EvidenceSample, places: Tensor, num_places: int
    ) -> Tensor:
        """log(1 + Σ exp c) − log(1 + Σ exp d) over the evidence in each place."""

        def log_of_sums(weights: Tensor) -> Tensor:
            sums = weights.new_zeros(len(weights), num_places)
            # The places of the facts come first; the last may be that of an answer, no evidence.
            return sums.scatter_add(1, places[:, : weights.shape[1]], weights.exp()).log1p()

        scores = log_of_sums(self.weigh(queries, sample))
        if not self.settings.against:
            return scores
        return scores - log_of_sums(self.weigh_facts(queries, sample.facts, self.against_weights))

    def prior_queries(self, queries: Queries, kept: Tensor | None = None) -> Tensor:
        """The vectors p[r] + p'[s], of which dropout keeps some numbers."""
        relations = functional.embedding(queries.relations, self.prior_relations)
        vectors = relations + functional.embedding(queries.subjects, self.prior_subjects)
        return vectors if kept is None else vectors * kept / (1 - self.settings.prior_dropout)

    # --- learn ------------------------------------------------------------------------------

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> EvidenceSample:
        """The evidence for each query without its own fact, thinned out by dropout."""
        hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
        row_hashes = combine(seeds, queries.subjects, queries.relations, queries.times)
        sample = self.find(queries, context, hidden, row_hashes)
        columns = torch.arange(self.settings.prior_dim, device=row_hashes.device)
        # One more than for the facts: other draws.
        kept = uniform(row_hashes[:, None] + 1, columns) >= self.settings.prior_dropout
        count = self.settings.candidates
        rivals = draw_rivals(context, count, seeds) if count else None
        return replace(sample, kept=kept, rivals=rivals)

    def loss(
        self,
        queries: Queries,
        answers: Tensor,
        sample: EvidenceSample,
        others: Tensor | None = None,
    ) -> Tensor:
        """The cross-entropy of the answers against all entities, or an estimate of it."""
        if (rivals := sample.rivals) is None:
            return cross_entropy(self.score(queries, sample), answers, others)
        bias = take(self.prior_bias, rivals.entities)
        vectors = functional.embedding(rivals.entities, self.prior_objects)
        likely = self.score_some(queries, sample, rivals, bias, vectors, answers)
        return estimated_cross_entropy(likely, answers, others)

    # --- what else may be asked of it -------------------------------------------------------

    def shortlist(self, queries: Queries, context: TemporalGraph, count: int) -> Shortlist | None:
        """The entities with evidence, and those that the prior may rank high."""
        if len(self.prior_bias) < evidence_candidates.LEAST_ENTITIES:
            return None
        tables = self.prior_bias, self.prior_objects, self.prior_subjects
        # They are listed again only when the weights have changed, or for another count.
        state = count, *(number for w in tables for number in (w.data_ptr(), w._version))
        if self._listed is None or self._listed[0] != state:
            rivals = list_rivals(self, count)
            bias, vectors = (table.detach()[rivals.entities] for table in tables[:2])
            self._listed = state, rivals, bias, vectors
        likely = self.score_some(queries, self.find(queries, context), *self._listed[1:])
        # Who stands for others is not to be named.
        is_sample = likely.log_weights > 0
        return replace(likely, entities=likely.entities.masked_fill(is_sample, NO_ENTITY))

    reasons = find_reasons
    rules = find_rules

    def embeddings(self) -> dict[str, Tensor]:
        """The vectors of the prior, the only ones of entities; evidence itself has none."""
        return {
            "entities.as_subject": self.prior_subjects,
            "entities.as_answer": self.prior_objects,
            "relations": self.prior_relations,
        }

    def add_entities(self, count: int) -> None:
        """Give them the mean prior; all else about them is evidence."""
        for name in ("prior_subjects", "prior_objects", "prior_bias"):
            setattr(self, name, with_mean_rows(getattr(self, name), count))
