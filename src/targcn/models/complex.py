"""ComplEx: score = Re Σ s ⊙ r ⊙ conj(o).

"Complex Embeddings for Simple Link Prediction" (Trouillon et al., 2016), with the N3 regulariser
of "Canonical Tensor Decomposition for Knowledge Base Completion" (Lacroix et al., 2018).
"""

from torch import Tensor

from targcn.graph.queries import Queries
from targcn.models.factorization import StaticFactorization
from targcn.models.layers.arithmetic import complex_product, in_parts


class ComplEx(StaticFactorization):
    """Complex vectors, multiplied number by number."""

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        return complex_product(subjects, relations), [in_parts(relations, 2)]
