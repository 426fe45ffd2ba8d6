"""Tensors that belong together: split, moved and copied as one value."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Columns:
    """A record of tensors with one row per query; a subclass names them as its fields.

    A field may also hold other Columns. Whatever else it holds stays as it is, and a subclass
    whose queries share a tensor overrides `__getitem__` to keep that tensor whole.
    """

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same record with every tensor replaced by the function of it."""
        return self._replace(function, lambda inner: inner.map(function))

    def _replace(
        self, tensor: Callable[[Tensor], Tensor], columns: "Callable[[Columns], Columns]"
    ) -> Self:
        changed: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                changed[field.name] = tensor(value)
            elif isinstance(value, Columns):
                changed[field.name] = columns(value)
        return replace(self, **changed)

    def tensors(self) -> list[Tensor]:
        """Every tensor of the record, in the order of the fields."""
        tensors: list[Tensor] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                tensors.append(value)
            elif isinstance(value, Columns):
                tensors += value.tensors()
        return tensors

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return self._replace(lambda column: column[rows], lambda inner: inner[rows])

    def to(self, device: torch.device | str) -> Self:
        return self.map(lambda column: column.to(device))
