"""TeLM: score = ⟨s ⊗ (r ⊗ τ), o⟩ in the geometric algebra of grade 2.

"Temporal Knowledge Graph Completion Using a Linear Temporal Regularizer and Multivector
Embeddings" (Xu et al., 2021). A number has four parts: 1, e₁, e₂ and e₁₂, with e₁² = e₂² = 1.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from targcn.config import require_least
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization, FactorSettings
from targcn.models.layers.arithmetic import in_parts


@dataclass(frozen=True)
class TeLMSettings(FactorSettings):
    warm_up: int = 15
    """Initial epochs in which only 1 and e₁₂ are used, which make complex numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_least(self, warm_up=0)


class TeLM(Factorization):
    """Multivectors; from one time to the next they should change by a learned step."""

    Settings = TeLMSettings
    parts = 4
    # The powers of changes are those of pairs: 1 with e₂, e₁ with e₁₂.
    time_parts = 2
    settings: TeLMSettings

    def add_tables(self, dataset: Dataset) -> None:
        # 1 for each of the parts 1, e₁, e₂ and e₁₂ that is in use, else 0.
        self.register_buffer("in_use", torch.ones(4))
        self.in_use: Tensor
        if self.settings.warm_up:
            with torch.no_grad():
                self.entities.view(-1, 4, self.settings.dim)[:, 1:3] = 0
        self.relations = self.table(2 * self.num_relations, 4)
        self.times = self.time_table(dataset, 4)
        # Only the regulariser uses it: without that there is nothing to learn.
        learned = self.settings.time_weight > 0
        self.step = nn.Parameter(torch.zeros(4 * self.settings.dim), requires_grad=learned)

    def start_epoch(self, epoch: int) -> None:
        """Use e₁ and e₂ once the warm-up is over."""
        self.in_use[1:3] = float(epoch >= self.settings.warm_up)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        timed = geometric_product(self.mask(relations), self.mask(self.times(queries.times)))
        one, e1, e2, e12 = geometric_product(self.mask(subjects), timed).chunk(4, dim=-1)
        return torch.cat([one, -e1, -e2, e12], dim=-1), [in_parts(timed, 4)]

    def mask(self, multivectors: Tensor) -> Tensor:
        """The multivectors with 0 in the parts that are not in use."""
        parts = multivectors.view(-1, 4, self.settings.dim) * self.in_use[:, None]
        return parts.view_as(multivectors)

    def time_changes(self) -> Tensor:
        """The changes minus the learned step."""
        return self.mask(super().time_changes() - self.step)


def geometric_product(one: Tensor, other: Tensor) -> Tensor:
    """The product of multivectors, whose four parts lie one after another."""
    a0, a1, a2, a3 = one.chunk(4, dim=-1)
    b0, b1, b2, b3 = other.chunk(4, dim=-1)
    return torch.cat(
        [
            a0 * b0 + a1 * b1 + a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 - a2 * b3 + a3 * b2,
            a0 * b2 + a2 * b0 + a1 * b3 - a3 * b1,
            a1 * b2 - a2 * b1 + a0 * b3 + a3 * b0,
        ],
        dim=-1,
    )
