"""DistMult: score = Σ s ⊙ r ⊙ o.

"Embedding Entities and Relations for Learning and Inference in Knowledge Bases" (Yang et al.,
2015). Knows no time and no direction; the reciprocal relations give it one.
"""

from torch import Tensor
from torch.nn import functional

from targcn.facts.dataset import Dataset
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization, squared


class DistMult(Factorization):
    """Real vectors, multiplied number by number."""

    parts = 1

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 1)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = functional.embedding(queries.relations, self.relations)
        return subjects * relations, [squared(relations, 1)]
