"""Files of tensors, which are believed only as far as they fit what is expected of them.

The header of a file says what it holds. It is checked before a number is read, and the numbers
before they are used: a wrong shape in an optimiser's state would have memory read out of bounds.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from targcn.errors import DamagedError, InputError
from targcn.files import atomic_file, system_reason

# What the header of a file calls the types of numbers that models have.
TYPES: Final = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


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
            slices = {name: stored.get_slice(name) for name in stored.keys()}  # noqa: SIM118
            held = {
                name: _describe(TYPES.get(kept.get_dtype(), kept.get_dtype()), kept.get_shape())
                for name, kept in slices.items()
            }
            wanted = {
                name: _describe(tensor.dtype, tensor.shape) for name, tensor in expected.items()
            }
            for name in (*wanted, *held):
                is_held, is_wanted = (shapes.get(name, "nothing") for shapes in (held, wanted))
                if is_held != is_wanted:
                    raise DamagedError(
                        f"{path} does not fit its run: {name} is {is_held} where {is_wanted} was "
                        "expected; train the run again"
                    )
            tensors = {name: stored.get_tensor(name) for name in expected}
            metadata = stored.metadata() or {}
    except (OSError, SafetensorError, RuntimeError, MemoryError) as error:
        if reason := system_reason(error):
            raise InputError(f"cannot read {path}: {reason}") from None
        raise DamagedError(f"{path} is cut short or damaged; train the run again") from None
    for name, value in tensors.items():
        if not bool(torch.isfinite(value).all()) or bool((value < expected[name].least).any()):
            raise DamagedError(
                f"{path} is damaged: {name} holds numbers that no training gives; train the run "
                "again"
            )
    return tensors, metadata


def _describe(dtype: object, shape: Iterable[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"
