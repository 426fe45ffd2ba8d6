"""What models share that learn from sampled negatives, because their score is not a product.

A model says how well some candidates answer each query. Sampling the negatives, the losses, and
scoring all entities one slice at a time are here.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from targcn.config import require_least
from targcn.devices import compiled
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import fact_codes
from targcn.graph.queries import Queries
from targcn.graph.random import combine, whole_numbers
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, ModelSettings

# Numbers laid out at once for the scores of a slice: on a CPU (False) they fit its cache.
NUMBERS_PER_SLICE = {False: 1 << 19, True: 1 << 25}
# Replaces the score of a sampled entity that is a true answer; it counts nothing in any loss.
NO_SCORE = -1e9


@dataclass(frozen=True)
class NegativeSamplingSettings(ModelSettings):
    dim: int = 100
    """Numbers per vector."""

    negatives: int = 64
    """Entities sampled for each query, which should score below its answer."""

    loss: Literal["softmax", "self-adversarial"] = "softmax"
    """Cross-entropy, or each score on its own, the negatives weighted by how well they score."""

    temperature: float = 0.5
    """How strongly the self-adversarial loss prefers the negatives that score best."""

    def __post_init__(self) -> None:
        require_least(self, dim=1, negatives=1, temperature=0)


@dataclass(frozen=True, eq=False)
class Negatives(Columns):
    """Entities sampled for each query, one row per query."""

    entities: Tensor
    # False where the context says that the entity is a true answer.
    wrong: Tensor


class NegativeSampling(Learner):
    """Scores some candidates or, slice by slice, all; a model adds its tables and `score`."""

    Settings = NegativeSamplingSettings
    settings: NegativeSamplingSettings
    # How many vectors of `dim` numbers a model lays out for one candidate of one query.
    layers: ClassVar[int] = 1

    def __init__(self, settings: NegativeSamplingSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        self.num_entities, self.num_relations = len(dataset.entities), len(dataset.relations)
        self.sample_width = settings.negatives
        self._score_all: Callable[..., Tensor] | None = None

    @abstractmethod
    def score(self, queries: Queries, candidates: Tensor) -> Tensor:
        """How well each query's candidates answer it; a single row of them is for all queries."""

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        """The softmax, which only cross-entropy trains; the other loss trains each score alone."""
        return super().log_probabilities(scores) if self.settings.loss == "softmax" else None

    def penalty(self) -> Tensor | float:
        """A term that is added to the loss of every step."""
        return 0.0

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        entities = torch.arange(self.num_entities, device=queries.subjects.device)[None]
        # For a single query torch would compile another kernel.
        if self._score_all is not None and len(queries) > 1:
            return self._score_all(self, queries, entities)
        return self._score_by_slice(queries, entities)

    def compile_scores(self) -> None:
        """Score all entities in one compiled kernel, which lays nothing out."""
        kind = type(self)
        if self._score_all is None:
            self._score_all = compiled(
                kind.score, instead=kind._score_by_slice, dynamic=True, fullgraph=True
            )

    def _score_by_slice(self, queries: Queries, entities: Tensor) -> Tensor:
        numbers = max(len(queries), 1) * self.settings.dim * self.layers
        size = max(NUMBERS_PER_SLICE[entities.is_cuda] // numbers, 1)
        starts = range(0, self.num_entities, size)
        slices = [self.score(queries, entities[:, first : first + size]) for first in starts]
        return torch.cat(slices, dim=1)

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> Negatives:
        """Entities sampled for each query, and whether each is a wrong answer."""
        rows = combine(seeds, queries.subjects, queries.relations, queries.times, answers)
        columns = torch.arange(self.settings.negatives, device=rows.device)
        entities = whole_numbers(rows[:, None], columns, self.num_entities)
        said = queries.subjects[:, None], queries.relations[:, None], entities
        times = queries.times[:, None].expand_as(entities)
        *_, num_known = context.triples.look(fact_codes(context, *said), times)
        return Negatives(entities, wrong=num_known == 0)

    def loss(
        self, queries: Queries, answers: Tensor, sample: Negatives, others: Tensor | None = None
    ) -> Tensor:
        """The answers against the sampled entities, and the penalty."""
        scores = self.score(queries, torch.cat([answers[:, None], sample.entities], dim=1))
        right, others = scores[:, 0], scores[:, 1:].masked_fill(~sample.wrong, NO_SCORE)
        if self.settings.loss == "softmax":
            loss = softmax_loss(right, others)
        else:
            loss = self_adversarial_loss(right, others, self.settings.temperature)
        return loss + self.penalty()


def softmax_loss(right: Tensor, others: Tensor) -> Tensor:
    """Cross-entropy of the answer among the others, on average."""
    return (torch.logsumexp(torch.cat([right[:, None], others], dim=1), dim=1) - right).mean()


def self_adversarial_loss(right: Tensor, others: Tensor, temperature: float) -> Tensor:
    """Push the answer's score above 0 and the others below it; those that score best count most."""
    warmed = torch.where(others > NO_SCORE, temperature * others, NO_SCORE)
    weights = torch.softmax(warmed, dim=1)
    of_others = (weights * functional.softplus(others)).sum(1)
    return (functional.softplus(-right) + of_others).mean() / 2


def rows_of(table: Tensor, index: Tensor) -> Tensor:
    """The rows of a table at an index of any shape; their backward pass needs no sorting."""
    return table.index_select(0, index.flatten()).view(*index.shape, *table.shape[1:])
