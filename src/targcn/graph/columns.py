"""Tensors that belong together: split, moved and copied as one value."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

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
        return self._replace(
            lambda part: part.map(function) if isinstance(part, Columns) else function(part)
        )

    def _replace(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, **{name: change(part) for name, part in self._parts().items()})

    def _parts(self) -> dict[str, Any]:
        """The fields that hold a tensor or other Columns."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: part for name, part in values.items() if isinstance(part, Tensor | Columns)}

    def tensors(self) -> list[Tensor]:
        """Every tensor of the record, in the order of the fields."""
        tensors: list[Tensor] = []
        for part in self._parts().values():
            tensors += part.tensors() if isinstance(part, Columns) else [part]
        return tensors

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return self._replace(lambda part: part[rows])

    def to(self, device: torch.device | str) -> Self:
        return self._replace(lambda part: part.to(device))
