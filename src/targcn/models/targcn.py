"""TARGCN: a subject is what its facts around the query's time say of it.

"A Simple But Powerful Graph Encoder for Temporal Knowledge Graph Completion" (Ding et al., 2022).
A query's subject gets its vector from a drawn neighbourhood (sampling.py): each neighbour's
vector and time difference through f, beside the relation, averaged. Candidates go through f too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.graph import TemporalGraph
from targcn.models.contract import Queries
from targcn.models.decoders import DECODERS, MULTIPLES, Decoder
from targcn.models.sums import sums_and_table, weighted_sums
from targcn.noise import combine, uniform
from targcn.sampling import Hidden, Neighborhood, Sampling, sample

# The largest table of time codes worth making; beyond it each code is computed where it stands.
MOST_TIME_CODES = 65_536


@dataclass(frozen=True)
class TARGCNSettings(Sampling):
    """The architecture, and how neighbourhoods are drawn."""

    size: int = 200
    """Size of every vector."""

    steps: Literal[1, 2] = 1
    """Aggregation steps: with 2, each neighbour is first described by its own neighbourhood."""

    decoder: Decoder = "distmult"
    """Score function: distmult, complex or bique."""

    activation: Literal["tanh", "relu"] = "tanh"
    """Applied after the mean over the neighbourhood."""

    activation_inside: bool = False
    """Apply it inside f as well, to each neighbour and candidate."""

    time_encoding: Literal["difference", "absolute"] = "difference"
    """What Φ encodes: the distance to the query's time, or the time itself (ablation)."""

    time_factor: float = 1.0
    """What one tick counts in Φ; the published code feeds hours (24) for days."""

    time_scaled: bool = False
    """Multiply Φ by 1/√size, as the paper says and its code does not."""

    own_vector: bool = False
    """Add the subject's own vector before the activation."""

    own_fact: Literal["hidden", "kept"] = "hidden"
    """A training query's own fact in its neighbourhood; kept repeats the published code."""

    dropout: float = 0.0
    """Share of each query vector dropped in training."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise InputError(f"targcn.size is {self.size}; at least 1 was expected")
        multiple = MULTIPLES[self.decoder]
        if self.size % multiple:
            below = self.size // multiple * multiple
            sizes = " or ".join(str(size) for size in (below, below + multiple) if size)
            raise InputError(
                f"targcn.size is {self.size}, but {self.decoder} needs a multiple of {multiple}; "
                f"{sizes} would do"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"targcn.dropout is {self.dropout}; 0 up to below 1 was expected")


class TARGCN(nn.Module):
    """The encoder of the paper before a decoder that is linear in its candidates."""

    Settings: ClassVar[type[Any]] = TARGCNSettings
    reads_context = True

    def __init__(self, settings: TARGCNSettings, dataset: Dataset) -> None:
        super().__init__()
        self.settings = settings
        size = settings.size
        self.num_relations = len(dataset.relations)
        self.span = max(dataset.timeline.ticks.tolist(), default=0) + 1
        self.entities = nn.Parameter(torch.randn(len(dataset.entities), size))
        self.relations = nn.Parameter(torch.randn(2 * self.num_relations, size))
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, size))
        self.phases = nn.Parameter(torch.zeros(size))
        self.first = AggregationStep(size)
        self.second = AggregationStep(size) if settings.steps == 2 else None
        self.activation = torch.tanh if settings.activation == "tanh" else torch.relu
        ends = np.concatenate([dataset.train.subjects, dataset.train.objects])
        self.largest_neighborhood = int(np.bincount(ends, minlength=1).max())

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        """One row per query, one column per entity; the same query always draws the same."""
        return self.score(queries, self.neighborhoods(queries, context, seed=0))

    @property
    def recordable(self) -> bool:
        """Whether every step has the same shapes, so that a GPU can record one and replay it."""
        settings = self.settings
        many_times = settings.time_encoding == "absolute" and settings.activation_inside
        return settings.strategy != "whole" and not many_times

    @property
    def places_per_query(self) -> int:
        """How many places `draw` fills for one query."""
        neighbors = self.settings.neighbors
        if self.settings.strategy == "whole":
            neighbors = max(self.largest_neighborhood, 1)
        return neighbors if self.second is None else neighbors * (neighbors + 1)

    def draw(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seed: Tensor | int
    ) -> tuple[Tensor, ...]:
        """All that is random in a step: what each query sees, and what dropout leaves of it."""
        neighborhoods = self.neighborhoods(queries, context, seed, answers)
        drawn = [column for near in neighborhoods for column in near]
        drawn = [column.view(len(queries), -1, column.shape[1]) for column in drawn]
        if self.settings.dropout > 0:
            rows = combine(seed, queries.subjects, queries.relations, queries.times)
            columns = torch.arange(self.settings.size, device=rows.device)
            drawn.append(uniform(rows[:, None], columns) >= self.settings.dropout)
        return tuple(drawn)

    def loss(self, queries: Queries, answers: Tensor, drawn: Sequence[Tensor]) -> Tensor:
        """Cross-entropy of the answers against all entities (the paper's equation 3)."""
        kept = drawn[-1] if self.settings.dropout > 0 else None
        neighborhoods = [
            Neighborhood(*(column.flatten(0, 1) for column in drawn[4 * step : 4 * step + 4]))
            for step in range(self.settings.steps)
        ]
        return functional.cross_entropy(self.score(queries, neighborhoods, kept), answers)

    def neighborhoods(
        self,
        queries: Queries,
        context: TemporalGraph,
        seed: Tensor | int,
        answers: Tensor | None = None,
    ) -> list[Neighborhood]:
        """What each query sees, and with two steps what each of its neighbours sees.

        The answers of training queries are given so that their own facts can be hidden.
        """
        hidden = None
        if answers is not None and self.settings.own_fact == "hidden":
            hidden = Hidden(queries.subjects, queries.relations, answers, queries.times)
        near = sample(context, queries.subjects, queries.times, self.settings, seed, hidden)
        if self.second is None:
            return [near]
        times = (near.deltas + queries.times[:, None]).flatten()
        entities = near.entities.flatten()
        if hidden is not None:
            # A neighbour may be the answer, met at whatever time: it must not see the fact either.
            hidden = hidden.repeat(near.entities.shape[1])
        if isinstance(seed, Tensor):
            seed = seed.repeat_interleave(near.entities.shape[1])
        return [near, sample(context, entities, times, self.settings, seed, hidden)]

    def score(
        self, queries: Queries, neighborhoods: list[Neighborhood], kept: Tensor | None = None
    ) -> Tensor:
        """Score every entity by what the queries see of their subjects.

        What is the same for all candidates of a query is left out where that saves work: it
        changes no rank and no probability.
        """
        vectors, table = self._encode(queries, neighborhoods)
        if kept is not None:
            vectors = vectors * kept / (1 - self.settings.dropout)
        of_relation = functional.embedding(queries.relations, self.relations)
        wanted = DECODERS[self.settings.decoder](vectors, of_relation)
        if not self.settings.activation_inside:
            # A candidate is W1 h_o + c, so W1 moves into the query: no product with every entity.
            return (wanted @ self.first.entity_weight) @ table.T
        # Candidates differ by time only through Φ(t_q), which is Φ(0) unless time is absolute.
        if self.settings.time_encoding == "difference":
            codes = self.first.of_time(self.time_codes(queries.times.new_zeros(1)))
            return wanted @ self.activation(table + codes).T
        scores = wanted.new_empty(len(wanted), len(table))
        for time in torch.unique(queries.times):
            now = queries.times == time
            candidates = self.activation(table + self.first.of_time(self.time_codes(time)))
            scores[now] = wanted[now] @ candidates.T
        return scores

    def encode(self, queries: Queries, neighborhoods: list[Neighborhood]) -> Tensor:
        """The vectors h_(s,t) of the queries' subjects (equations 1 and 2)."""
        return self._encode(queries, neighborhoods)[0]

    def _encode(self, queries: Queries, neighborhoods: list[Neighborhood]) -> tuple[Tensor, Tensor]:
        """The same, and the table that candidates are made of: W1 h of every entity, or h."""
        near = neighborhoods[0]
        if self.second is None:
            return self._aggregate(self.first, queries.subjects, queries.times, near)
        times = (near.deltas + queries.times[:, None]).flatten()
        entities = near.entities.flatten()
        inner, table = self._aggregate(self.first, entities, times, neighborhoods[1])
        vectors = inner.view(*near.entities.shape, self.settings.size)
        outer, _ = self._aggregate(self.second, queries.subjects, queries.times, near, vectors)
        return outer, table

    def _aggregate(
        self,
        step: "AggregationStep",
        subjects: Tensor,
        times: Tensor,
        near: Neighborhood,
        vectors: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """One step: the mean over each neighbourhood, or the subject alone where it is empty.

        Neighbours are rows of the entity table unless they have `vectors` of their own. One place
        more than the facts drawn holds the subject itself, as it is met now: it counts only where
        it is alone.
        """
        counts = near.filled.sum(1, keepdim=True)
        alone = counts == 0
        shares = near.filled.to(self.entities.dtype) / counts.clamp(min=1)
        weights = torch.cat([shares, alone], dim=1)
        entities = torch.cat([near.entities, subjects[:, None]], dim=1)
        moments = functional.pad(near.deltas, (0, 1))
        if self.settings.time_encoding == "absolute":
            moments = moments + times[:, None]
        codes, index = self._code_table(moments)
        table: Tensor = self.entities
        own = None
        if vectors is not None:
            vectors = torch.cat([vectors, self.entities[subjects[:, None]]], dim=1)
        if self.settings.activation_inside:
            if vectors is None:
                table = step.of_entity(self.entities)
                of_entity = functional.embedding(entities, table)
            else:
                of_entity = step.of_entity(vectors)
            neighbors = self.activation(of_entity + step.of_time(codes)[index])
            inside = torch.einsum("bk,bkd->bd", weights, neighbors)
        else:
            # f is linear, so the mean goes first: no matrix product per neighbour.
            if vectors is None:
                rows = subjects if self.settings.own_vector else subjects[:0]
                mean, own, table = sums_and_table(self.entities, entities, weights, rows)
            else:
                mean = torch.einsum("bk,bkd->bd", weights, vectors)
            inside = step.inner(torch.cat([mean, weighted_sums(codes, index, weights)], dim=1))
        around = step.mix(inside, weighted_sums(self.relations, near.relations, shares))
        if self.settings.own_vector:
            around = around + (self.entities[subjects] if own is None else own)
        if self.settings.activation_inside:
            return torch.where(alone, inside, self.activation(around)), table
        return self.activation(torch.where(alone, inside, around)), table

    def time_codes(self, moments: Tensor) -> Tensor:
        """Φ: one cosine per coordinate, its frequency and phase learned."""
        angles = moments[..., None] * (self.frequencies * self.settings.time_factor) + self.phases
        codes = torch.cos(angles)
        return codes / self.settings.size**0.5 if self.settings.time_scaled else codes

    def _code_table(self, moments: Tensor) -> tuple[Tensor, Tensor]:
        """Codes and where each moment finds its own: every difference of the timeline at once."""
        fits = 2 * self.span - 1 <= min(MOST_TIME_CODES, moments.numel())
        if fits and (self.training or bool((moments.abs() < self.span).all())):
            table = torch.arange(1 - self.span, self.span, device=moments.device)
            return self.time_codes(table), moments + (self.span - 1)
        if moments.is_cuda and self.training:
            # A step that is recorded must not ask how many there are.
            index = torch.arange(moments.numel(), device=moments.device)
            return self.time_codes(moments.flatten()), index.view_as(moments)
        distinct, index = torch.unique(moments, return_inverse=True)
        return self.time_codes(distinct), index


class AggregationStep(nn.Module):
    """f(h_e ‖ Φ) = W1 h_e + W2 Φ + a, then W(· ‖ h_r) + b, each part where it is needed."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(2 * size, size)
        self.outer = nn.Linear(2 * size, size)
        nn.init.xavier_normal_(self.outer.weight)
        self.size = size

    @property
    def entity_weight(self) -> Tensor:
        return self.inner.weight.narrow(1, 0, self.size)

    def of_entity(self, vectors: Tensor) -> Tensor:
        return functional.linear(vectors, self.entity_weight)

    def of_time(self, codes: Tensor) -> Tensor:
        return functional.linear(codes, self.inner.weight[:, self.size :], self.inner.bias)

    def mix(self, inside: Tensor, relations: Tensor) -> Tensor:
        mixed: Tensor = self.outer(torch.cat([inside, relations], dim=-1))
        return mixed
