"""The entities that the prior of the evidence model may rank high, of millions.

All others are represented by a random sample of them: it tells how much probability they share,
not which of them is best. So one of these that has no evidence is no answer.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from targcn.models.base import NO_ENTITY, Shortlist
from targcn.models.layers.candidates import SomeScores, is_among

if TYPE_CHECKING:
    from targcn.models.evidence import Evidence

# Rows of the table of entities looked at together.
ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Listed:
    """The listed entities, then the sample of the others, and what each stands for."""

    entities: Tensor
    # Their vectors and biases, side by side: looked up one by one they would take longest.
    vectors: Tensor
    bias: Tensor
    num_listed: int
    log_weights: Tensor

    def beside(self, scored: SomeScores, asked: Tensor | None) -> Shortlist:
        """The entities with evidence and the listed ones; each entity has one column."""
        prior = self.bias if asked is None else torch.addmm(self.bias, asked, self.vectors.T)
        each = self.entities.expand(len(scored.entities), -1)
        prior = prior.expand_as(each).masked_fill(is_among(each, scored.entities), -torch.inf)
        is_none = scored.entities == NO_ENTITY
        names = each.clone()
        names[:, self.num_listed :] = NO_ENTITY
        return Shortlist(
            torch.cat([scored.entities, names], dim=1),
            torch.cat([scored.values.masked_fill(is_none, -torch.inf), prior], dim=1),
            torch.cat([scored.values.new_zeros(scored.values.shape[1]), self.log_weights]),
        )


class ShortlistOfPrior:
    """Listed entities, found again only when the weights have changed."""

    # From so many entities on, not all of them are scored.
    FROM: ClassVar[int] = 1_000_000
    LISTED: ClassVar[int] = 1 << 16
    SAMPLED: ClassVar[int] = 1 << 12

    def __init__(self) -> None:
        self.latest: tuple[tuple[int, ...], Listed] | None = None

    def __deepcopy__(self, memo: object) -> "ShortlistOfPrior":
        return ShortlistOfPrior()

    def of(self, model: "Evidence", count: int) -> Listed:
        """At least `count` entities, and the sample of the others."""
        weights = model.prior_bias, model.prior_objects, model.prior_subjects
        state = (count, *(number for one in weights for number in (one.data_ptr(), one._version)))
        if self.latest is None or self.latest[0] != state:
            self.latest = state, self._find(model, count)
        return self.latest[1]

    @torch.no_grad()
    def _find(self, model: "Evidence", count: int) -> Listed:
        num_entities = len(model.prior_bias)
        size = min(max(count, self.LISTED), num_entities)
        bounds = torch.cat(
            [
                model.prior_bias[first : first + ROWS_AT_ONCE]
                + typical_norm(model)
                * model.prior_objects[first : first + ROWS_AT_ONCE].norm(dim=1)
                for first in range(0, num_entities, ROWS_AT_ONCE)
            ]
        )
        listed = torch.topk(bounds, size).indices
        is_listed = torch.zeros(num_entities, dtype=torch.bool, device=listed.device)
        is_listed[listed] = True
        others = (~is_listed).nonzero().flatten()
        generator = torch.Generator().manual_seed(0)
        num_sampled = min(self.SAMPLED, len(others))
        chosen = torch.randperm(len(others), generator=generator)[:num_sampled]
        stands_for = torch.full((num_sampled,), len(others) / max(num_sampled, 1)).log()
        log_weights = torch.cat([torch.zeros(size), stands_for]).to(bounds)
        found = torch.cat([listed, others[chosen.to(others.device)]])
        return Listed(found, model.prior_objects[found], model.prior_bias[found], size, log_weights)


def typical_norm(model: "Evidence") -> Tensor:
    """How long the vectors are that the prior compares with those of the entities."""
    relations, subjects = model.prior_relations, model.prior_subjects[:ROWS_AT_ONCE]
    squares = [vectors.square().sum(1).mean() for vectors in (relations, subjects)]
    return torch.stack(squares).sum().sqrt()
