"""TComplEx: score = Re Σ s ⊙ (r ⊙ τ) ⊙ conj(o), τ a vector of the time.

"Tensor Decompositions for Temporal Knowledge Base Completion" (Lacroix et al., 2020).
"""

from torch import Tensor
from torch.nn import functional

from targcn.facts.dataset import Dataset
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization, TimeTable, complex_product, squared


class TComplEx(Factorization):
    """ComplEx whose relations are modulated by the time."""

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(2 * self.num_relations, 2)
        self.times = TimeTable(dataset, self.table(len(dataset.timeline.ticks), 2))

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = functional.embedding(queries.relations, self.relations)
        timed = complex_product(relations, self.times(queries.times))
        return complex_product(subjects, timed), [squared(timed, 2)]
