"""SimplE: score = ½ (⟨a_s, u_r, b_o⟩ + ⟨a_o, u′_r, b_s⟩), an entity being a as head, b as tail.

"SimplE Embedding for Link Prediction in Knowledge Graphs" (Kazemi and Poole, 2018). Asked for a
subject, the roles are exchanged, so reciprocal relations have no vectors of their own.
"""

import torch
from torch import Tensor

from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.models.factorization import StaticFactorization
from targcn.models.layers.arithmetic import in_parts


class SimplE(StaticFactorization):
    """Every entity and every relation has two vectors, one for each direction."""

    def add_tables(self, dataset: Dataset) -> None:
        self.relations = self.table(self.num_relations, 2)

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations % self.num_relations)
        there, back = relations.chunk(2, dim=-1)
        turned = (queries.relations >= self.num_relations)[:, None]
        forward, inverse = torch.where(turned, back, there), torch.where(turned, there, back)
        head, tail = subjects.chunk(2, dim=-1)
        # A candidate is (a_o, b_o): its head meets the subject's tail, its tail the subject's head.
        vectors = torch.cat([tail * inverse, head * forward], dim=-1) / 2
        return vectors, [in_parts(relations, 2)]
