"""TCompoundE: score = Σ (s + b_r) ⊙ ((a_r + a_τ) ⊙ c_τ) ⊙ o.

"Simple but Effective Compound Geometric Operations for Temporal Knowledge Graph Completion"
(Ying et al., 2024).
"""

import math

import torch
from torch import Tensor

from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization


class TCompoundE(Factorization):
    """Real vectors, moved by the relation and scaled by relation and time."""

    parts = 1

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations) * math.pi
        scale, move = relations.chunk(2, dim=-1)
        time_move, time_scale = self.times(queries.times).chunk(2, dim=-1)
        timed = (scale + time_move) * time_scale
        return (subjects + move) * timed, [torch.stack([timed, move], dim=-2)]
