"""Evidence among millions of entities: not all of them are scored.

Those that evidence ends in are few, and are scored as they are. Of the others the prior alone
scores some, the rivals, each of which stands for a number of entities.

In training rivals are drawn, and each stands for 1 / (its expected number of draws) entities: the
estimate of the sum over all entities in a softmax is right on average, whatever is drawn. An answer
is looked for among those that the prior may rank high; a random sample of the rest tells how much
probability they share, not which of them is best.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor
from torch.nn import functional

from targcn.graph.columns import Columns
from targcn.graph.random import combine, whole_numbers
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Shortlist

if TYPE_CHECKING:
    from targcn.models.evidence import Evidence

# From how many entities on not all are scored to answer; how many the prior may rank high, and how
# many are drawn of the rest.
LEAST_ENTITIES = 1_000_000
NUM_LISTED = 1 << 16
NUM_DRAWN = 1 << 12


@dataclass(frozen=True, eq=False)
class Rivals(Columns):
    """Entities for all queries alike, with the logarithm of how many each stands for."""

    entities: Tensor
    log_weights: Tensor

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return self


def draw_rivals(context: TemporalGraph, count: int, seed: Tensor) -> Rivals:
    """Half of them at random, half in proportion to their facts: these are the likely ones."""
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
    return Rivals(entities, -expected.log())


@torch.no_grad()
def list_rivals(model: "Evidence", count: int) -> Rivals:
    """At least `count` of the largest bias and the longest vectors, then a sample of the others."""
    bias, vectors = model.prior_bias, model.prior_objects
    # How long the vectors are that the prior compares with those of the entities.
    asked = (table.norm(dim=1) for table in (model.prior_relations, model.prior_subjects))
    typical = torch.stack([lengths.square().mean() for lengths in asked]).sum().sqrt()
    bounds = torch.addcmul(bias, vectors.norm(dim=1), typical)
    listed = torch.topk(bounds, min(max(count, NUM_LISTED), len(bias))).indices
    others = torch.ones_like(bias, dtype=torch.bool).index_fill_(0, listed, False)
    others = others.nonzero().flatten()
    order = torch.randperm(len(others), generator=torch.Generator().manual_seed(0))
    drawn = others[order[:NUM_DRAWN].to(others.device)]
    stands_for = bias.new_full((len(drawn),), len(others) / max(len(drawn), 1)).log()
    return Rivals(torch.cat([listed, drawn]), torch.cat([bias.new_zeros(len(listed)), stands_for]))


def estimated_cross_entropy(likely: Shortlist, answers: Tensor, others: Tensor | None) -> Tensor:
    """Cross-entropy against an estimate of the sum over all entities.

    Each answer is listed in its row. Other true answers do not count.
    """
    is_answer = likely.entities == answers[:, None]
    scores = likely.scores + likely.log_weights
    if others is not None:
        is_known = is_among(likely.entities, others.sort(dim=1).values)
        scores = scores.masked_fill(is_known & ~is_answer, -torch.inf)
    # Its first column is that with a score.
    return functional.cross_entropy(scores, is_answer.long().argmax(1))


def distinct_of_rows(numbers: Tensor, nothing: int) -> tuple[Tensor, Tensor]:
    """The distinct numbers of each row, sorted, and the place of each number among them.

    As many columns as before; those that are left over hold `nothing`, the largest number.

    >>> [one.tolist() for one in distinct_of_rows(torch.tensor([[7, 3, 7]]), 9)]
    [[[3, 7, 9]], [[1, 0, 1]]]
    """
    in_order, order = numbers.sort(dim=1)
    is_new = torch.ones_like(in_order, dtype=torch.bool)
    is_new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    places = is_new.cumsum(1) - 1
    values = torch.full_like(in_order, nothing).scatter_(1, places, in_order)
    return values, torch.empty_like(order).scatter_(1, order, places)


def is_among(values: Tensor, sorted_rows: Tensor) -> Tensor:
    """Which values of each row stand in the sorted row of the same number.

    >>> is_among(torch.tensor([[5, 2]]), torch.tensor([[2, 4]])).tolist()
    [[False, True]]
    """
    places = torch.searchsorted(sorted_rows, values.contiguous())
    return sorted_rows.gather(1, places.clamp(max=sorted_rows.shape[1] - 1)) == values
