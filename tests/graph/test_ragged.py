import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import checked
from targcn.graph.ragged import expand_ranges, sort_rows

ranges = st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair)))


@checked
@given(st.lists(ranges, max_size=8))
def test_lays_ranges_end_to_end(pairs: list[tuple[int, int]]) -> None:
    starts, ends = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    rows, positions = expand_ranges(starts, ends)
    expected = [(row, at) for row, pair in enumerate(pairs) for at in range(*pair)]
    assert list(zip(rows.tolist(), positions.tolist(), strict=True)) == expected


@pytest.mark.parametrize("sizes", [[5, 3, 4], [2**40, 2**40, 2**40]])
def test_rows_are_sorted_by_every_column_packed_or_not(sizes: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    columns = [torch.randint(3, (50,), generator=generator) for _ in sizes]
    rows = sorted(zip(*(column.tolist() for column in columns), strict=True))
    found = zip(*(column.tolist() for column in sort_rows(columns, sizes)), strict=True)
    assert list(found) == rows
