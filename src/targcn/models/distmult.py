"""DistMult: score = Σ s ⊙ r ⊙ o.

"Embedding Entities and Relations for Learning and Inference in Knowledge Bases" (Yang et al.,
2015). It ignores time, and direction too but for the vectors of the reciprocal relations.
"""

from torch import Tensor

from targcn.graph.queries import Queries
from targcn.models.factorization import StaticFactorization
from targcn.models.layers.arithmetic import in_parts


class DistMult(StaticFactorization):
    """Real vectors, multiplied number by number."""

    parts = relation_parts = 1

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        return subjects * relations, [in_parts(relations, 1)]
