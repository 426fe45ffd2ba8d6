"""DistMult: score = Σ s ⊙ r ⊙ o.

"Embedding Entities and Relations for Learning and Inference in Knowledge Bases" (Yang et al.,
2015). Knows no time and no direction; the reciprocal relations give it one.
"""

from torch import Tensor

from targcn.facts.dataset import Dataset
from targcn.models.arithmetic import in_parts
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization


class DistMult(Factorization):
    """Real vectors, multiplied number by number."""

    parts = 1

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 1)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        return subjects * relations, [in_parts(relations, 1)]
