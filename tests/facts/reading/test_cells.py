"""Encoded cells against plain text."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from targcn.facts.reading.cells import (
    as_cells,
    distinct_texts,
    find_cells,
    replace_texts,
    translate,
)

COLUMNS = st.lists(st.none() | st.text("aB ëé", max_size=3), max_size=9)


@given(COLUMNS, COLUMNS)
def test_cells_are_asked_like_their_texts(first, second):
    cells = [as_cells(pl.Series(column, dtype=pl.String)) for column in (first, second)]
    texts = distinct_texts(*cells)
    assert sorted(texts) == sorted({*first, *second} - {None})
    lengths = texts.str.len_chars().cast(pl.Int64)
    stripped = texts.str.strip_chars()
    for column, written in zip(cells, (first, second), strict=True):
        assert column.to_list() == written
        is_short = find_cells(column, lambda some: some.str.len_chars() < 2)
        assert is_short.to_list() == [None if one is None else len(one) < 2 for one in written]
        counted = translate(column, texts, lengths)
        assert counted.to_list() == [None if one is None else len(one) for one in written]
        tidied = replace_texts(column, texts, stripped)
        assert tidied.to_list() == [None if one is None else one.strip() for one in written]


def test_cells_of_other_dictionaries_and_numbers():
    for dtype in (pl.Categorical, pl.Enum(["a", "b"]), pl.Categorical(pl.Categories("other"))):
        assert distinct_texts(as_cells(pl.Series(["a", "b"], dtype=dtype))).sort()[0] == "a"
    assert as_cells(pl.Series([1, 2])).dtype == pl.Int64
