"""Temporal evidence: a candidate's score is a sum over the facts that speak for it.

Every piece of evidence ends in one entity o and has a weight c. There are four kinds:
the facts of the subject, those of the query's relation, paths of two facts from the subject, and
the subject's partners at any time. Then

    score(o) = log(1 + Σ exp c over the evidence that ends in o) + (p[r] + p'[s]) · q[o] + β[o].

No entity has a vector except in the last two terms, a small prior. If the settings say so, the
facts of the subject may also speak against the entities that they end in, with a second weight d:
log(1 + Σ exp d) is subtracted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import SIDES_OF_A_FACT, HiddenFacts, hide_nearest, hide_partner
from targcn.graph.nearest import (
    NearestFacts,
    nearest_of_entities,
    nearest_of_relations,
)
from targcn.graph.partners import PartnersOf
from targcn.graph.queries import Queries
from targcn.graph.ragged import take
from targcn.graph.random import combine, uniform
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, Shortlist
from targcn.models.evidence_reasons import find_reasons, find_rules
from targcn.models.evidence_settings import EvidenceSettings
from targcn.models.evidence_shortlist import ShortlistOfPrior
from targcn.models.layers.buckets import CountBuckets, TimeBuckets, typical_gap
from targcn.models.layers.candidates import (
    Drawn,
    SomeScores,
    draw_entities,
    group_by_entity,
    log_ratio,
    products_of_rows,
    sampled_cross_entropy,
)
from targcn.models.layers.evidence_weights import (
    SCALE,
    FactWeights,
    PathWeights,
    log_of_sums,
    weigh_each_once,
)
from targcn.models.layers.losses import cross_entropy
from targcn.models.reasons import Reasons, Rules

# Pieces of evidence found at once; bounds memory, not results. A CPU's should fit its cache.
MOST_PIECES_AT_ONCE = {"cpu": 1 << 19, "cuda": 1 << 22}


@dataclass(frozen=True, eq=False)
class EvidenceSample(Columns):
    """The evidence found for each query, one row per query."""

    facts: NearestFacts
    of_relation: NearestFacts
    # Which of the facts paths start with, and for each of them the facts that they go on with.
    first: Tensor
    second: NearestFacts
    partners: PartnersOf
    # Which numbers of the prior's query vector dropout keeps.
    kept: Tensor | None = None
    # If only some entities are in the softmax: those without evidence.
    drawn: Drawn | None = None


class Evidence(Learner):
    """Adds up the evidence for each candidate."""

    Settings = EvidenceSettings
    reads_context = True
    can_filter_loss = True
    about_new_entities = "are scored by their facts and the mean prior"
    settings: EvidenceSettings

    def __init__(self, settings: EvidenceSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        num_entities, num_relations = len(dataset.entities), 2 * len(dataset.relations)
        self.num_relations = num_relations
        unit = settings.time_unit or max(typical_gap(dataset.train) / 3, 1.0)
        self.time_buckets, self.count_buckets = TimeBuckets(unit), CountBuckets()
        times, counts, dim = TimeBuckets.COUNT, CountBuckets.COUNT, settings.dim
        self.fact_weights = FactWeights(num_relations, times, dim, bias=-1.0)
        self.relation_weights = nn.Parameter(torch.full((num_relations,), -4.0))
        self.relation_bucket_weights = nn.Parameter(torch.zeros(times))
        self.path_weights = PathWeights(num_relations, times, dim, bias=-4.0)
        self.partner_weights = FactWeights(num_relations, counts, dim, bias=-3.0)
        size = settings.prior_dim
        self.prior_relations = nn.Parameter(SCALE * torch.randn(num_relations, size))
        self.prior_subjects = nn.Parameter(SCALE * torch.randn(num_entities, size))
        self.prior_objects = nn.Parameter(SCALE * torch.randn(num_entities, size))
        for table in (self.prior_relations, self.prior_subjects, self.prior_objects):
            # Without numbers there is nothing to learn, and some kernels fail.
            table.requires_grad_(size > 0)
        self.prior_bias = nn.Parameter(torch.zeros(num_entities))
        if settings.against:
            self.against_weights = FactWeights(num_relations, times, dim, bias=-4.0)
        self.shortlist_of_prior = ShortlistOfPrior()

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
            known = getattr(self, name).detach()
            mean = known.mean(0, keepdim=True).expand(count, *known.shape[1:])
            setattr(self, name, nn.Parameter(torch.cat([known, mean])))

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        size = self.queries_at_once(context)
        parts = [queries[first : first + size] for first in range(0, len(queries), size)]
        return torch.cat([self.score(part, self.find(part, context)) for part in parts])

    def queries_at_once(self, context: TemporalGraph) -> int:
        """For how many queries evidence is found at once."""
        settings = self.settings
        width = settings.facts + settings.relation_facts
        width += settings.first_facts * settings.second_facts
        if settings.partners:
            width += context.partners.width(settings.partners)
        most = MOST_PIECES_AT_ONCE.get(context.device.type, MOST_PIECES_AT_ONCE["cpu"])
        return max(most // width, 1)

    @property
    def samples_ahead(self) -> bool:
        # Which paths are looked at depends on the weights.
        return False

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> EvidenceSample:
        """The evidence for each query without its own fact, thinned out by dropout."""
        hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
        rows = combine(seeds, queries.subjects, queries.relations, queries.times)
        sample = self.find(queries, context, hidden, rows)
        columns = torch.arange(self.settings.prior_dim, device=rows.device)
        kept = uniform(rows[:, None] + 1, columns) >= self.settings.prior_dropout
        drawn = None
        if self.settings.candidates:
            drawn = draw_entities(context, self.settings.candidates, seeds)
        return replace(sample, kept=kept, drawn=drawn)

    @torch.no_grad()
    def find(
        self,
        queries: Queries,
        context: TemporalGraph,
        hidden: HiddenFacts | None = None,
        dropout_rows: Tensor | None = None,
    ) -> EvidenceSample:
        """All evidence for some queries, except a hidden fact, which the context must hold."""
        settings, times = self.settings, queries.times
        facts = nearest_of_entities(context, queries.subjects, times, settings.facts)
        facts = hide_nearest(facts, hidden, context)
        if dropout_rows is not None:
            columns = torch.arange(facts.filled.shape[1], device=times.device)
            stays = uniform(dropout_rows[:, None], columns) >= settings.fact_dropout
            facts = replace(facts, filled=facts.filled & stays)
        of_relation = nearest_of_relations(
            context, queries.relations, times, settings.relation_facts
        )
        of_relation = hide_nearest(of_relation, hidden, context)
        first, second = self._find_paths(queries, facts, context, hidden)
        # A graph of the past does not count what is at the query's time.
        to_hide = None if context.past_only else hidden
        most = settings.partners + (SIDES_OF_A_FACT if to_hide is not None else 0)
        partners = context.partners.most_frequent(queries.subjects, times, most)
        if to_hide is not None:
            partners = hide_partner(partners, settings.partners, queries.subjects, to_hide, context)
        return EvidenceSample(facts, of_relation, first, second, partners)

    def _find_paths(
        self,
        queries: Queries,
        facts: NearestFacts,
        context: TemporalGraph,
        hidden: HiddenFacts | None,
    ) -> tuple[Tensor, NearestFacts]:
        """The first facts of the paths by weight, and the facts that each is followed by."""
        count = min(self.settings.first_facts, facts.filled.shape[1])
        weights = self._weigh_facts(queries, facts).masked_fill(~facts.filled, -torch.inf)
        first = torch.topk(weights, count, dim=1).indices
        through = facts.objects.gather(1, first)
        if hidden is not None:
            hidden = hidden.map(lambda column: column.repeat_interleave(count))
        second = nearest_of_entities(
            context,
            through.flatten(),
            queries.times.repeat_interleave(count),
            self.settings.second_facts,
        )
        second = hide_nearest(second, hidden, context)
        second = second.map(lambda column: column.view(*first.shape, column.shape[1]))
        goes_on = second.objects != queries.subjects[:, None, None]
        exists = facts.filled.gather(1, first)[..., None]
        return first, replace(second, filled=second.filled & goes_on & exists)

    def loss(
        self,
        queries: Queries,
        answers: Tensor,
        sample: EvidenceSample,
        others: Tensor | None = None,
    ) -> Tensor:
        """The cross-entropy of the answers against all entities, or an estimate of it."""
        if sample.drawn is None:
            return cross_entropy(self.score(queries, sample), answers, others)
        scored = self.score_some(queries, sample, answers[:, None])
        asked = self._asked(queries, sample.kept)
        drawn_scores = self._prior_of(asked, sample.drawn.entities)
        return sampled_cross_entropy(scored, answers, sample.drawn, drawn_scores, others)

    def score_some(self, queries: Queries, sample: EvidenceSample, given: Tensor) -> SomeScores:
        """The scores of the entities that evidence ends in, and of the given ones."""
        nothing = len(self.prior_bias)
        ends = self.ends(sample)
        ends = torch.where(ends == nothing, torch.iinfo(torch.int64).max, ends)
        evidence = [self.weigh(queries, sample).exp() * (ends <= nothing)]
        if self.settings.against:
            against = self.weigh_against(queries, sample.facts)
            evidence.append(functional.pad(against, (0, ends.shape[1] - against.shape[1])))
        entities, sums = group_by_entity(ends, *evidence)
        ends_in_given = ends[:, None] == given[..., None]
        of_given = [(weights[:, None] * ends_in_given).sum(2) for weights in evidence]
        asked = self._asked(queries, sample.kept)
        both = [
            log_ratio(totals) + self._prior_of(asked, which.clamp(max=nothing - 1))
            for totals, which in ((sums, entities), (of_given, given))
        ]
        return SomeScores(entities, both[0], both[1])

    def shortlist(self, queries: Queries, context: TemporalGraph, count: int) -> Shortlist | None:
        """The entities with evidence, and those that the prior may rank high."""
        if len(self.prior_bias) < ShortlistOfPrior.FROM:
            return None
        sample = self.find(queries, context)
        scored = self.score_some(queries, sample, queries.subjects[:, None][:, :0])
        listed = self.shortlist_of_prior.of(self, count)
        return listed.beside(scored, self._asked(queries, None))

    def score(self, queries: Queries, sample: EvidenceSample) -> Tensor:
        """The score of every entity, given the evidence that was found."""
        num_entities = len(self.prior_bias)
        weights, ends = self.weigh(queries, sample), self.ends(sample)
        evidence = weights.masked_fill(ends == num_entities, -torch.inf).exp()
        ends = ends.clamp(max=num_entities - 1)
        scores = log_of_sums(evidence, ends, num_entities) + self._prior(queries, sample.kept)
        if not self.settings.against:
            return scores
        against = self.weigh_against(queries, sample.facts)
        return scores - log_of_sums(against, sample.facts.objects, num_entities)

    def weigh(self, queries: Queries, sample: EvidenceSample) -> Tensor:
        """The weight c of every piece of evidence: one row per query, kind after kind."""
        relations, times = queries.relations, queries.times
        facts, partners, second = sample.facts, sample.partners, sample.second
        buckets = self.time_buckets(sample.of_relation.times - times[:, None])
        of_relation = take(self.relation_bucket_weights, buckets)
        of_relation = of_relation + self.relation_weights[relations][:, None]
        first_times = facts.times.gather(1, sample.first)
        paths = _weigh(
            self.path_weights,
            second.filled,
            relations,
            facts.relations.gather(1, sample.first),
            self.time_buckets(first_times - times[:, None]),
            second.relations,
            self.time_buckets(second.times - times[:, None, None]),
        )
        of_partners = _weigh(
            self.partner_weights,
            partners.counts > 0,
            relations,
            partners.relations,
            self.count_buckets(partners.counts),
        )
        kinds = self._weigh_facts(queries, facts), of_relation, paths.flatten(1), of_partners
        return torch.cat(kinds, dim=1)

    def weigh_against(self, queries: Queries, facts: NearestFacts) -> Tensor:
        """exp d of every fact of the subject; 0 where there is none."""
        weights = self._weigh_facts(queries, facts, self.against_weights)
        return weights.masked_fill(~facts.filled, -torch.inf).exp()

    def _weigh_facts(
        self, queries: Queries, facts: NearestFacts, weights: FactWeights | None = None
    ) -> Tensor:
        buckets = self.time_buckets(facts.times - queries.times[:, None])
        weights = self.fact_weights if weights is None else weights
        return _weigh(weights, facts.filled, queries.relations, facts.relations, buckets)

    def ends(self, sample: EvidenceSample) -> Tensor:
        """The entity that each piece of evidence ends in; one more than all of them if in none."""
        nothing = len(self.prior_bias)
        return torch.cat(
            [
                torch.where(sample.facts.filled, sample.facts.objects, nothing),
                torch.where(sample.of_relation.filled, sample.of_relation.objects, nothing),
                torch.where(sample.second.filled, sample.second.objects, nothing).flatten(1),
                torch.where(sample.partners.counts > 0, sample.partners.partners, nothing),
            ],
            dim=1,
        )

    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons:
        """The pieces of evidence for an answer: each has its share of log(1 + Σ exp c)."""
        return find_reasons(self, query, answer, context)

    def rules(
        self,
        queries: Queries,
        answers: Tensor,
        context: TemporalGraph,
        top: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> Rules:
        """The classes of evidence that gave most to true answers: support · log(1 + weight)."""
        return find_rules(self, queries, answers, context, top, progress)

    def _prior(self, queries: Queries, kept: Tensor | None) -> Tensor:
        """(p[r] + p'[s]) · q[o] + β[o] for every o."""
        asked = self._asked(queries, kept)
        if asked is None:
            return self.prior_bias.expand(len(queries), -1)
        return torch.addmm(self.prior_bias, asked, self.prior_objects.T)

    def _asked(self, queries: Queries, kept: Tensor | None) -> Tensor | None:
        """p[r] + p'[s], unless there is no prior."""
        if self.settings.prior_dim == 0:
            return None
        relations = functional.embedding(queries.relations, self.prior_relations)
        asked = relations + functional.embedding(queries.subjects, self.prior_subjects)
        if kept is not None:
            asked = asked * kept / (1 - self.settings.prior_dropout)
        return asked

    def _prior_of(self, asked: Tensor | None, entities: Tensor) -> Tensor:
        """The prior of some entities: the same ones for every query, or a row for each."""
        bias = take(self.prior_bias, entities)
        if asked is None:
            return bias
        if entities.dim() == 1:
            return torch.addmm(bias, asked, functional.embedding(entities, self.prior_objects).T)
        return bias + products_of_rows(asked, self.prior_objects, entities)


def _weigh(weights: FactWeights | PathWeights, filled: Tensor, *columns: Tensor) -> Tensor:
    """The weights of evidence; a GPU, which could not record how many are distinct, takes each."""
    if filled.is_cuda:
        each: Tensor = weights(*columns)
        return each
    return weigh_each_once(weights, filled, *columns)
