"""ChronoR: score = ⟨s ∘ [r | τ] ∘ r₂, o⟩: s is rotated by relation and time, then by r₂.

"ChronoR: Rotation Based Temporal Knowledge Graph Embedding" (Sadeghian et al., 2021) with k = 2,
where a rotation is a product of complex numbers; regularised by fourth powers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization, FactorSettings
from targcn.models.layers.arithmetic import complex_product, in_parts


@dataclass(frozen=True)
class ChronoRSettings(FactorSettings):
    power: int = 4
    """The power of both regularisers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise InputError(f"dim is {self.dim}; relation and time need at least 1 number each")


class ChronoR(Factorization):
    """Complex vectors, rotated by relation and time side by side."""

    Settings = ChronoRSettings
    settings: ChronoRSettings

    def add_tables(self, dataset: Dataset) -> None:
        # Half of a rotation's numbers come from the relation, the others from the time.
        of_relation = round(self.settings.dim / 2)
        self.relations = self.table(2 * self.num_relations, 2, of_relation)
        self.lasting = self.table(2 * self.num_relations, 2)
        self.times = self.time_table(dataset, 2, self.settings.dim - of_relation)

    def embeddings(self) -> dict[str, Tensor]:
        return super().embeddings() | {"relations.lasting": self.lasting}

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        lasting = self.lasting.index_select(0, queries.relations)
        real, imaginary = relations.chunk(2, dim=-1)
        real_too, imaginary_too = self.times(queries.times).chunk(2, dim=-1)
        rotation = torch.cat([real, real_too, imaginary, imaginary_too], dim=-1)
        vectors = complex_product(complex_product(subjects, rotation), lasting)
        return vectors, [in_parts(rotation, 2), in_parts(lasting, 2)]
