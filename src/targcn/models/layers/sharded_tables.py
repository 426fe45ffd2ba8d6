"""Tables with one row per entity, whole in one process or sharded by rows over several.

A sharded table is a DTensor: each process holds some rows, their gradient and what the optimiser
keeps of them. No process ever holds all. Rows that a process needs are sent by their owners, and
the gradients of these rows back; for products with all rows, the vectors visit all processes, and
the products come back. An owner adds up the gradients of all processes.

All processes must call these functions in the same order, each with as many rows as it likes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, distributed, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from targcn.distributed import ProcessGroup, is_sharded, rows_of_process
from targcn.graph.ragged import distinct

# Rows drawn at once of a table that is to be sharded. Torch draws numbers by sixteens, so that
# pieces of so many rows are those of the whole table to the bit.
ROWS_AT_ONCE: Final = 1 << 16

_PLACE: ContextVar[tuple[ProcessGroup, torch.device] | None] = ContextVar("place", default=None)


@contextmanager
def sharded_tables(
    processes: ProcessGroup, device: torch.device, enabled: bool = True
) -> Iterator[None]:
    """Shard the tables that are made inside the block, if there are several processes."""
    place = (processes, device) if enabled and processes.size > 1 else None
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def entity_table(num_entities: int, draw: Callable[[int], Tensor]) -> nn.Parameter:
    """A table with one row per entity; `draw` makes so many of its rows, the next ones each time.

    Every process draws all rows, some at a time, and keeps its own.
    """
    place = _PLACE.get()
    if place is None:
        return nn.Parameter(draw(num_entities))
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Shard

    processes, device = place
    own = rows_of_process(num_entities, processes.index, processes.size)
    kept: Tensor | None = None
    # The last piece takes what is left: of fewer than sixteen numbers torch draws others.
    starts = [*range(0, num_entities - ROWS_AT_ONCE + 1, ROWS_AT_ONCE)] or [0]
    for first, end in zip(starts, [*starts[1:], num_entities], strict=True):
        piece = draw(end - first)
        if kept is None:
            kept = piece.new_empty(len(own), *piece.shape[1:])
        low, high = max(own.start, first), min(own.stop, end)
        if low < high:
            kept[low - own.start : high - own.start] = piece[low - first : high - first]
    assert kept is not None
    where = kept.device if kept.is_meta else device
    mesh = DeviceMesh.from_group(processes.for_tables, device.type)
    shape = torch.Size((num_entities, *kept.shape[1:]))
    stride = torch.empty(shape, device="meta").stride()
    made: Tensor = DTensor.from_local(
        kept.to(where), mesh, [Shard(0)], run_check=False, shape=shape, stride=stride
    )
    return nn.Parameter(made)


def needed_rows(ids: Tensor, *tables: Tensor) -> tuple[Tensor, ...]:
    """Where each id is found, and in what: in the tables, or in such rows of them as are needed.

    >>> table = torch.eye(3)
    >>> places, rows = needed_rows(torch.tensor([2, 0]), table)
    >>> places.tolist(), rows is table
    ([2, 0], True)
    """
    if not is_sharded(tables[0]):
        return ids, *tables
    wanted, places = distinct(ids.flatten().long())
    requests = _Requests.of(wanted, tables[0])
    node: Any = _Rows
    return places.view_as(ids), *(node.apply(_local(table), requests) for table in tables)


def products_with_all(vectors: Tensor, table: Tensor, bias: Tensor | None = None) -> Tensor:
    """Each vector times every row of a table, plus that row's bias; a row per vector.

    >>> products_with_all(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 7.0]]
    """
    if not is_sharded(table):
        return vectors @ table.T if bias is None else torch.addmm(bias, vectors, table.T)
    node: Any = _Products
    visit = _Visit.of(vectors, table)
    found: Tensor = node.apply(
        vectors, _local(table), None if bias is None else _local(bias), visit
    )
    return found


def _local(table: Any) -> Tensor:
    """The rows of this process, whose gradient becomes that of the table."""
    rows: Tensor = table.to_local()
    return rows


def _exchange(rows: Tensor, to_each: list[int], from_each: list[int], group: Any) -> Tensor:
    """Send the first rows to the first process and so on; what all sent here, in their order."""
    arrived = rows.new_empty(sum(from_each), *rows.shape[1:])
    distributed.all_to_all_single(arrived, rows.contiguous(), from_each, to_each, group=group)
    return arrived


def _tell_each(numbers: list[int], group: Any) -> list[int]:
    """Tell each process its number; the numbers that all told this one."""
    told = _exchange(torch.tensor(numbers), [1] * len(numbers), [1] * len(numbers), group)
    return [int(number) for number in told]


@dataclass(frozen=True)
class _Requests:
    """Which rows of this process are asked for, and how many rows each asks of which."""

    rows: Tensor
    by_each: list[int]
    of_each: list[int]
    group: Any

    @classmethod
    def of(cls, wanted: Tensor, table: Any) -> "_Requests":
        """Those of all processes, each of which wants some rows of the table, sorted."""
        group, size = table.device_mesh.get_group(), table.device_mesh.size()
        ranges = [rows_of_process(len(table), index, size) for index in range(size)]
        ends = torch.tensor([rows.stop for rows in ranges], device=wanted.device)
        counts = torch.searchsorted(wanted, ends).diff(prepend=ends.new_zeros(1))
        of_each = [int(count) for count in counts]
        by_each = _tell_each(of_each, group)
        asked = _exchange(wanted, of_each, by_each, group)
        return cls(asked - ranges[distributed.get_rank(group)].start, by_each, of_each, group)


class _Rows(Function):
    """Rows from their owners; their gradients go back to these."""

    @staticmethod
    def forward(context: Any, own: Tensor, requests: _Requests) -> Tensor:
        context.requests, context.shape = requests, own.shape
        found = own.index_select(0, requests.rows)
        return _exchange(found, requests.by_each, requests.of_each, requests.group)

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_rows: Tensor) -> tuple[Tensor, None]:
        requests = context.requests
        of_found = _exchange(of_rows, requests.of_each, requests.by_each, requests.group)
        of_own = of_rows.new_zeros(context.shape)
        return of_own.index_add_(0, requests.rows, of_found), None


@dataclass(frozen=True)
class _Visit:
    """How many vectors each process has, and how many rows of the table."""

    vectors: list[int]
    rows: list[int]
    index: int
    group: Any

    @classmethod
    def of(cls, vectors: Tensor, table: Any) -> "_Visit":
        group, size = table.device_mesh.get_group(), table.device_mesh.size()
        rows = [len(rows_of_process(len(table), index, size)) for index in range(size)]
        counts = _tell_each([len(vectors)] * size, group)
        return cls(counts, rows, distributed.get_rank(group), group)

    def sizes(self) -> tuple[list[int], list[int]]:
        """How many products with its rows a process owes to each, and each owes to it."""
        own_rows, own_vectors = self.rows[self.index], self.vectors[self.index]
        return [own_rows * one for one in self.vectors], [own_vectors * one for one in self.rows]


class _Products(Function):
    """The vectors of all processes visit each; the products go back to whose vectors they are."""

    @staticmethod
    def forward(
        context: Any, vectors: Tensor, own: Tensor, bias: Tensor | None, visit: _Visit
    ) -> Tensor:
        number, size = len(vectors), len(visit.vectors)
        everyone = vectors.repeat(size, 1)
        everyone = _exchange(everyone, [number] * size, visit.vectors, visit.group)
        context.visit, context.has_bias = visit, bias is not None
        context.save_for_backward(everyone, own)
        products = products_with_all(everyone, own, bias)
        to_each, from_each = visit.sizes()
        arrived = _exchange(products.flatten(), to_each, from_each, visit.group)
        parts = torch.split(arrived, from_each)
        columns = [part.view(number, rows) for part, rows in zip(parts, visit.rows, strict=True)]
        return torch.cat(columns, dim=1)

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_products: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        (everyone, own), visit = context.saved_tensors, context.visit
        number, size = len(of_products), len(visit.vectors)
        from_each, to_each = visit.sizes()
        parts = [part.flatten() for part in torch.split(of_products, visit.rows, dim=1)]
        arrived = _exchange(torch.cat(parts), to_each, from_each, visit.group)
        of_own = arrived.view(len(everyone), len(own))
        of_vectors = _exchange(of_own @ own, visit.vectors, [number] * size, visit.group)
        of_vectors = of_vectors.view(size, number, own.shape[1]).sum(0)
        of_bias = of_own.sum(0) if context.has_bias else None
        return of_vectors, of_own.T @ everyone, of_bias, None
