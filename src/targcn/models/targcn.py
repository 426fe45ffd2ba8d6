"""TARGCN: a subject is described by its facts around the query's time.

"A Simple But Powerful Graph Encoder for Temporal Knowledge Graph Completion" (Ding et al., 2022).

    (1)  h_(e,t) = f(h_e ‖ Φ(t − t_q))               f(h_e ‖ Φ) = F_e h_e + F_Φ Φ + f_0
    (2)  h_(s,t_q) = mean of W(h_(e,t) ‖ h_r)        W(x ‖ h_r) = W_x x + W_r h_r + w_0
    (3)  loss = the cross-entropy of the answer o among all entities, whose scores are
         decode(h_(s,t_q), h_r) · f(h_o ‖ Φ(0))

The mean is over the sampled neighbours (e, r, t) of the subject s. A subject without neighbours has
the vector f(h_s ‖ Φ(0)), without W. Our default adds h_s to equation 2 (`own_vector`), and an
activation follows. Φ is `TimeEncoding`; equations 1 and 2 are `Aggregator`, equation 3 is `score`
and `loss`.
"""

from dataclasses import dataclass, replace
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
from targcn.models.base import Learner, ModelSettings, with_mean_rows
from targcn.models.layers.decoders import DECODERS, MULTIPLES, RELATION_LENGTHS, Decoder
from targcn.models.layers.losses import cross_entropy
from targcn.models.layers.sums import sums_and_table, weighted_sums
from targcn.models.reasons import Reasons

# The largest table of codes worth computing; for longer timelines each code is computed on its own.
MOST_CODES = 65_536
# Numbers laid out at once when facts are left out in turn; bounds memory, not results.
MOST_NUMBERS_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class TARGCNSettings(Sampling, ModelSettings):
    """The architecture; how neighbourhoods are sampled is said by `Sampling`."""

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

    # Near and far in steps, not in time: the facts of the subject, and with two steps those of each
    # of its neighbours (per query, one row per neighbour).
    near: Neighborhood
    far: Neighborhood | None = None
    # Which numbers of the query vector dropout keeps.
    kept: Tensor | None = None


class TimeEncoding(nn.Module):
    """Φ(Δ) = (cos(ω_1 Δ + φ_1), …, cos(ω_d Δ + φ_d)), with learned frequencies ω and phases φ."""

    def __init__(self, dim: int, span: int, factor: float = 1.0, scaled: bool = False) -> None:
        """A timeline of `span` ticks that count `factor` each; if `scaled`, Φ is divided by √d."""
        super().__init__()
        self.span, self.factor = span, factor
        self.divisor = dim**0.5 if scaled else None
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, dim))
        self.phases = nn.Parameter(torch.zeros(dim))

    def forward(self, deltas: Tensor) -> Tensor:
        """Φ of each difference, along a new last dimension."""
        codes = torch.cos(deltas[..., None] * (self.frequencies * self.factor) + self.phases)
        return codes if self.divisor is None else codes / self.divisor

    def look_up(self, deltas: Tensor) -> tuple[Tensor, Tensor]:
        """A table of codes, and the row of each difference in it: equal ones are computed once."""
        # Training asks about times of the timeline alone; a question may lie outside it.
        fits = 2 * self.span - 1 <= min(MOST_CODES, deltas.numel())
        if fits and (self.training or bool((deltas.abs() < self.span).all())):
            every = torch.arange(1 - self.span, self.span, device=deltas.device)
            return self(every), deltas + (self.span - 1)
        if deltas.is_cuda and self.training:
            # A CUDA graph has fixed shapes: they cannot depend on how many are distinct.
            rows = torch.arange(deltas.numel(), device=deltas.device)
            return self(deltas.flatten()), rows.view_as(deltas)
        distinct, rows = torch.unique(deltas, return_inverse=True)
        return self(distinct), rows


class Aggregator(nn.Module):
    """The layers f and W of one step, and the subject's own vector if it is to be added.

    No product per neighbour is left, since f is linear: the mean of W(f(h_e ‖ Φ) ‖ h_r) is
    W(f(mean h_e ‖ mean Φ) ‖ mean h_r), and the means are sums of table rows. The subject is one
    neighbour more, at the end, which counts only where there is no other.
    """

    def __init__(self, dim: int, relation_dim: int, own_vector: bool) -> None:
        super().__init__()
        self.own_vector = own_vector
        self.f = nn.Linear(2 * dim, dim)
        self.W = nn.Linear(dim + relation_dim, dim)
        nn.init.xavier_normal_(self.W.weight)

    def forward(
        self,
        subjects: Tensor,
        neighbors: Neighborhood,
        codes: tuple[Tensor, Tensor],
        entity_table: Tensor,
        relation_table: Tensor,
        vectors: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Each subject's vector before the activation, and the same entity table to score with.

        The table comes from the node of the sums, so that it has one gradient (layers/sums.py). The
        codes are a table and one of its rows for each neighbour, then for Δ = 0. Neighbours are
        rows of the tables, or have `vectors` h_e of their own.
        """
        counts = neighbors.filled.sum(1, keepdim=True)
        shares = neighbors.filled.to(entity_table.dtype) / counts.clamp(min=1)
        alone = counts == 0
        weights = torch.cat([shares, alone], dim=1)
        if vectors is None:
            ids = torch.cat([neighbors.entities, subjects[:, None]], dim=1)
            rows = subjects if self.own_vector else subjects[:0]
            mean, own, entity_table = sums_and_table(entity_table, ids, weights, rows)
        else:
            vectors = torch.cat([vectors, entity_table[subjects[:, None]]], dim=1)
            mean, own = torch.einsum("bk,bkd->bd", weights, vectors), vectors[:, -1]
        mean_code = weighted_sums(*codes, weights)
        mean_relation = weighted_sums(relation_table, neighbors.relations, shares)
        encoded = self.f(torch.cat([mean, mean_code], dim=1))  # equation 1, of the means
        around = self.W(torch.cat([encoded, mean_relation], dim=1))  # equation 2, of the means
        if self.own_vector:
            around = around + own
        return torch.where(alone, encoded, around), entity_table


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
        # With two steps the first describes the neighbours and the second, by them, the subject.
        self.first = Aggregator(*sizes)
        self.second = Aggregator(*sizes) if settings.steps == 2 else None
        neighbors = settings.neighbors
        if settings.strategy == "whole":
            self.has_static_shapes = False
            ends = np.concatenate([dataset.train.subjects, dataset.train.objects])
            neighbors = max(int(np.bincount(ends, minlength=1).max()), 1)
        self.sample_width = neighbors if settings.steps == 1 else neighbors * (neighbors + 1)

    def embeddings(self) -> dict[str, Tensor]:
        return {"entities": self.entities, "relations": self.relations}

    def add_entities(self, count: int) -> None:
        """Give them the mean vector; as subjects they are described by their facts."""
        self.entities = with_mean_rows(self.entities, count)

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        # One seed, so that equal queries get the same neighbourhood.
        return self.score(queries, self.neighborhoods(queries, context, seed=0))

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
        row_hashes = combine(seeds, queries.subjects, queries.relations, queries.times)
        columns = torch.arange(self.settings.dim, device=row_hashes.device)
        kept = uniform(row_hashes[:, None], columns) >= self.settings.dropout
        return replace(seen, kept=kept)

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
        # In a graph of the past a neighbour sees what came before the query, after itself too.
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
        vectors, entity_table = self.encode(queries, sample)
        if sample.kept is not None:
            vectors = vectors * sample.kept / (1 - self.settings.dropout)
        relation_vectors = functional.embedding(queries.relations, self.relations)
        wanted = DECODERS[self.settings.decoder](vectors, relation_vectors)
        # A candidate is f(h_o ‖ Φ(0)), and wanted · (F_e h_o + F_Φ Φ + f_0) = (wanted F_e) · h_o
        # + a number that all candidates share and that changes no rank and no probability: one
        # product with the entity table.
        entity_weight = self.first.f.weight.narrow(1, 0, self.settings.dim)
        return wanted @ entity_weight @ entity_table.T

    def encode(self, queries: Queries, sample: TARGCNSample) -> tuple[Tensor, Tensor]:
        """The vectors h_(s,t_q) of the queries' subjects, and the entity table to score with."""
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
        neighbors: Neighborhood,
        vectors: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """One step. Neighbours are rows of the entity table, or have `vectors` of their own."""
        # One column more, of Δ = 0: the subject itself.
        deltas = functional.pad(neighbors.deltas, (0, 1))
        if self.settings.time_encoding == "absolute":
            deltas = deltas + times[:, None]
        codes = self.time_encoding.look_up(deltas)
        tables = self.entities, self.relations
        aggregated, entity_table = step(subjects, neighbors, codes, *tables, vectors)
        return self.activation(aggregated), entity_table

    @torch.no_grad()
    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons:
        """The sampled facts of the subject, each left out in turn while the others stay."""
        answers = torch.tensor([answer], device=query.subjects.device)
        hidden = HiddenFacts(query.subjects, query.relations, answers, query.times)
        seen = self.neighborhoods(query, context, 0, hidden)
        scores = self.score(query, seen)
        places = seen.near.filled[0].nonzero().flatten()
        sampled = (seen.near,) if seen.far is None else (seen.near, seen.far)
        num_places = max(sum(neighbors.filled.numel() for neighbors in sampled), 1)
        without = []
        at_once = max(MOST_NUMBERS_AT_ONCE // (len(self.entities) + num_places), 1)
        for part in torch.split(places, at_once):
            # The same sample in every row, each without the fact in one of these places.
            rows = torch.arange(len(part), device=part.device)
            variants = seen[torch.zeros_like(rows)]
            variants.near.filled[rows, part] = False
            without.append(
                _probabilities(self.score(query[torch.zeros_like(rows)], variants), answer)
            )
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
        )


def _times_of(near: Neighborhood, times: Tensor) -> Tensor:
    """The time of every fact, the places of all queries in one row."""
    return (near.deltas + times[:, None]).flatten()


def _probabilities(scores: Tensor, answer: int) -> Tensor:
    return scores.log_softmax(1)[:, answer].exp().double()
