"""Evidence among millions of entities: not all of them are scored.

In training, the sum over all entities in a softmax is estimated from those with evidence, which are
few and count as they are, and from drawn ones, each of which stands for 1 / (its expected number of
draws) entities. The estimate is right on average, whatever is drawn.

An answer is looked for among the entities with evidence and those that the prior may rank high. A
random sample of the others tells how much probability they share, not which of them is best.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor
from torch.nn import functional

from targcn.graph.columns import Columns
from targcn.graph.random import combine, whole_numbers
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import NO_ENTITY, Shortlist

if TYPE_CHECKING:
    from targcn.models.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Drawn(Columns):
    """Entities drawn for all queries of a step alike, and how often each was to be expected."""

    entities: Tensor
    log_expected: Tensor

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return self


def draw_entities(context: TemporalGraph, count: int, seed: Tensor) -> Drawn:
    """Half of them at random, half in proportion to their facts: these are the likely rivals."""
    places = torch.arange(count, device=seed.device)
    rows = combine(seed[:1], torch.zeros_like(seed[:1]))
    num_facts, num_entities = len(context), context.num_entities
    entities = whole_numbers(rows, places, num_entities)
    if num_facts:
        # Two numbers of 31 bits: there may be more facts than one of them can count.
        high, low = (whole_numbers(rows + turn, places, 1 << 31) for turn in (1, 2))
        facts = ((high << 31) + low) % num_facts
        entities = torch.where(places % 2 == 0, context.subjects[facts].long(), entities)
    num_by_fact = (count + 1) // 2 if num_facts else 0
    degrees = context.offsets[entities + 1] - context.offsets[entities]
    expected = degrees * (num_by_fact / max(num_facts, 1)) + (count - num_by_fact) / num_entities
    return Drawn(entities, expected.log())


def sampled_cross_entropy(
    entities: Tensor,
    scores: Tensor,
    answers: Tensor,
    drawn: Drawn,
    drawn_scores: Tensor,
    others: Tensor | None,
) -> Tensor:
    """Cross-entropy of the answers against an estimate of the sum over all entities.

    Each row of `entities` is sorted and holds the answer. Other true answers do not count.
    """
    is_answer = entities == answers[:, None]
    each = drawn.entities.expand(len(answers), -1)
    leaves, drawn_leaves = torch.zeros_like(is_answer), is_among(each, entities)
    if others is not None:
        known = others.sort(dim=1).values
        leaves = is_among(entities, known) & ~is_answer
        drawn_leaves |= is_among(each, known)
    rivals = [
        scores.masked_fill(leaves, -torch.inf),
        (drawn_scores - drawn.log_expected).masked_fill(drawn_leaves, -torch.inf),
    ]
    return functional.cross_entropy(torch.cat(rivals, dim=1), is_answer.long().argmax(1))


def products_of_rows(vectors: Tensor, table: Tensor, which: Tensor) -> Tensor:
    """vectors[i] · table[which[i, j]] for each i, j."""
    return torch.bmm(functional.embedding(which, table), vectors[..., None]).squeeze(2)


def is_among(values: Tensor, sorted_rows: Tensor) -> Tensor:
    """Which values of each row stand in the sorted row of the same number.

    >>> is_among(torch.tensor([[5, 2]]), torch.tensor([[2, 4]])).tolist()
    [[False, True]]
    """
    places = torch.searchsorted(sorted_rows, values.contiguous())
    return sorted_rows.gather(1, places.clamp(max=sorted_rows.shape[1] - 1)) == values


@dataclass(frozen=True)
class ShortlistSizes:
    """From how many entities on not all are scored; how many are listed, and drawn of the rest."""

    least_entities: int = 1_000_000
    listed: int = 1 << 16
    drawn: int = 1 << 12


@dataclass(frozen=True, eq=False)
class Listed:
    """The entities that the prior may rank high, then a sample of the others, without names."""

    entities: Tensor
    names: Tensor
    # How many entities each stands for.
    log_weights: Tensor
    # Their biases and vectors, side by side: looked up one by one they would take longest.
    bias: Tensor
    vectors: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, model: "Evidence", count: int, sizes: ShortlistSizes) -> Self:
        """At least `count` entities: those of the largest bias and the longest vectors."""
        bias, vectors = model.prior_bias, model.prior_objects
        # How long the vectors are that the prior compares with those of the entities.
        asked = (table.norm(dim=1) for table in (model.prior_relations, model.prior_subjects))
        typical = torch.stack([lengths.square().mean() for lengths in asked]).sum().sqrt()
        bounds = torch.addcmul(bias, vectors.norm(dim=1), typical)
        listed = torch.topk(bounds, min(max(count, sizes.listed), len(bias))).indices
        others = torch.ones_like(bias, dtype=torch.bool).index_fill_(0, listed, False)
        others = others.nonzero().flatten()
        order = torch.randperm(len(others), generator=torch.Generator().manual_seed(0))
        drawn = others[order[: sizes.drawn].to(others.device)]
        entities = torch.cat([listed, drawn])
        stands_for = bias.new_full((len(drawn),), len(others) / max(len(drawn), 1)).log()
        return cls(
            entities,
            torch.cat([listed, torch.full_like(drawn, NO_ENTITY)]),
            torch.cat([bias.new_zeros(len(listed)), stands_for]),
            bias[entities],
            vectors[entities],
        )

    def beside(self, entities: Tensor, scores: Tensor, asked: Tensor) -> Shortlist:
        """The entities with evidence and the listed ones; each entity has one column."""
        prior = torch.addmm(self.bias, asked, self.vectors.T)
        has_evidence = is_among(self.entities.expand(len(entities), -1), entities)
        return Shortlist(
            torch.cat([entities, self.names.expand(len(entities), -1)], dim=1),
            torch.cat([scores, prior.masked_fill(has_evidence, -torch.inf)], dim=1),
            torch.cat([self.log_weights.new_zeros(entities.shape[1]), self.log_weights]),
        )
