"""The weight of a piece of evidence: a function of a few small numbers, and of nothing else."""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from targcn.graph.ragged import take
from targcn.models.layers.buckets import TimeBuckets

# Hidden units laid out at once: a CPU's should fit its cache.
MOST_UNITS = {"cpu": 1 << 18, "cuda": 1 << 27}
SCALE = 0.1
NUM_BUCKETS = TimeBuckets.COUNT
# Torch for a GPU brings Triton along, but not on every system.
HAS_TRITON = find_spec("triton") is not None


class FactWeights(nn.Module):
    """c(r, r', b) = w · relu(a[r] + a'[r'] + τ[b]) + A[r, r'] + B[r', b] + C[r, b] + bias.

    r is the query's relation, r' that of a fact, b the bucket of its distance in time.
    """

    def __init__(self, num_relations: int, dim: int, bias: float) -> None:
        super().__init__()
        self.num_relations = num_relations
        self.asked = _random(num_relations, dim)
        self.found = _random(num_relations, dim)
        self.bucket = _random(NUM_BUCKETS, dim)
        self.out = _random(dim)
        self.asked_found = _zeros(num_relations, num_relations)
        self.found_bucket = _zeros(num_relations, NUM_BUCKETS)
        self.asked_bucket = _zeros(num_relations, NUM_BUCKETS)
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, asked: Tensor, found: Tensor, buckets: Tensor) -> Tensor:
        """The weights of the evidence in each row, one row per asked relation."""
        table, codes = _sums(self.found, self.bucket, found, buckets)
        rows = asked[:, None]
        return (
            relu_product(self.asked, asked, table, codes, self.out)
            + take(self.asked_found, rows * self.num_relations + found)
            + take(self.found_bucket, found * NUM_BUCKETS + buckets)
            + take(self.asked_bucket, rows * NUM_BUCKETS + buckets)
            + self.bias
        )


class PathWeights(nn.Module):
    """c = w · relu(a[r] + m[r₁] + τ[b₁] + a'[r₂] + υ[b₂]) + A[r, r₂] + B[r₂, b₂] + bias.

    r is the query's relation; r₁ and b₁ are of the first fact of a path, r₂ and b₂ of the second.
    """

    def __init__(self, num_relations: int, dim: int, bias: float) -> None:
        super().__init__()
        self.num_relations = num_relations
        self.asked = _random(num_relations, dim)
        self.first = _random(num_relations, dim)
        self.first_bucket = _random(NUM_BUCKETS, dim)
        self.second = _random(num_relations, dim)
        self.second_bucket = _random(NUM_BUCKETS, dim)
        self.out = _random(dim)
        self.asked_second = _zeros(num_relations, num_relations)
        self.second_and_bucket = _zeros(num_relations, NUM_BUCKETS)
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(
        self, asked: Tensor, first: Tensor, first_buckets: Tensor, second: Tensor, buckets: Tensor
    ) -> Tensor:
        """The weights of paths: rows are queries, then first facts, then second facts."""
        rows = functional.embedding(first, self.first)
        rows = rows + functional.embedding(first_buckets, self.first_bucket)
        rows = (rows + functional.embedding(asked, self.asked)[:, None]).flatten(0, 1)
        places = torch.arange(len(rows), device=rows.device)
        table, codes = _sums(self.second, self.second_bucket, second, buckets)
        hidden = relu_product(rows, places, table, codes.flatten(0, 1), self.out)
        return (
            hidden.view_as(codes)
            + take(self.asked_second, asked[:, None, None] * self.num_relations + second)
            + take(self.second_and_bucket, second * NUM_BUCKETS + buckets)
            + self.bias
        )


def relu_product(rows: Tensor, places: Tensor, table: Tensor, codes: Tensor, out: Tensor) -> Tensor:
    """out · relu(rows[places[i]] + table[codes[i, j]]) for each i, j."""
    node: Any = _ReluProduct
    products: Tensor = node.apply(rows, places, table, codes, out)
    return products


class _ReluProduct(Function):
    """The hidden units are laid out for some rows at a time, and again in the backward pass."""

    @staticmethod
    def forward(
        context: Any, rows: Tensor, places: Tensor, table: Tensor, codes: Tensor, out: Tensor
    ) -> Tensor:
        codes = codes.contiguous()
        context.save_for_backward(rows, places, table, codes, out)
        if rows.is_cuda and HAS_TRITON:
            from targcn.models.layers import relu_kernels

            return relu_kernels.forward(rows, places, table, codes, out)
        products = rows.new_empty(codes.shape)
        for part in _parts(rows, codes):
            torch.matmul(_units(rows, places[part], table, codes[part]), out, out=products[part])
        return products

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_products: Tensor) -> tuple[Tensor | None, ...]:
        rows, places, table, codes, out = context.saved_tensors
        of_products = of_products.contiguous()
        if rows.is_cuda and HAS_TRITON:
            from targcn.models.layers import relu_kernels

            gradients = relu_kernels.backward(rows, places, table, codes, out, of_products)
            return gradients[0], None, gradients[1], None, gradients[2]
        of_rows, of_table = torch.zeros_like(rows), torch.zeros_like(table)
        of_out = torch.zeros_like(out)
        for part in _parts(rows, codes):
            units = _units(rows, places[part], table, codes[part])
            of_out += of_products[part].flatten() @ units.flatten(0, 1)
            of_units = units.sign_().mul_(of_products[part][..., None])
            of_rows.index_add_(0, places[part], of_units.sum(1))
            of_table.index_add_(0, codes[part].flatten(), of_units.flatten(0, 1))
        # The output weights are the same for all units of a column.
        return of_rows * out, None, of_table * out, None, of_out


def _units(rows: Tensor, places: Tensor, table: Tensor, codes: Tensor) -> Tensor:
    units = table.index_select(0, codes.flatten()).view(*codes.shape, table.shape[1])
    return units.add_(rows.index_select(0, places)[:, None]).relu_()


def _parts(rows: Tensor, codes: Tensor) -> list[slice]:
    most = MOST_UNITS.get(rows.device.type, MOST_UNITS["cpu"])
    size = max(most // max(codes.shape[1] * rows.shape[1], 1), 1)
    return [slice(first, first + size) for first in range(0, len(codes), size)]


def _sums(one: Tensor, other: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """A table with one[row] + other[column] for each row and column, and where in it they are.

    Of all sums, or only of these where they are fewer: a single question asks for few.
    """
    if rows.numel() < len(one) * len(other):
        table = functional.embedding(rows, one) + functional.embedding(columns, other)
        return table.flatten(0, -2), torch.arange(rows.numel(), device=rows.device).view_as(rows)
    return (one[:, None] + other).flatten(0, 1), rows * len(other) + columns


def _random(*shape: int) -> nn.Parameter:
    return nn.Parameter(SCALE * torch.randn(shape))


def _zeros(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(shape))
