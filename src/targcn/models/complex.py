"""ComplEx: score = Re Σ s ⊙ r ⊙ conj(o).

"Complex Embeddings for Simple Link Prediction" (Trouillon et al., 2016), with the N3 regulariser
of "Canonical Tensor Decomposition for Knowledge Base Completion" (Lacroix et al., 2018). Knows no
time.
"""

from torch import Tensor
from torch.nn import functional

from targcn.facts.dataset import Dataset
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization, complex_product, squared


class ComplEx(Factorization):
    """Complex vectors, multiplied number by number."""

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 2)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = functional.embedding(queries.relations, self.relations)
        return complex_product(subjects, relations), [squared(relations, 2)]
