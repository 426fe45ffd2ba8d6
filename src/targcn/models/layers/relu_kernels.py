"""`relu_product` as two Triton kernels: on a GPU, its hidden units never leave the registers."""

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS_PER_PROGRAM = 32
# The gradient of the output weights is added up in this many rows: fewer would be crowded.
NUM_PARTIAL_SUMS = 256


def forward(rows: Tensor, places: Tensor, table: Tensor, codes: Tensor, out: Tensor) -> Tensor:
    products = rows.new_empty(codes.shape)
    if codes.numel():
        _forward[_grid(codes)](rows, places, table, codes, out, products, *_sizes(codes, out))
    return products


def backward(
    rows: Tensor,
    places: Tensor,
    table: Tensor,
    codes: Tensor,
    out: Tensor,
    of_products: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of rows, table and output weights."""
    of_rows, of_table = torch.zeros_like(rows), torch.zeros_like(table)
    of_out = out.new_zeros(NUM_PARTIAL_SUMS, len(out))
    if codes.numel():
        gradients = of_products, of_rows, of_table, of_out, NUM_PARTIAL_SUMS
        _backward[_grid(codes)](rows, places, table, codes, *gradients, *_sizes(codes, out))
    return of_rows * out, of_table * out, of_out.sum(0)


def _grid(codes: Tensor) -> tuple[int, int]:
    return len(codes), triton.cdiv(codes.shape[1], COLUMNS_PER_PROGRAM)


def _sizes(codes: Tensor, out: Tensor) -> tuple[int, int, int, int]:
    return codes.shape[1], len(out), triton.next_power_of_2(len(out)), COLUMNS_PER_PROGRAM


@triton.jit  # type: ignore[untyped-decorator]
def _forward(  # type: ignore[no-untyped-def]
    rows,
    places,
    table,
    codes,
    out,
    products,
    width,
    dim: tl.constexpr,
    padded: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    units = tl.arange(0, padded)
    is_column, is_unit = columns < width, units < dim
    code = tl.load(codes + row * width + columns, mask=is_column, other=0)
    place = tl.load(places + row)
    own = tl.load(rows + place * dim + units, mask=is_unit, other=0.0)
    weights = tl.load(out + units, mask=is_unit, other=0.0)
    found = tl.load(
        table + code[:, None] * dim + units[None, :],
        mask=is_column[:, None] & is_unit[None, :],
        other=0.0,
    )
    hidden = tl.maximum(found + own[None, :], 0.0)
    tl.store(products + row * width + columns, tl.sum(hidden * weights[None, :], 1), mask=is_column)


@triton.jit  # type: ignore[untyped-decorator]
def _backward(  # type: ignore[no-untyped-def]
    rows,
    places,
    table,
    codes,
    of_products,
    of_rows,
    of_table,
    of_out,
    num_sums,
    width,
    dim: tl.constexpr,
    padded: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    units = tl.arange(0, padded)
    is_column, is_unit = columns < width, units < dim
    code = tl.load(codes + row * width + columns, mask=is_column, other=0)
    gradient = tl.load(of_products + row * width + columns, mask=is_column, other=0.0)
    place = tl.load(places + row)
    own = tl.load(rows + place * dim + units, mask=is_unit, other=0.0)
    cells = code[:, None] * dim + units[None, :]
    found = tl.load(table + cells, mask=is_column[:, None] & is_unit[None, :], other=0.0)
    hidden = tl.maximum(found + own[None, :], 0.0)
    of_hidden = tl.where(hidden > 0.0, gradient[:, None], 0.0)
    # Evidence that is not there, and units that are off, have nothing to add.
    tl.atomic_add(of_table + cells, of_hidden, mask=(of_hidden != 0.0) & is_unit[None, :])
    tl.atomic_add(of_rows + place * dim + units, tl.sum(of_hidden, 0), mask=is_unit)
    partial = of_out + (row % num_sums) * dim + units
    tl.atomic_add(partial, tl.sum(hidden * gradient[:, None], 0), mask=is_unit)
