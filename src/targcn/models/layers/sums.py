"""Weighted sums of table rows, without laying the rows out: the sparse half of a graph encoder."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

# The largest matrix of weights worth laying out: as large as the scores of a large batch.
MOST_COUNTS = 1 << 26
# With this many table rows per summed row, a product costs a CPU as much as sorting does.
MOST_ROWS_PER_PLACE = 16


def weighted_sums(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """One sum per row of `index`; the gradient goes to the table."""
    if index.numel() == 0:
        return table.new_zeros(len(index), table.shape[1])
    if product_is_faster(table, index):
        return weight_matrix(len(table), index, weights) @ table
    return functional.embedding_bag(index, table, mode="sum", per_sample_weights=weights)


def product_is_faster(table: Tensor, index: Tensor) -> bool:
    """Whether to sum by a product with weights, most of them 0: its gradient needs no sorting."""
    if table.is_cuda:
        return len(index) * len(table) <= MOST_COUNTS
    return len(table) <= MOST_ROWS_PER_PLACE * index.shape[1]


def weight_matrix(num_rows: int, index: Tensor, weights: Tensor) -> Tensor:
    """The weight of each table row in each sum."""
    return weights.new_zeros(len(index), num_rows).scatter_add_(1, index.long(), weights)


def own_products(vectors: Tensor, which: Tensor, tables: Tensor) -> Tensor:
    """Each vector times every row of its own table, with one product per table."""
    counts = torch.bincount(which, minlength=len(tables))
    order = which.argsort()
    numbers = torch.arange(len(which), device=which.device)
    place = torch.empty_like(order)
    place[order] = numbers - (counts.cumsum(0) - counts)[which[order]]
    most = int(counts.max())
    places = which * most + place
    gathered = vectors.new_zeros(len(tables) * most, vectors.shape[1])
    gathered = gathered.index_copy(0, places, vectors).view(len(tables), most, -1)
    # Unlike indexing with brackets, index_select needs no sorting in its backward pass.
    products = torch.bmm(gathered, tables.transpose(1, 2)).flatten(0, 1)
    return products.index_select(0, places)


def segment_softmax(logits: Tensor, segments: Tensor, number: int) -> Tensor:
    """The softmax of each column within each segment, which the rows name; none is empty.

    >>> segment_softmax(torch.zeros(3, 1), torch.tensor([0, 1, 1]), 2).tolist()
    [[1.0], [0.5], [0.5]]
    """
    rows = segments[:, None].expand_as(logits)
    highest = logits.new_zeros(number, logits.shape[1])
    highest = highest.scatter_reduce(0, rows, logits.detach(), "amax", include_self=False)
    powers = (logits - highest.index_select(0, segments)).exp()
    totals = torch.zeros_like(highest).index_add(0, segments, powers)
    return powers / totals.index_select(0, segments)


def sums_and_table(
    table: Tensor, index: Tensor, weights: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted sums of a table's rows, single rows, and the table for a product with all of it."""
    node: Any = _SumsAndTable
    found: tuple[Tensor, Tensor, Tensor] = node.apply(table, index, weights, rows)
    return found


def rows_and_table(table: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Single rows of a table, and the table for a product with all of it."""
    nothing = rows.new_zeros(0, 1)
    _, single, whole = sums_and_table(table, nothing, nothing.to(table.dtype), rows)
    return single, whole


class _SumsAndTable(Function):
    """Three uses of one table as one node of autograd.

    In the backward pass, the product with the whole table yields a gradient as large as the table.
    One node adds the rows of the other two uses to a single copy of it; autograd would fill a
    tensor of that size for each use.
    """

    @staticmethod
    def forward(
        context: Any, table: Tensor, index: Tensor, weights: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        context.by_product = product_is_faster(table, index)
        if context.by_product:
            matrix = weight_matrix(len(table), index, weights)
            context.save_for_backward(rows, matrix)
            return matrix @ table, table[rows], table.view_as(table)
        context.save_for_backward(rows, index, weights)
        return weighted_sums(table, index, weights), table[rows], table.view_as(table)

    @staticmethod
    def backward(
        context: Any, of_sums: Tensor, of_rows: Tensor, of_table: Tensor
    ) -> tuple[Tensor, None, None, None]:
        rows, *saved = context.saved_tensors
        # The incoming gradient is not ours to change: others may hold it.
        if context.by_product:
            total = torch.addmm(of_table, saved[0].T, of_sums)
        else:
            total = of_table.clone()
            if saved[0].numel():
                _add_sums(total, saved[0], saved[1], of_sums)
        if len(rows):
            total.index_add_(0, rows, of_rows)
        return total, None, None, None


def _add_sums(total: Tensor, index: Tensor, weights: Tensor, of_sums: Tensor) -> None:
    """Add to each table row's gradient the gradients of the sums that it is in."""
    places = index.flatten()
    order = torch.argsort(places, stable=True)
    distinct, counts = torch.unique_consecutive(places[order], return_counts=True)
    added = functional.embedding_bag(
        order // index.shape[1],
        of_sums,
        counts.cumsum(0) - counts,
        mode="sum",
        per_sample_weights=weights.flatten()[order],
    )
    total.index_add_(0, distinct, added)
