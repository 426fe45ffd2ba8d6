"""Files of tensors, which are believed only as far as they fit what is expected of them.

The header of a file says what it holds. It is checked before a number is read, and the numbers
before they are used: a wrong shape in an optimiser's state would have memory read out of bounds.

A file holds every tensor whole. One that is sharded over processes is written and read by rows, so
that no process needs all of it at once.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, distributed

from targcn.distributed import ProcessGroup, rows_here, rows_of_process
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
NAMES: Final = {dtype: name for name, dtype in TYPES.items()}


# Bytes of a sharded tensor that are sent and written at once.
PIECE_BYTES: Final = 1 << 24


@dataclass(frozen=True)
class Expected:
    """What a stored tensor has to be; all of its numbers are finite."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    least: float = -math.inf
    # Of a sharded tensor, the rows of this process.
    rows: range | None = None

    def blank(self) -> Tensor:
        """Zeros in the place of all that this process holds of it."""
        shape = self.shape if self.rows is None else (len(self.rows), *self.shape[1:])
        return torch.zeros(shape, dtype=self.dtype)


def expect_like(tensors: Mapping[str, Tensor], prefix: str = "") -> dict[str, Expected]:
    """Tensors of the same names, below a prefix, shapes and types."""
    return {
        prefix + name: Expected(tuple(value.shape), value.dtype, rows=rows_here(value))
        for name, value in tensors.items()
    }


@dataclass(frozen=True, eq=False)
class InPieces:
    """A tensor whose rows come piece by piece."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    pieces: Iterator[Tensor]


@contextmanager
def gathered(
    tensors: Mapping[str, Tensor], expected: Mapping[str, Expected], processes: ProcessGroup
) -> Iterator[dict[str, Tensor | InPieces]]:
    """In the main process, the tensors of all: a sharded one in pieces, sent when it is read.

    Every process enters the block with its own rows. Pieces that the main one leaves, since it
    cannot write them, are read when it leaves the block: the others would wait for ever.
    """
    sharded = {
        name: one for name in _in_order(expected) if (one := expected[name]).rows is not None
    }
    if not processes.is_main:
        for name in sharded:
            for piece in _cut(tensors[name]):
                distributed.send(piece, 0)
        yield dict(tensors)
        return
    pieces = {
        name: InPieces(one.shape, one.dtype, _receive(tensors[name], one, processes.size))
        for name, one in sharded.items()
    }
    try:
        yield {**tensors, **pieces}
    finally:
        for left in pieces.values():
            for _ in left.pieces:
                pass


def _receive(own: Tensor, expected: Expected, size: int) -> Iterator[Tensor]:
    """The rows of all processes, one after the other."""
    yield from _cut(own)
    for index in range(1, size):
        num_rows = len(rows_of_process(expected.shape[0], index, size))
        # Cut as its owner cuts it.
        for like in _cut(torch.empty((num_rows, *own.shape[1:]), dtype=own.dtype, device="meta")):
            piece = torch.empty_like(like, device="cpu")
            distributed.recv(piece, index)
            yield piece


def _cut(rows: Tensor) -> Iterator[Tensor]:
    """Some rows at a time, on the CPU if they hold numbers."""
    if rows.numel() == 0:
        return
    size = max(PIECE_BYTES // rows[:1].nbytes, 1)
    for first in range(0, len(rows), size):
        piece = rows[first : first + size].detach().contiguous()
        yield piece if piece.is_meta else piece.cpu()


def write_tensors(
    path: Path,
    tensors: Mapping[str, Tensor | InPieces],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors, whole or not at all, as a file of the format safetensors.

    That is the length of a header, the header as JSON, and the numbers of all tensors.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    names, end = _in_order(tensors), 0
    for name in names:
        one = tensors[name]
        begin, end = end, end + math.prod(one.shape) * one.dtype.itemsize
        header[name] = {
            "dtype": NAMES[one.dtype],
            "shape": list(one.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(path) as draft, draft.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            one = tensors[name]
            for piece in one.pieces if isinstance(one, InPieces) else [one.detach().cpu()]:
                stream.write(piece.contiguous().flatten().view(torch.uint8).numpy().data)


def _in_order(tensors: Mapping[str, Tensor | InPieces | Expected]) -> list[str]:
    """The names of tensors as a file has them: those of wider numbers first."""
    return sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))


def read_tensors(
    path: Path, expected: Mapping[str, Expected]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and what it says about itself; an InputError where they do not fit.

    Of a sharded one the rows of this process are read.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise DamagedError(f"{path} is missing; train the run again")
    try:
        with safe_open(path, framework="pt") as stored:
            names = list(stored.keys())
            slices = {name: stored.get_slice(name) for name in names}
            found = {
                name: (tuple(one.get_shape()), TYPES.get(one.get_dtype(), one.get_dtype()))
                for name, one in slices.items()
            }
            _require_fit(path, found, expected)
            tensors = {}
            for name, one in expected.items():
                if one.rows is None:
                    tensors[name] = stored.get_tensor(name)
                elif one.rows:
                    tensors[name] = slices[name][one.rows.start : one.rows.stop]
                else:
                    tensors[name] = one.blank()
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


def _require_fit(
    path: Path,
    found: Mapping[str, tuple[tuple[int, ...], object]],
    expected: Mapping[str, Expected],
) -> None:
    wanted = {name: (one.shape, one.dtype) for name, one in expected.items()}
    if wanted == found:
        return
    wrong = next(name for name in (*wanted, *found) if wanted.get(name) != found.get(name))
    is_found, is_wanted = (_describe(one.get(wrong)) for one in (found, wanted))
    raise DamagedError(
        f"{path} does not fit its run: {wrong} is {is_found} where {is_wanted} was expected; "
        "train the run again"
    )


def _describe(one: tuple[tuple[int, ...], object] | None) -> str:
    if one is None:
        return "nothing"
    shape, dtype = one
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"
