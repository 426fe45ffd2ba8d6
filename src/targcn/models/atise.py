"""ATiSE: entities and relations are normal distributions that drift and swing with time.

"Temporal Knowledge Graph Completion Based on Time Series Gaussian Embedding" (Xu et al., 2020).
The mean of each is e + w u + β sin(2π ω u), where u is the share of the timeline that has passed.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from targcn.config import require_least, require_positive
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import reciprocal_of
from targcn.models.negative_sampling import NegativeSampling, NegativeSamplingSettings, rows_of


@dataclass(frozen=True)
class ATiSESettings(NegativeSamplingSettings):
    loss: Literal["softmax", "self-adversarial"] = "self-adversarial"
    """Cross-entropy, or each score on its own, the negatives weighted by how well they score."""

    bucket: int = 1
    """Ticks that count as one time."""

    least_variance: float = 0.003
    """The smallest variance; the largest is a hundred times as much."""

    margin: float = 120.0
    """The energy at which a fact is as likely true as false."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_least(self, bucket=1)
        require_positive(self, "least_variance")


class ATiSE(NegativeSampling):
    """score = 2 · margin − the energies of the fact and of its reciprocal.

    The energy is a quarter of the symmetric divergence between the relation's distribution and that
    of subject minus object.
    """

    Settings = ATiSESettings
    settings: ATiSESettings

    def __init__(self, settings: ATiSESettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        last = int(dataset.timeline.ticks[-1]) if len(dataset.timeline.ticks) else 0
        self.num_buckets = last // settings.bucket + 1
        self.entities = Gaussians(self.num_entities, settings, self.num_buckets)
        self.relations = Gaussians(2 * self.num_relations, settings, self.num_buckets)

    def embeddings(self) -> dict[str, Tensor]:
        return dict(self.named_parameters())

    def score(self, queries: Queries, candidates: Tensor) -> Tensor:
        buckets = torch.div(queries.times, self.settings.bucket, rounding_mode="floor")
        passed = (buckets.to(self.entities.start.dtype) / self.num_buckets)[:, None, None]
        means, variances = self.entities(candidates, passed)
        own, own_variance = self.entities(queries.subjects[:, None], passed)
        back = reciprocal_of(queries.relations, self.num_relations)
        wanted = [self.relations(which[:, None], passed) for which in (queries.relations, back)]
        return 2 * self.settings.margin - energies(own - means, own_variance + variances, *wanted)


class Gaussians(nn.Module):
    """Normal distributions, one per row, whose means move with time."""

    def __init__(self, num_rows: int, settings: ATiSESettings, num_buckets: int) -> None:
        super().__init__()
        self.least = settings.least_variance
        reach = 6 / math.sqrt(settings.dim)
        shape = (num_rows, settings.dim)
        self.start = nn.Parameter(torch.empty(shape).uniform_(-reach, reach))
        self.drift = nn.Parameter(torch.zeros(shape))
        self.swing = nn.Parameter(torch.zeros(shape))
        # Turns in the whole timeline: initially up to `reach` of them per bucket.
        self.turns = nn.Parameter(torch.empty(shape).uniform_(-reach, reach) * num_buckets)
        self.spread = nn.Parameter(torch.rand(shape).clamp(1e-3, 1 - 1e-3).logit())

    def forward(self, index: Tensor, passed: Tensor) -> tuple[Tensor, Tensor]:
        """The means and variances of these rows when this share of the timeline has passed."""
        starts = rows_of(self.start, index)
        # No start is longer than 1.
        starts = starts / starts.norm(dim=-1, keepdim=True).clamp(min=1)
        swings = torch.sin(2 * math.pi * passed * rows_of(self.turns, index))
        means = starts + passed * rows_of(self.drift, index) + rows_of(self.swing, index) * swings
        return means, self.least * (1 + 99 * torch.sigmoid(rows_of(self.spread, index)))


def energies(
    between: Tensor, of_ends: Tensor, there: tuple[Tensor, Tensor], back: tuple[Tensor, Tensor]
) -> Tensor:
    """The sum of the energies of each fact and of its reciprocal.

    With D = μ_s − μ_o, V = σ_s + σ_o and the relation's μ and σ, the energy of a fact is
    ¼ Σ [V/σ + σ/V − 2 + (D − μ)² (1/σ + 1/V)]; its reciprocal has −D and the reciprocal relation.
    The squares are expanded, so that tensors as large as all pairs are read only a few times.
    """
    (mean, variance), (mean_back, variance_back) = there, back
    narrow, narrow_back = 1 / variance, 1 / variance_back
    square = between.square()
    sizes = variance + variance_back + mean.square() + mean_back.square()
    over_ends = torch.addcmul(sizes, between, 2 * (mean_back - mean)) + 2 * square
    over_relation = (of_ends + square) * (narrow + narrow_back)
    mixed = 2 * (narrow_back * mean_back - narrow * mean)
    rest = narrow * mean.square() + narrow_back * mean_back.square() - 4
    total = torch.addcmul(over_relation, between, mixed) + over_ends / of_ends
    return (total.sum(-1) + rest.sum(-1)) / 4
