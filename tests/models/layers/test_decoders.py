"""The score functions against number-by-number versions of their formulas."""

import pytest
import torch

import oracle
from targcn.models.layers.decoders import DECODERS, MULTIPLES, bique

UNITS = {"1": [1, 0, 0, 0], "i": [0, 1, 0, 0], "j": [0, 0, 1, 0], "k": [0, 0, 0, 1]}


def some(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def real_quaternion(*parts: float) -> torch.Tensor:
    """w, x, y, z as a vector of eight, the imaginary halves 0."""
    return torch.tensor([half for part in parts for half in (part, 0.0)], dtype=torch.float64)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("size", [8, 24])
def test_scores_follow_the_formula(decoder: str, size: int) -> None:
    query, relation, candidate = some(5, size), some(5, size, seed=1), some(5, size, seed=2)
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
    assert torch.equal(bique(one, other), real_quaternion(*UNITS[product]))
    sign = 1 if "1" in (left, right) else -1
    assert torch.equal(bique(other, one), sign * real_quaternion(*UNITS[product]))


def test_real_quaternions_multiply_as_hamilton_wrote() -> None:
    # (1 + 2i + 3j + 4k)(5 + 6i + 7j + 8k) = −60 + 12i + 30j + 24k
    found = bique(real_quaternion(1, 2, 3, 4), real_quaternion(5, 6, 7, 8))
    assert torch.equal(found, real_quaternion(-60, 12, 30, 24))


def test_the_imaginary_half_is_a_complex_number_of_its_own() -> None:
    # The scalar i of the complex numbers, squared, is −1, and commutes with the quaternions' j.
    scalar = torch.tensor([0.0, 1, 0, 0, 0, 0, 0, 0])
    j = real_quaternion(*UNITS["j"]).float()
    assert torch.equal(bique(scalar, scalar), -real_quaternion(*UNITS["1"]).float())
    assert torch.equal(bique(scalar, j), bique(j, scalar))


def test_the_norm_of_a_product_is_the_product_of_the_norms() -> None:
    one, other = some(4).tolist(), some(4, seed=1).tolist()
    product = bique(real_quaternion(*one), real_quaternion(*other))
    expected = real_quaternion(*one).norm() * real_quaternion(*other).norm()
    torch.testing.assert_close(product.norm(), expected)


def test_products_of_biquaternions_are_associative() -> None:
    one, two, three = (some(3, 16, seed=seed) for seed in range(3))
    torch.testing.assert_close(bique(bique(one, two), three), bique(one, bique(two, three)))


@pytest.mark.parametrize("decoder", DECODERS)
def test_decoding_is_linear_in_the_query_and_in_the_relation(decoder: str) -> None:
    decode = DECODERS[decoder]
    one, other, relation = some(3, 8), some(3, 8, seed=1), some(3, 8, seed=2)
    torch.testing.assert_close(
        decode(2 * one - other, relation), 2 * decode(one, relation) - decode(other, relation)
    )
    torch.testing.assert_close(
        decode(relation, 2 * one - other), 2 * decode(relation, one) - decode(relation, other)
    )


def test_every_decoder_says_which_sizes_it_takes() -> None:
    assert MULTIPLES.keys() == DECODERS.keys()
    for decoder, multiple in MULTIPLES.items():
        assert DECODERS[decoder](some(1, multiple), some(1, multiple)).shape == (1, multiple)
