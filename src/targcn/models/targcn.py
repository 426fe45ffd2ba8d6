"""TARGCN: a subject is described by its facts around the query's time.

"A Simple But Powerful Graph Encoder for Temporal Knowledge Graph Completion" (Ding et al., 2022).
Equations 1 and 2 stand in layers/aggregators.py; equation 3 is `loss`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.config import require_least, require_positive
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import HiddenFacts
from targcn.graph.neighbors import Neighborhood, Sampling, sample_neighbors
from targcn.graph.queries import Queries
from targcn.graph.random import combine, uniform
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, ModelSettings
from targcn.models.layers.aggregators import Aggregator, Neighbors
from targcn.models.layers.decoders import DECODERS, MULTIPLES, RELATION_LENGTHS, Decoder
from targcn.models.layers.losses import cross_entropy
from targcn.models.layers.time_encoding import TimeEncoding
from targcn.models.reasons import Reasons

# Numbers laid out at once when facts are left out in turn; bounds memory, not results.
MOST_NUMBERS_AT_ONCE = 1 << 25
# Reasons: neighbours passed over in all variants of a sample, and variants in any case.
MOST_PLACES_REASONED = 1 << 25
LEAST_REASONS = 10


@dataclass(frozen=True)
class TARGCNSettings(Sampling, ModelSettings):
    """The architecture, and how neighbourhoods are sampled."""

    dim: int = 200
    """Numbers per vector."""

    steps: Literal[1, 2] = 1
    """Aggregation steps: with 2, each neighbour is first described by its own neighbourhood."""

    decoder: Decoder = "distmult"
    """Score function: distmult, complex or bique."""

    initial_scale: float = 1.0
    """How large vectors start: normally distributed numbers times this."""

    activation: Literal["tanh", "relu"] = "tanh"
    """Applied after the mean over the neighbourhood."""

    time_encoding: Literal["difference", "absolute"] = "difference"
    """What Φ encodes: the difference to the query's time, or the time itself (ablation)."""

    time_factor: float = 1.0
    """What one tick counts in Φ; the published code counts a day as 24 (hours)."""

    time_scaled: bool = False
    """Multiply Φ by 1/√dim, as the paper says and its code does not."""

    own_vector: bool = True
    """Add the subject's own vector before the activation."""

    own_fact: Literal["hidden", "kept"] = "hidden"
    """A training query's own fact in its neighbourhood; kept: as in the published code."""

    dropout: float = 0.3
    """Share of each query vector dropped in training."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_least(self, dim=1)
        multiple = MULTIPLES[self.decoder]
        if self.dim % multiple:
            below = self.dim // multiple * multiple
            dims = " or ".join(str(dim) for dim in (below, below + multiple) if dim)
            raise InputError(
                f"dim is {self.dim}, but {self.decoder} needs a multiple of {multiple}; "
                f"{dims} would do"
            )
        require_positive(self, "initial_scale")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; 0 up to below 1 was expected")


@dataclass(frozen=True, eq=False)
class TARGCNSample(Columns):
    """What is sampled for each query, one row per query."""

    near: Neighborhood
    # With two steps, the neighbourhood of each neighbour: per query, one row per neighbour.
    far: Neighborhood | None = None
    # Which numbers of the query vector dropout keeps.
    kept: Tensor | None = None


class TARGCN(Learner):
    """The encoder of the paper, before a decoder that is linear in its candidates."""

    Settings = TARGCNSettings
    reads_context = True
    can_filter_loss = True
    about_new_entities = (
        "have no vector of their own (the mean of all vectors stands in for it, so that as answers "
        "they all have the same score)"
    )
    settings: TARGCNSettings

    def __init__(self, settings: TARGCNSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim = settings.dim
        self.num_relations = len(dataset.relations)
        self.activation = torch.tanh if settings.activation == "tanh" else torch.relu
        self.relation_dim = RELATION_LENGTHS[settings.decoder] * dim
        scale = settings.initial_scale
        self.entities = nn.Parameter(scale * torch.randn(len(dataset.entities), dim))
        self.relations = nn.Parameter(
            scale * torch.randn(2 * self.num_relations, self.relation_dim)
        )
        self.time_encoding = TimeEncoding(
            dim,
            max(dataset.timeline.ticks.tolist(), default=0) + 1,
            settings.time_factor,
            settings.time_scaled,
        )
        sizes = dim, self.relation_dim, settings.own_vector
        self.first = Aggregator(*sizes)
        self.second = Aggregator(*sizes) if settings.steps == 2 else None
        ends = np.concatenate([dataset.train.subjects, dataset.train.objects])
        self.largest_neighborhood = int(np.bincount(ends, minlength=1).max())

    def embeddings(self) -> dict[str, Tensor]:
        return {"entities": self.entities, "relations": self.relations}

    def add_entities(self, count: int) -> None:
        """Give them the mean vector; as subjects they are described by their facts."""
        known = self.entities.detach()
        mean = known.mean(0, keepdim=True).expand(count, -1)
        self.entities = nn.Parameter(torch.cat([known, mean]))

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        # One seed, so that equal queries get the same neighbourhood.
        return self.score(queries, self.neighborhoods(queries, context, seed=0))

    @property
    def has_static_shapes(self) -> bool:
        return self.settings.strategy != "whole"

    @property
    def sample_width(self) -> int:
        neighbors = self.settings.neighbors
        if self.settings.strategy == "whole":
            neighbors = max(self.largest_neighborhood, 1)
        return neighbors if self.settings.steps == 1 else neighbors * (neighbors + 1)

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> TARGCNSample:
        """The neighbourhoods of each query, and what dropout keeps of its vector."""
        hidden = None
        if self.settings.own_fact == "hidden":
            hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
        seen = self.neighborhoods(queries, context, seeds, hidden)
        if self.settings.dropout == 0:
            return seen
        rows = combine(seeds, queries.subjects, queries.relations, queries.times)
        columns = torch.arange(self.settings.dim, device=rows.device)
        kept = uniform(rows[:, None], columns) >= self.settings.dropout
        return TARGCNSample(seen.near, seen.far, kept)

    def neighborhoods(
        self,
        queries: Queries,
        context: TemporalGraph,
        seed: Tensor | int,
        hidden: HiddenFacts | None = None,
    ) -> TARGCNSample:
        """The facts that each query sees, and with two steps those that its neighbours see."""
        how = self.settings
        near = sample_neighbors(context, queries.subjects, queries.times, how, seed, hidden)
        if how.steps == 1:
            return TARGCNSample(near)
        shape = near.entities.shape
        entities, times = near.entities.flatten(), _times_of(near, queries.times)
        if isinstance(seed, Tensor):
            seed = seed.repeat_interleave(shape[1])
        # One of the neighbours may be the answer, through another fact.
        if hidden is not None:
            hidden = hidden.map(lambda column: column.repeat_interleave(shape[1]))
        # Nor may a neighbour tell what happens after it, if that is not before the query.
        before = queries.times.repeat_interleave(shape[1])
        far = sample_neighbors(context, entities, times, how, seed, hidden, before)
        return TARGCNSample(near, far.map(lambda column: column.view(*shape, column.shape[1])))

    def loss(
        self, queries: Queries, answers: Tensor, sample: TARGCNSample, others: Tensor | None = None
    ) -> Tensor:
        """Equation 3: the cross-entropy of the answers against all entities."""
        return cross_entropy(self.score(queries, sample), answers, others)

    def score(self, queries: Queries, sample: TARGCNSample) -> Tensor:
        """The score of every entity, given what was sampled for each query."""
        subjects, table = self.encode(queries, sample)
        if sample.kept is not None:
            subjects = subjects * sample.kept / (1 - self.settings.dropout)
        relations = functional.embedding(queries.relations, self.relations)
        wanted = DECODERS[self.settings.decoder](subjects, relations)
        # A candidate is f(h_o ‖ Φ(0)), and wanted · (F_e h_o + F_Φ Φ + f_0) = (wanted F_e) · h_o
        # + a number that all candidates share and that changes no rank and no probability: one
        # product with the entity table.
        return wanted @ self.first.entity_weight @ table.T

    def encode(self, queries: Queries, sample: TARGCNSample) -> tuple[Tensor, Tensor]:
        """The vectors h_(s,t) of the queries' subjects, and the entity table to go on with."""
        near = sample.near
        if sample.far is None:
            return self._aggregate(self.first, queries.subjects, queries.times, near)
        entities, times = near.entities.flatten(), _times_of(near, queries.times)
        far = sample.far.map(lambda column: column.flatten(0, 1))
        inner, table = self._aggregate(self.first, entities, times, far)
        vectors = inner.view(*near.entities.shape, self.settings.dim)
        assert self.second is not None
        outer, _ = self._aggregate(self.second, queries.subjects, queries.times, near, vectors)
        return outer, table

    def _aggregate(
        self,
        step: Aggregator,
        subjects: Tensor,
        times: Tensor,
        near: Neighborhood,
        vectors: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """One step. Neighbours are rows of the entity table, or have `vectors` of their own."""
        moments = functional.pad(near.deltas, (0, 1))
        if self.settings.time_encoding == "absolute":
            moments = moments + times[:, None]
        code_table, codes = self.time_encoding.look_up(moments)
        tables = self.entities, self.relations, code_table
        aggregated, table = step(Neighbors(subjects, near, codes, *tables, vectors))
        return self.activation(aggregated), table

    @torch.no_grad()
    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons:
        """The sampled facts of the subject, each left out in turn while the others stay."""
        answers = torch.tensor([answer], device=query.subjects.device)
        hidden = HiddenFacts(query.subjects, query.relations, answers, query.times)
        seen = self.neighborhoods(query, context, 0, hidden)
        scores = self.score(query, seen)
        places = seen.near.filled[0].nonzero().flatten()
        num_facts = len(places)
        if num_facts > (most := self._most_variants(seen)):
            # The nearest in time; of the whole neighbourhood each would take a pass over it.
            far = seen.near.deltas[0, places].abs()
            places = places[torch.argsort(far, stable=True)[:most].sort().values]
        without = []
        for part in torch.split(places, self._variants_at_once(seen)):
            # The same sample in every row, each without the fact in one of these places.
            rows = torch.arange(len(part), device=part.device)
            variants = seen[0 * rows]
            variants.near.filled[rows, part] = False
            without.append(_probabilities(self.score(query[0 * rows], variants), answer))
        near = seen.near.map(lambda column: column[0, places])
        others, subjects = near.entities.long(), query.subjects.expand(len(places))
        # Neighbours come in to the subject; the reciprocal of a fact is turned back into it.
        incoming = near.relations < self.num_relations
        return Reasons(
            subjects=torch.where(incoming, others, subjects)[:, None],
            relations=near.relations.long()[:, None] % self.num_relations,
            objects=torch.where(incoming, subjects, others)[:, None],
            times=(query.times + near.deltas)[:, None],
            effects=_probabilities(scores, answer) - torch.cat(without),
            scores=scores[0],
            left_out=num_facts - len(places),
        )

    def _most_variants(self, seen: TARGCNSample) -> int:
        """How many variants of one query's sample can be scored within some seconds."""
        num_places = sum(column.numel() for column in seen.tensors()) // 4
        return max(MOST_PLACES_REASONED // max(num_places, 1), LEAST_REASONS)

    def _variants_at_once(self, seen: TARGCNSample) -> int:
        """How many variants of one query's sample are scored together."""
        num_places = sum(column.numel() for column in seen.tensors()) // 4
        return max(MOST_NUMBERS_AT_ONCE // (len(self.entities) + num_places), 1)


def _times_of(near: Neighborhood, times: Tensor) -> Tensor:
    """The time of every fact, the places of all queries in one row."""
    return (near.deltas + times[:, None]).flatten()


def _probabilities(scores: Tensor, answer: int) -> Tensor:
    return scores.log_softmax(1)[:, answer].exp().double()
