"""Rows of a table summed by weight, without laying them out: the sparse half of a graph encoder.

Next room: models/targcn.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from targcn.ragged import argsort

# The largest matrix of counts worth laying out; as large as the scores of a large batch.
MOST_COUNTS = 1 << 26
# A product over a table this many times as long as the rows to sum costs a CPU as much as sorting.
MOST_ROWS_PER_PLACE = 16


def weighted_sums(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """One sum a row of `index`; the gradient goes to the table.

    >>> table = torch.eye(3)
    >>> weighted_sums(table, torch.tensor([[0, 2]]), torch.tensor([[0.5, 2.0]])).tolist()
    [[0.5, 0.0, 2.0]]
    """
    if index.numel() == 0:
        return table.new_zeros(len(index), table.shape[1])
    if product_is_faster(table, index):
        return counts_of(len(table), index, weights) @ table
    return functional.embedding_bag(index, table, mode="sum", per_sample_weights=weights)


def product_is_faster(table: Tensor, index: Tensor) -> bool:
    """Whether to sum by a matrix product, zeros and all, which needs no sorting backwards."""
    if table.is_cuda:
        return len(index) * len(table) <= MOST_COUNTS
    return len(table) <= MOST_ROWS_PER_PLACE * index.shape[1]


def counts_of(num_rows: int, index: Tensor, weights: Tensor) -> Tensor:
    """How much each row of the table counts in each sum."""
    return weights.new_zeros(len(index), num_rows).scatter_add_(1, index.long(), weights)


def sums_and_table(
    table: Tensor, index: Tensor, weights: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted sums, single rows, and the table itself, which is to go into a product with all
    of it: three uses of one table for one gradient."""
    found: tuple[Tensor, Tensor, Tensor] = _SumsAndTable.apply(  # type: ignore[no-untyped-call]
        table, index, weights, rows
    )
    return found


def rows_and_table(table: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The same without sums."""
    nothing = rows.new_zeros(0, 1)
    _, single, whole = sums_and_table(table, nothing, nothing.to(table.dtype), rows)
    return single, whole


class _SumsAndTable(Function):
    """Sums of a table's rows, single rows, and the table again, for a product with all of it.

    Backwards, the product has made a gradient as large as the table by the time the others come
    in. Being one node, it adds their few rows in place, where autograd alone would fill further
    tensors of that size and add them up.
    """

    @staticmethod
    def forward(
        context: Any, table: Tensor, index: Tensor, weights: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        context.by_product = product_is_faster(table, index)
        if context.by_product:
            counts = counts_of(len(table), index, weights)
            context.save_for_backward(rows, counts)
            return counts @ table, table[rows], table.view_as(table)
        context.save_for_backward(rows, index, weights)
        return weighted_sums(table, index, weights), table[rows], table.view_as(table)

    @staticmethod
    def backward(
        context: Any, of_sums: Tensor, of_rows: Tensor, of_table: Tensor
    ) -> tuple[Tensor, None, None, None]:
        rows, *saved = context.saved_tensors
        if context.by_product:
            of_table.addmm_(saved[0].T, of_sums)
        elif saved[0].numel():
            _add_sums(of_table, saved[0], saved[1], of_sums)
        if len(rows):
            of_table.index_add_(0, rows, of_rows)
        return of_table, None, None, None


def _add_sums(of_table: Tensor, index: Tensor, weights: Tensor, of_sums: Tensor) -> None:
    """Add to each row of the table's gradient what the sums it stood in give back."""
    places = index.flatten()
    order = argsort(places)
    distinct, counts = torch.unique_consecutive(places[order], return_counts=True)
    added = functional.embedding_bag(
        order // index.shape[1],
        of_sums,
        counts.cumsum(0) - counts,
        mode="sum",
        per_sample_weights=weights.flatten()[order],
    )
    of_table.index_add_(0, distinct, added)
