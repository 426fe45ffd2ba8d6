"""One aggregation step of TARGCN: equations 1 and 2 of the paper.

    (1)  h_(e,t) = f(h_e ‖ Φ(t − t_q))               f(h_e ‖ Φ) = F_e h_e + F_Φ Φ + f_0
    (2)  h_(s,t_q) = mean of W(h_(e,t) ‖ h_r)        W(x ‖ h_r) = W_x x + W_r h_r + w_0

The mean is over the sampled neighbours (e, r, t) of the subject s. A subject without any stands in
as its own neighbour at Δ = 0: its vector is f(h_s ‖ Φ(0)).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from targcn.graph.neighbors import Neighborhood
from targcn.models.layers.sums import sums_and_table, weighted_sums


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The neighbours of each subject, and the tables of their entities, relations and codes.

    The codes have one column more, the last, which is Φ of the query's own time.
    """

    subjects: Tensor
    facts: Neighborhood
    codes: Tensor
    entity_table: Tensor
    relation_table: Tensor
    code_table: Tensor
    # The neighbours' vectors h_e, where they are not rows of the entity table.
    vectors: Tensor | None = None

    def shares(self) -> tuple[Tensor, Tensor]:
        """The share of each neighbour in the mean, and whether a subject has no neighbours."""
        filled = self.facts.filled
        counts = filled.sum(1, keepdim=True)
        return filled.to(self.entity_table.dtype) / counts.clamp(min=1), counts == 0


class Aggregator(nn.Module):
    """The layers f and W of one step, and the subject's own vector if it is to be added.

    No product per neighbour is left, since f is linear: the mean of W(f(h_e ‖ Φ) ‖ h_r) is
    W(f(mean h_e ‖ mean Φ) ‖ mean h_r), and the means are sums of table rows. The subject is one
    neighbour more, which counts only if it is the only one.
    """

    def __init__(self, dim: int, relation_dim: int, own_vector: bool = False) -> None:
        super().__init__()
        self.dim, self.own_vector = dim, own_vector
        self.f = nn.Linear(2 * dim, dim)
        self.W = nn.Linear(dim + relation_dim, dim)
        nn.init.xavier_normal_(self.W.weight)

    def forward(self, near: Neighbors) -> tuple[Tensor, Tensor]:
        """Each subject's vector before the last activation, and the entity table to go on with."""
        shares, alone = near.shares()
        weights = torch.cat([shares, alone], dim=1)
        subjects = near.subjects[:, None]
        if near.vectors is None:
            entities = torch.cat([near.facts.entities, subjects], dim=1)
            rows = near.subjects if self.own_vector else near.subjects[:0]
            mean, own, table = sums_and_table(near.entity_table, entities, weights, rows)
        else:
            vectors = torch.cat([near.vectors, near.entity_table[subjects]], dim=1)
            mean = torch.einsum("bk,bkd->bd", weights, vectors)
            own, table = vectors[:, -1], near.entity_table
        codes = weighted_sums(near.code_table, near.codes, weights)
        relations = weighted_sums(near.relation_table, near.facts.relations, shares)
        encoded = self.f(torch.cat([mean, codes], dim=1))  # equation 1, of the means
        around = self.W(torch.cat([encoded, relations], dim=1))  # equation 2, of the means
        if self.own_vector:
            around = around + own
        return torch.where(alone, encoded, around), table

    @property
    def entity_weight(self) -> Tensor:
        """F_e."""
        return self.f.weight.narrow(1, 0, self.dim)
