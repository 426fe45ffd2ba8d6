import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import checked
from targcn.ragged import expand_ranges

ranges = st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair)))


@checked
@given(st.lists(ranges, max_size=8))
def test_lays_ranges_end_to_end(pairs: list[tuple[int, int]]) -> None:
    starts, ends = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    rows, positions = expand_ranges(starts, ends)
    expected = [(row, at) for row, pair in enumerate(pairs) for at in range(*pair)]
    assert list(zip(rows.tolist(), positions.tolist(), strict=True)) == expected
