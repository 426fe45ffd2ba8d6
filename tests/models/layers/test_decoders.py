"""The score functions against number-by-number versions of their formulas."""

import pytest
import torch

import oracle
from targcn.models.layers.decoders import (
    DECODERS,
    MULTIPLES,
    RELATION_LENGTHS,
)


def some(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


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


def test_every_decoder_says_which_sizes_it_takes() -> None:
    assert MULTIPLES.keys() == RELATION_LENGTHS.keys() == DECODERS.keys()
    for decoder, multiple in MULTIPLES.items():
        relation = some(1, RELATION_LENGTHS[decoder] * multiple)
        assert DECODERS[decoder](some(1, multiple), relation).shape == (1, multiple)
