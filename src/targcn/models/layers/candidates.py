"""Scores of some entities instead of all: those that evidence ends in, and drawn ones.

Where there are millions of entities, the sum over all of them in a softmax is estimated from those
with evidence, which are few and count as they are, and from drawn ones, each of which stands for
1 / (its expected number of draws) entities. The estimate is right on average, whatever is drawn.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from targcn.graph.columns import Columns
from targcn.graph.ragged import distinct
from targcn.graph.random import combine, whole_numbers
from targcn.graph.temporal_graph import TemporalGraph

# Where each row of a table is looked up this often, one product with all of them takes less time.
WORTH_A_PRODUCT = 4


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


def group_by_entity(ends: Tensor, *evidence: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The distinct ends of each row, sorted, and for each the sum of the evidence that ends there.

    As many columns as there are pieces; those that are left over repeat the largest number.

    >>> entities, [sums] = group_by_entity(torch.tensor([[7, 3, 7]]), torch.tensor([[1.0, 2, 4]]))
    >>> entities.tolist(), sums.tolist()
    ([[3, 7, 9223372036854775807]], [[2.0, 5.0, 0.0]])
    """
    in_order, order = ends.sort(dim=1)
    is_new = torch.ones_like(in_order, dtype=torch.bool)
    is_new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    places = is_new.cumsum(1) - 1
    nothing = torch.iinfo(torch.int64).max
    entities = torch.full_like(in_order, nothing).scatter_(1, places, in_order)
    return entities, [
        torch.zeros_like(weights).scatter_add(1, places, weights.gather(1, order))
        for weights in evidence
    ]


def is_among(values: Tensor, sorted_rows: Tensor) -> Tensor:
    """Which values of each row stand in the sorted row of the same number.

    >>> is_among(torch.tensor([[5, 2]]), torch.tensor([[2, 4]])).tolist()
    [[False, True]]
    """
    if not sorted_rows.shape[1]:
        return torch.zeros_like(values, dtype=torch.bool)
    places = torch.searchsorted(sorted_rows, values.contiguous())
    return sorted_rows.gather(1, places.clamp(max=sorted_rows.shape[1] - 1)) == values


@dataclass(frozen=True, eq=False)
class SomeScores:
    """Scores of the distinct entities that the evidence of each row ends in, and of given ones.

    The entities of a row are sorted; places that are left over hold the largest number.
    """

    entities: Tensor
    values: Tensor
    of_given: Tensor


def log_ratio(sums: list[Tensor]) -> Tensor:
    """log(1 + what speaks for) - log(1 + what speaks against)."""
    logs = sums[0].log1p()
    return logs if len(sums) == 1 else logs - sums[1].log1p()


def products_of_rows(vectors: Tensor, table: Tensor, which: Tensor) -> Tensor:
    """vectors[i] · table[which[i, j]] for each i, j.

    >>> table = torch.tensor([[1.0], [10.0], [100.0]])
    >>> vectors, which = torch.tensor([[1.0], [2.0]]), torch.tensor([[2, 0], [1, 1]])
    >>> products_of_rows(vectors, table, which).tolist()
    [[100.0, 1.0], [20.0, 20.0]]
    """
    # A GPU could not record how many are distinct.
    if not which.is_cuda:
        rows, places = distinct(which.flatten())
        if len(rows) * WORTH_A_PRODUCT < which.numel():
            products = vectors @ functional.embedding(rows, table).T
            return products.gather(1, places.view_as(which))
    rows = functional.embedding(which, table)
    return torch.bmm(rows, vectors[..., None]).squeeze(2)


def sampled_cross_entropy(
    scored: SomeScores,
    answers: Tensor,
    drawn: Drawn,
    drawn_scores: Tensor,
    others: Tensor | None,
) -> Tensor:
    """Cross-entropy of the answers against an estimate of the sum over all entities.

    The answers are the given entities that were scored. Other true answers do not count.
    """
    entities = scored.entities
    each = drawn.entities.expand(len(answers), -1)
    leaves = entities == answers[:, None]
    drawn_leaves = (each == answers[:, None]) | is_among(each, entities)
    if others is not None:
        known = others.sort(dim=1).values
        leaves |= is_among(entities, known)
        drawn_leaves |= is_among(each, known)
    leaves |= entities == torch.iinfo(torch.int64).max
    rivals = torch.cat(
        [
            scored.of_given,
            scored.values.masked_fill(leaves, -torch.inf),
            (drawn_scores - drawn.log_expected).masked_fill(drawn_leaves, -torch.inf),
        ],
        dim=1,
    )
    return functional.cross_entropy(rivals, torch.zeros_like(answers))
