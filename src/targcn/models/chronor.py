"""ChronoR: score = ⟨s ∘ [r | τ] ∘ r₂, o⟩, a rotation part relation, part time, then a lasting one.

"ChronoR: Rotation Based Temporal Knowledge Graph Embedding" (Sadeghian et al., 2021), with k = 2,
where a rotation is a product of complex numbers. Regularised by fourth powers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.models.arithmetic import complex_product, in_parts
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization, FactorSettings


@dataclass(frozen=True)
class ChronoRSettings(FactorSettings):
    """ChronoR's own: the power of its regularisers, and how a rotation is shared."""

    power: int = 4
    """The power of both regularisers."""

    relation_share: float = 0.5
    """Share of a rotation's numbers that the relation gives; the time gives the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank < 2:
            raise InputError(f"rank is {self.rank}; relation and time need at least 1 number each")
        if not 0 < self.relation_share < 1:
            raise InputError(f"relation_share is {self.relation_share}; between 0 and 1, please")


class ChronoR(Factorization):
    """Complex vectors turned by relation and time side by side."""

    Settings = ChronoRSettings

    def add_tables(self, dataset: Dataset) -> None:
        settings = self.settings
        assert isinstance(settings, ChronoRSettings)
        of_relation = round(settings.rank * settings.relation_share)
        of_relation = min(max(of_relation, 1), settings.rank - 1)
        self.relations = self.table(2 * self.num_relations, 2, of_relation)
        self.lasting = self.table(2 * self.num_relations, 2)
        self.times = self.time_table(dataset, 2, settings.rank - of_relation)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        lasting = self.lasting.index_select(0, queries.relations)
        real, imaginary = relations.chunk(2, dim=-1)
        real_too, imaginary_too = self.times(queries.times).chunk(2, dim=-1)
        rotation = torch.cat([real, real_too, imaginary, imaginary_too], dim=-1)
        vectors = complex_product(complex_product(subjects, rotation), lasting)
        return vectors, [in_parts(rotation, 2), in_parts(lasting, 2)]
