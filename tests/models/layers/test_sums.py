"""Sums of rows in all ways of taking them, against the rows laid out; gradients too."""

import pytest
import torch

from targcn.models.layers import sums
from targcn.models.layers.sums import own_products, sums_and_table, weighted_sums

SHAPES = [(5, 3, 4), (200, 6, 2), (200, 1, 1), (1, 4, 3), (30, 0, 3), (30, 5, 0)]


def example(num_rows: int, num_sums: int, num_places: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(num_rows + num_places)
    table = torch.randn(num_rows, 3, generator=generator, dtype=torch.float64)
    index = torch.randint(0, num_rows, (num_sums, num_places), generator=generator)
    weights = torch.rand(num_sums, num_places, generator=generator, dtype=torch.float64)
    return table.requires_grad_(), index, weights


def laid_out(table: torch.Tensor, index: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return (table[index] * weights[..., None]).sum(1)


@pytest.fixture(params=["product", "sorted"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    by_product = request.param == "product"
    monkeypatch.setattr(sums, "product_is_faster", lambda table, index: by_product)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("small", [False, True])
def test_sums_are_those_of_the_rows_laid_out(shape: tuple[int, int, int], small: bool) -> None:
    table, index, weights = example(*shape)
    index = index.int() if small else index
    expected = laid_out(table, index, weights)
    found = weighted_sums(table, index, weights)
    torch.testing.assert_close(found, expected)
    upstream = torch.randn_like(expected)
    if expected.requires_grad and index.numel():
        (slow,) = torch.autograd.grad(expected, table, upstream)
        (fast,) = torch.autograd.grad(found, table, upstream)
        torch.testing.assert_close(fast, slow)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("num_single", [0, 4])
def test_one_node_has_the_gradient_of_all_its_uses(
    shape: tuple[int, int, int], num_single: int
) -> None:
    table, index, weights = example(*shape)
    rows = torch.arange(num_single) * 7 % len(table)
    single_weights = torch.randn(num_single, 3, dtype=torch.float64)

    def value(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
        summed, single, whole = parts
        return (summed.tanh() @ whole.T).sin().sum() + (single * single_weights).sum()

    (slow,) = torch.autograd.grad(
        value((laid_out(table, index, weights), table[rows], table)), table
    )
    (fast,) = torch.autograd.grad(value(sums_and_table(table, index, weights, rows)), table)
    torch.testing.assert_close(fast, slow)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("num_single", [0, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_incoming_gradient_is_left_as_it_is(
    shape: tuple[int, int, int], num_single: int
) -> None:
    table, index, weights = example(*shape)
    rows = torch.arange(num_single) * 7 % len(table)
    summed, single, whole = sums_and_table(table, index, weights, rows)
    incoming: list[torch.Tensor] = []
    whole.register_hook(incoming.append)
    upstream = torch.randn_like(table)
    (summed.sum() + single.sum() + (whole * upstream).sum()).backward()
    assert torch.equal(incoming[0], upstream)


def test_each_vector_meets_its_own_table_alone() -> None:
    vectors, tables = torch.randn(7, 3), torch.randn(4, 5, 3)
    which = torch.tensor([3, 0, 3, 1, 0, 3, 3])
    expected = torch.stack([tables[n] @ one for n, one in zip(which, vectors, strict=True)])
    torch.testing.assert_close(own_products(vectors, which, tables), expected)
