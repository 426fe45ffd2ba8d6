"""TComplEx: score = Re Σ s ⊙ (r ⊙ τ) ⊙ conj(o), where τ is the time's vector.

"Tensor Decompositions for Temporal Knowledge Base Completion" (Lacroix et al., 2020).
"""

from torch import Tensor

from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization
from targcn.models.layers.arithmetic import complex_product, in_parts


class TComplEx(Factorization):
    """ComplEx whose relations are modulated by the time."""

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        timed = complex_product(relations, self.times(queries.times))
        return complex_product(subjects, timed), [in_parts(timed, 2)]
