"""Weights of evidence against their formulas, and gradients against those of plain torch."""

import pytest
import torch
from torch import Tensor

from targcn.models.layers import evidence_weights
from targcn.models.layers.evidence_weights import relu_product

# Rows, places, columns, rows of the table, hidden units.
SHAPES = [
    (3, 5, 5, 7, 4), (4, 4, 1, 2, 1), (1, 3, 6, 1, 3), (3, 3, 0, 2, 2), (2, 0, 4, 2, 2),
]  # fmt: skip


def example(
    num_rows: int, num_places: int, width: int, num_codes: int, dim: int
) -> tuple[Tensor, ...]:
    torch.manual_seed(num_places + width)
    rows, table = (torch.randn(n, dim, dtype=torch.float64) for n in (num_rows, num_codes))
    places = torch.randint(0, num_rows, (num_places,))
    codes, out = torch.randint(0, num_codes, (num_places, width)), torch.randn(dim).double()
    return rows.requires_grad_(), places, table.requires_grad_(), codes, out.requires_grad_()


def laid_out(rows: Tensor, places: Tensor, table: Tensor, codes: Tensor, out: Tensor) -> Tensor:
    return (rows[places][:, None] + table[codes]).relu() @ out


@pytest.mark.parametrize("most_units", [1, 40, 1 << 18])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_and_gradients_are_those_of_the_units_laid_out(
    shape: tuple[int, ...], most_units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many rows are taken at once."""
    monkeypatch.setitem(evidence_weights.MOST_UNITS, "cpu", most_units)
    rows, _, table, codes, out = given = example(*shape)
    found, expected = (product(*given) for product in (relu_product, laid_out))
    torch.testing.assert_close(found, expected)
    # As a sum over a transposed tensor gives it: not contiguous.
    upstream = torch.randn(codes.shape[::-1]).double().T
    fast, slow = (
        torch.autograd.grad(one, (rows, table, out), upstream) for one in (found, expected)
    )
    torch.testing.assert_close(fast, slow)
