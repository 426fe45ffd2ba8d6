"""TNTComplEx: score = Re Σ s ⊙ (r ⊙ τ + r′) ⊙ conj(o), where r′ does not depend on the time.

"Tensor Decompositions for Temporal Knowledge Base Completion" (Lacroix et al., 2020).
"""

from torch import Tensor

from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization
from targcn.models.layers.arithmetic import complex_product, in_parts


class TNTComplEx(Factorization):
    """The sum of TComplEx and ComplEx over the same entities."""

    # Subject and object are factors of both, so their powers count twice.
    entity_share = 2.0

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 2)
        self.lasting = self.table(2 * self.num_relations, 2)
        self.times = self.time_table(dataset, 2)

    def embeddings(self) -> dict[str, Tensor]:
        return super().embeddings() | {"relations.lasting": self.lasting}

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations)
        timed = complex_product(relations, self.times(queries.times))
        lasting = self.lasting.index_select(0, queries.relations)
        vectors = complex_product(subjects, timed + lasting)
        return vectors, [in_parts(timed, 2), in_parts(lasting, 2)]
