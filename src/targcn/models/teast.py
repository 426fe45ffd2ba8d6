"""TeAST: score = Re Σ s ⊙ ρ ⊙ conj(o), where ρ = πr ⊙ τ + the time's phase on a spiral.

"TeAST: Temporal Knowledge Graph Embedding via Archimedean Spiral Timeline" (Li et al., 2023).
"""

import math

import torch
from torch import Tensor

from targcn.graph.queries import Queries
from targcn.models.factorization import Factorization
from targcn.models.layers.arithmetic import complex_product, in_parts


class TeAST(Factorization):
    """TComplEx with relations on a spiral: each time adds a phase as well."""

    # A time has a complex number τ and two phases.
    time_parts = 4

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        relations = self.relations.index_select(0, queries.relations) * math.pi
        turns, phases = self.times(queries.times).chunk(2, dim=-1)
        one, other = torch.sin(phases.abs()).chunk(2, dim=-1)
        timed = complex_product(relations, turns) + torch.cat([one - other, one + other], dim=-1)
        return complex_product(subjects, timed), [in_parts(timed, 2)]
