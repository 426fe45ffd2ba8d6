from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from targcn.graph.columns import Columns


@dataclass(frozen=True, eq=False)
class Inner(Columns):
    numbers: Tensor


@dataclass(frozen=True, eq=False)
class Outer(Columns):
    rows: Tensor
    inner: Columns
    nothing: Tensor | None = None
    weight: float = 0.5


@dataclass(frozen=True, eq=False)
class Sharing(Columns):
    """Queries that share a table, and the row of each in it."""

    places: Tensor
    table: Tensor

    def __getitem__(self, rows: slice | Tensor) -> "Sharing":
        return Sharing(self.places[rows], self.table)


@pytest.fixture
def outer() -> Outer:
    return Outer(torch.arange(4), Inner(torch.arange(8.0).view(4, 2)))


@pytest.mark.parametrize("rows", [slice(1, 3), torch.tensor([2, 0]), slice(0, 0)])
def test_rows_are_taken_of_every_tensor(outer: Outer, rows: slice | Tensor) -> None:
    part = outer[rows]
    assert torch.equal(part.rows, outer.rows[rows])
    assert torch.equal(part.inner.numbers, outer.inner.numbers[rows])
    assert (part.nothing, part.weight) == (None, 0.5)


def test_every_tensor_is_listed_in_the_order_of_the_fields(outer: Outer) -> None:
    first, second = outer.tensors()
    assert first is outer.rows
    assert second is outer.inner.numbers
    assert Columns().tensors() == []


def test_a_function_is_applied_to_every_tensor(outer: Outer) -> None:
    changed = outer.map(lambda column: column + 1)
    assert changed.rows.tolist() == [1, 2, 3, 4]
    assert changed.inner.numbers[0].tolist() == [1, 2]
    assert outer.rows.tolist() == [0, 1, 2, 3]


def test_all_tensors_move_to_a_device(outer: Outer) -> None:
    assert {column.device.type for column in outer.to("meta").tensors()} == {"meta"}


def test_a_tensor_that_queries_share_is_kept_whole_inside_other_columns_too() -> None:
    sharing = Sharing(torch.tensor([1, 0, 1]), torch.eye(2))
    part = Outer(torch.arange(3), sharing)[1:]
    assert part.rows.tolist() == [1, 2]
    assert part.inner.places.tolist() == [0, 1]
    assert part.inner.table is sharing.table
