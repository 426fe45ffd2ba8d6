"""Files of tensors, which are believed only as far as they fit what is expected of them.

The header of a file says what it holds. It is checked before a number is read, and the numbers
before they are used: a wrong shape in an optimiser's state would have memory read out of bounds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from targcn.errors import DamagedError, InputError
from targcn.files import atomic_file, system_reason


@dataclass(frozen=True)
class Expected:
    """What a stored tensor has to be; all of its numbers are finite."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    least: float = -math.inf

    def blank(self) -> Tensor:
        """Zeros in the place of it."""
        return torch.zeros(self.shape, dtype=self.dtype)


def expect_like(tensors: Mapping[str, Tensor], prefix: str = "") -> dict[str, Expected]:
    """Tensors of the same names, below a prefix, shapes and types."""
    return {
        prefix + name: Expected(tuple(value.shape), value.dtype) for name, value in tensors.items()
    }


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors, whole or not at all, as a file of the format safetensors."""
    from safetensors.torch import save_file

    on_cpu = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_file(path) as draft:
        save_file(on_cpu, draft, dict(metadata) if metadata else None)


def read_tensors(
    path: Path, expected: Mapping[str, Expected]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and what it says about itself; an InputError where they do not fit."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise DamagedError(f"{path} is missing; train the run again")
    try:
        with safe_open(path, framework="pt") as stored:
            shapes = {
                name: stored.get_slice(name).get_shape()
                for name in stored.keys()  # noqa: SIM118
            }
            for name in (*expected, *shapes):
                wanted = list(expected[name].shape) if name in expected else "nothing"
                _require_alike(path, name, shapes.get(name, "nothing"), wanted)
            tensors = {name: stored.get_tensor(name) for name in expected}
            metadata = stored.metadata() or {}
    except (OSError, SafetensorError, RuntimeError, MemoryError) as error:
        if reason := system_reason(error):
            raise InputError(f"cannot read {path}: {reason}") from None
        raise DamagedError(f"{path} is cut short or damaged; train the run again") from None
    for name, value in tensors.items():
        _require_alike(path, name, value.dtype, expected[name].dtype)
        if not bool(torch.isfinite(value).all()) or bool((value < expected[name].least).any()):
            raise DamagedError(
                f"{path} is damaged: {name} holds numbers that no training gives; train the run "
                "again"
            )
    return tensors, metadata


def _require_alike(path: Path, name: str, held: object, wanted: object) -> None:
    if held != wanted:
        raise DamagedError(
            f"{path} does not fit its run: {name} is {held} where {wanted} was expected; train the "
            "run again"
        )
