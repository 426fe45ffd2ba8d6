"""TeLM: score = ⟨s ⊗ (r ⊗ τ), o⟩ in the geometric algebra of grade 2.

"Temporal Knowledge Graph Completion Using a Linear Temporal Regularizer and Multivector
Embeddings" (Xu et al., 2021). A number has four parts: 1, e₁, e₂ and e₁₂, with e₁² = e₂² = 1.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.facts.dataset import Dataset
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization, TimeTable, squared


class TeLM(Factorization):
    """Multivectors; from one time to the next they are to change by a learned step."""

    parts = 4
    # The powers of changes are taken of pairs: 1 with e₂, e₁ with e₁₂.
    time_parts = 2

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 4)
        self.times = TimeTable(dataset, self.table(len(dataset.timeline.ticks), 4))
        # Only the regulariser knows it: without one there is nothing to learn.
        learned = self.settings.time_weight > 0
        self.step = nn.Parameter(torch.zeros(4 * self.settings.rank), requires_grad=learned)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = functional.embedding(queries.relations, self.relations)
        timed = geometric_product(relations, self.times(queries.times))
        one, e1, e2, e12 = geometric_product(subjects, timed).chunk(4, dim=-1)
        return torch.cat([one, -e1, -e2, e12], dim=-1), [squared(timed, 4)]

    def time_changes(self) -> Tensor:
        """The changes less the learned step."""
        return super().time_changes() - self.step


def geometric_product(one: Tensor, other: Tensor) -> Tensor:
    """Multivectors multiplied, their four parts lying side by side.

    >>> e1, e2 = torch.tensor([0.0, 1, 0, 0]), torch.tensor([0.0, 0, 1, 0])
    >>> geometric_product(e1, e2).tolist(), geometric_product(e1, e1).tolist()
    ([0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0])
    """
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
