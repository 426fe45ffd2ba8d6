"""Hashes that must pass for random numbers; seeds are fixed, so that no test is left to luck."""

import pytest
import torch

from targcn.graph.random import combine, mix, uniform, whole_numbers

ROWS, COLUMNS = 400, 500


def uniform_numbers(seed: int = 0) -> torch.Tensor:
    return uniform(combine(seed, torch.arange(ROWS))[:, None], torch.arange(COLUMNS)).double()


def correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])


def chi_square(values: torch.Tensor, bins: int) -> float:
    counts = torch.histc(values, bins, 0, 1)
    expected = values.numel() / bins
    return float(((counts - expected) ** 2 / expected).sum())


def test_numbers_are_uniform() -> None:
    # 99 degrees of freedom: above 150 with a probability of one in a thousand.
    assert chi_square(uniform_numbers(), 100) < 150
    for seed in (1, 2, 12345):
        assert chi_square(uniform_numbers(seed)[0], 20) < 44
        assert chi_square(uniform_numbers(seed)[:, 0], 20) < 44


def test_neighbouring_rows_columns_and_seeds_are_unrelated() -> None:
    numbers = uniform_numbers()
    assert abs(correlation(numbers[1:], numbers[:-1])) < 0.01
    assert abs(correlation(numbers[:, 1:], numbers[:, :-1])) < 0.01
    assert abs(correlation(numbers, uniform_numbers(seed=1))) < 0.01
    assert abs(correlation(numbers[:, :ROWS], numbers[:, :ROWS].T)) < 0.01


def test_a_number_is_the_same_on_every_machine() -> None:
    assert mix(torch.tensor([0, 1, 2, -1], dtype=torch.int32)).tolist() == [
        0,
        1753845952,
        -787275391,
        1734902346,
    ]
    assert combine(7, torch.tensor([1, 2]), torch.tensor([3, 3])).tolist() == [
        412529430,
        1555879730,
    ]
    found = uniform(combine(7, torch.tensor([1])), torch.arange(3))
    assert [round(value, 6) for value in found.tolist()] == [0.737105, 0.612185, 0.714292]


def test_every_part_and_its_place_count() -> None:
    one, two = torch.tensor([1]), torch.tensor([2])
    hashes = [
        combine(0, one), combine(1, one), combine(0, two),
        combine(0, one, two), combine(0, two, one),
    ]  # fmt: skip
    assert len({int(value) for value in hashes}) == 5


# --- whole numbers --------------------------------------------------------------------------


def some_whole_numbers(below: int, seed: int = 0) -> torch.Tensor:
    rows = combine(seed, torch.arange(ROWS))[:, None]
    return whole_numbers(rows, torch.arange(COLUMNS), below)


def unevenness(values: torch.Tensor, below: int) -> float:
    counts = torch.bincount(values.flatten(), minlength=below).double()
    expected = values.numel() / below
    return float(((counts - expected) ** 2 / expected).sum())


# With limits that are passed with a probability of one in a thousand.
@pytest.mark.parametrize(("below", "limit"), [(2, 10.8), (7, 22.5), (64, 103.4), (100, 149)])
def test_whole_numbers_are_equally_likely(below: int, limit: float) -> None:
    for seed in (0, 1, 12345):
        found = some_whole_numbers(below, seed)
        assert found.dtype == torch.int64
        assert (found.min(), found.max()) == (0, below - 1)
        assert unevenness(found, below) < limit
        assert unevenness(found[0], below) < limit
        assert unevenness(found[:, 0], below) < limit


def test_a_whole_number_is_the_same_on_every_machine_and_beside_any_others() -> None:
    rows = combine(7, torch.tensor([1, 2]))
    found = whole_numbers(rows[:, None], torch.arange(5), 1000)
    assert found.tolist() == [[74, 818, 219, 526, 436], [807, 22, 446, 301, 65]]
    again = whole_numbers(rows[1:].expand(3), torch.tensor([4, 0, 2]), 1000)
    assert again.tolist() == found[1, [4, 0, 2]].tolist()
