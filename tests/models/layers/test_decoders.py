"""The score functions against number-by-number versions of their formulas."""

from collections.abc import Callable

import pytest
import torch

import oracle
from targcn.models.layers.decoders import (
    DECODERS,
    MULTIPLES,
    RELATION_LENGTHS,
    bique,
    hamilton_product,
)

Decode = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
UNITS = {"1": [1, 0, 0, 0], "i": [0, 1, 0, 0], "j": [0, 0, 1, 0], "k": [0, 0, 0, 1]}


def some(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def real_quaternion(*parts: float) -> torch.Tensor:
    """w, x, y, z as a vector of eight, the imaginary halves 0."""
    return torch.tensor([half for part in parts for half in (part, 0.0)], dtype=torch.float64)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("size", [8, 24])
def test_scores_follow_the_formula(decoder: str, size: int) -> None:
    relation = some(5, RELATION_LENGTHS[decoder] * size, seed=1)
    query, candidate = some(5, size), some(5, size, seed=2)
    found = (DECODERS[decoder](query, relation) * candidate).sum(1)
    expected = [
        oracle.decode(decoder, *(vectors[row].tolist() for vectors in (query, relation, candidate)))
        for row in range(5)
    ]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(
    ("left", "right", "product"),
    [("1", "j", "j"), ("i", "j", "k"), ("j", "k", "i"), ("k", "i", "j"), ("k", "1", "k")],
)
def test_units_multiply_by_hamiltons_table(left: str, right: str, product: str) -> None:
    one, other = real_quaternion(*UNITS[left]), real_quaternion(*UNITS[right])
    assert torch.equal(hamilton_product(one, other), real_quaternion(*UNITS[product]))
    sign = 1 if "1" in (left, right) else -1
    assert torch.equal(hamilton_product(other, one), sign * real_quaternion(*UNITS[product]))


def test_real_quaternions_multiply_as_hamilton_wrote() -> None:
    # (1 + 2i + 3j + 4k)(5 + 6i + 7j + 8k) = −60 + 12i + 30j + 24k
    found = hamilton_product(real_quaternion(1, 2, 3, 4), real_quaternion(5, 6, 7, 8))
    assert torch.equal(found, real_quaternion(-60, 12, 30, 24))


def test_the_imaginary_half_is_a_complex_number_of_its_own() -> None:
    # The scalar i of the complex numbers, squared, is −1, and commutes with the quaternions' j.
    scalar = torch.tensor([0.0, 1, 0, 0, 0, 0, 0, 0])
    j = real_quaternion(*UNITS["j"]).float()
    assert torch.equal(hamilton_product(scalar, scalar), -real_quaternion(*UNITS["1"]).float())
    assert torch.equal(hamilton_product(scalar, j), hamilton_product(j, scalar))


def test_the_norm_of_a_product_is_the_product_of_the_norms() -> None:
    one, other = some(4).tolist(), some(4, seed=1).tolist()
    product = hamilton_product(real_quaternion(*one), real_quaternion(*other))
    expected = real_quaternion(*one).norm() * real_quaternion(*other).norm()
    torch.testing.assert_close(product.norm(), expected)


def test_products_of_biquaternions_are_associative() -> None:
    one, two, three = (some(3, 16, seed=seed) for seed in range(3))
    first, last = hamilton_product(one, two), hamilton_product(two, three)
    torch.testing.assert_close(hamilton_product(first, three), hamilton_product(one, last))


def test_bique_shifts_first_and_then_rotates() -> None:
    # (i + 1)(j) = k + j, whereas a shift after the rotation would give k + 1
    relation = torch.cat([real_quaternion(*UNITS["j"]), real_quaternion(*UNITS["1"])])
    found = bique(real_quaternion(*UNITS["i"]), relation)
    assert torch.equal(found, real_quaternion(0, 0, 1, 1))


@pytest.mark.parametrize("decode", [DECODERS["distmult"], DECODERS["complex"], hamilton_product])
def test_products_are_linear_in_both_factors(decode: Decode) -> None:
    one, other, relation = some(3, 8), some(3, 8, seed=1), some(3, 8, seed=2)
    torch.testing.assert_close(
        decode(2 * one - other, relation), 2 * decode(one, relation) - decode(other, relation)
    )
    torch.testing.assert_close(
        decode(relation, 2 * one - other), 2 * decode(relation, one) - decode(relation, other)
    )


def test_every_decoder_says_which_sizes_it_takes() -> None:
    assert MULTIPLES.keys() == RELATION_LENGTHS.keys() == DECODERS.keys()
    for decoder, multiple in MULTIPLES.items():
        relation = some(1, RELATION_LENGTHS[decoder] * multiple)
        assert DECODERS[decoder](some(1, multiple), relation).shape == (1, multiple)
