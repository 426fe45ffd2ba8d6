"""The weight of a piece of evidence: a function of a few small numbers, and of nothing else."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

# Hidden units laid out at once: a CPU's should fit its cache.
MOST_UNITS = {"cpu": 1 << 18, "cuda": 1 << 27}
SCALE = 0.1


class FactWeights(nn.Module):
    """c(r, r', b) = w · relu(a[r] + a'[r'] + τ[b]) + A[r, r'] + B[r', b] + C[r, b] + bias.

    r is the query's relation, r' that of a fact, b the bucket of its distance in time, or of a
    count.
    """

    def __init__(self, num_relations: int, num_buckets: int, dim: int, bias: float) -> None:
        super().__init__()
        self.num_relations, self.num_buckets = num_relations, num_buckets
        self.asked = _random(num_relations, dim)
        self.found = _random(num_relations, dim)
        self.bucket = _random(num_buckets, dim)
        self.out = _random(dim)
        self.asked_found = _zeros(num_relations, num_relations)
        self.found_bucket = _zeros(num_relations, num_buckets)
        self.asked_bucket = _zeros(num_relations, num_buckets)
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, asked: Tensor, found: Tensor, buckets: Tensor) -> Tensor:
        """The weights of the evidence in each row, one row per asked relation."""
        codes = found * self.num_buckets + buckets
        rows = asked[:, None]
        hidden = relu_product(self.asked[asked], _sums(self.found, self.bucket), codes, self.out)
        return (
            hidden
            + look_up(self.asked_found, rows * self.num_relations + found)
            + look_up(self.found_bucket, codes)
            + look_up(self.asked_bucket, rows * self.num_buckets + buckets)
            + self.bias
        )


class PathWeights(nn.Module):
    """c = w · relu(a[r] + m[r₁] + τ[b₁] + a'[r₂] + υ[b₂]) + A[r, r₂] + B[r₂, b₂] + bias.

    r is the query's relation; r₁ and b₁ are of the first fact of a path, r₂ and b₂ of the second.
    """

    def __init__(self, num_relations: int, num_buckets: int, dim: int, bias: float) -> None:
        super().__init__()
        self.num_relations, self.num_buckets = num_relations, num_buckets
        self.asked = _random(num_relations, dim)
        self.first = _random(num_relations, dim)
        self.first_bucket = _random(num_buckets, dim)
        self.second = _random(num_relations, dim)
        self.second_bucket = _random(num_buckets, dim)
        self.out = _random(dim)
        self.asked_second = _zeros(num_relations, num_relations)
        self.second_and_bucket = _zeros(num_relations, num_buckets)
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(
        self, asked: Tensor, first: Tensor, first_buckets: Tensor, second: Tensor, buckets: Tensor
    ) -> Tensor:
        """The weights of paths: rows are queries, then first facts, then second facts."""
        codes = second * self.num_buckets + buckets
        of_first = functional.embedding(first, self.first)
        of_first = of_first + functional.embedding(first_buckets, self.first_bucket)
        of_first = (of_first + self.asked[asked][:, None]).flatten(0, 1)
        of_second = _sums(self.second, self.second_bucket)
        hidden = relu_product(of_first, of_second, codes.flatten(0, 1), self.out)
        return (
            hidden.view_as(codes)
            + look_up(self.asked_second, asked[:, None, None] * self.num_relations + second)
            + look_up(self.second_and_bucket, codes)
            + self.bias
        )


def relu_product(rows: Tensor, table: Tensor, codes: Tensor, out: Tensor) -> Tensor:
    """out · relu(rows[i] + table[codes[i, j]]) for each place i, j of `codes`.

    >>> rows, table = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> relu_product(rows, table, torch.tensor([[0, 1]]), torch.tensor([1.0, 10.0])).tolist()
    [[1.0, 2.0]]
    """
    return _ReluProduct.apply(rows, table, codes, out)  # type: ignore[no-any-return, no-untyped-call]


def look_up(table: Tensor, places: Tensor) -> Tensor:
    """The numbers of a table, laid out flat, at these places."""
    # The gradient of `gather` is added up in place; that of an index would be sorted first.
    return table.flatten().gather(0, places.flatten()).view_as(places)


class _ReluProduct(Function):
    """The hidden units are laid out for some rows at a time, and again in the backward pass."""

    @staticmethod
    def forward(context: Any, rows: Tensor, table: Tensor, codes: Tensor, out: Tensor) -> Tensor:
        context.save_for_backward(rows, table, codes, out)
        products = rows.new_empty(codes.shape)
        for part in _parts(rows, codes):
            units = table[codes[part]].add_(rows[part][:, None]).relu_()
            torch.matmul(units, out, out=products[part])
        return products

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_products: Tensor) -> tuple[Tensor | None, ...]:
        rows, table, codes, out = context.saved_tensors
        of_rows, of_table = torch.empty_like(rows), torch.zeros_like(table)
        of_out = torch.zeros_like(out)
        for part in _parts(rows, codes):
            units = table[codes[part]].add_(rows[part][:, None]).relu_()
            weights = of_products[part].contiguous()
            of_out += weights.flatten() @ units.flatten(0, 1)
            of_units = units.sign_().mul_(weights[..., None])
            torch.sum(of_units, 1, out=of_rows[part])
            of_table.index_add_(0, codes[part].flatten(), of_units.flatten(0, 1))
        # The output weights are the same for all units of a column.
        return of_rows * out, of_table * out, None, of_out


def _parts(rows: Tensor, codes: Tensor) -> list[slice]:
    size = max(MOST_UNITS[rows.device.type] // max(codes.shape[1] * rows.shape[1], 1), 1)
    return [slice(first, first + size) for first in range(0, len(codes), size)]


def _sums(one: Tensor, other: Tensor) -> Tensor:
    """The sum of each row of one table with each row of another."""
    return (one[:, None] + other).flatten(0, 1)


def _random(*shape: int) -> nn.Parameter:
    return nn.Parameter(SCALE * torch.randn(shape))


def _zeros(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))
