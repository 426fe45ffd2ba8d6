"""SimplE: score = ½ (⟨a_s, u_r, b_o⟩ + ⟨a_o, u′_r, b_s⟩), a and b an entity as head and as tail.

"SimplE Embedding for Link Prediction in Knowledge Graphs" (Kazemi and Poole, 2018). Knows no time.
A query for a subject is the same score with the roles exchanged, so reciprocal relations have no
vectors of their own.
"""

import torch
from torch import Tensor

from targcn.facts.dataset import Dataset
from targcn.models.arithmetic import in_parts
from targcn.models.contract import Queries
from targcn.models.factorization import Factorization


class SimplE(Factorization):
    """Every entity and every relation has two vectors, one for each direction."""

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(self.num_relations, 2)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations % self.num_relations)
        there, back = relations.chunk(2, dim=-1)
        turned = (queries.relations >= self.num_relations)[:, None]
        forward, inverse = torch.where(turned, back, there), torch.where(turned, there, back)
        head, tail = subjects.chunk(2, dim=-1)
        # A candidate is (a_o, b_o): the subject's tail meets its head, the subject's head its tail.
        vectors = torch.cat([tail * inverse, head * forward], dim=-1) / 2
        return vectors, [in_parts(relations, 2)]
