"""Random numbers that are a pure function of what they are for.

Each number is a hash of a seed and of the row and column it stands for. A draw then depends
neither on the batch nor on the device, and a run that is stopped and resumed needs no generator's
state: the step's number is enough.
"""

import torch
from torch import Tensor

# Two rounds of xor-shift and multiply, with constants that pass for random on 32 bits.
_FIRST, _SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)


def mix(values: Tensor) -> Tensor:
    """Scramble 32-bit integers; equal ones stay equal, close ones end up far apart."""
    values = (values ^ ((values >> 16) & 0xFFFF)) * _FIRST
    values = (values ^ ((values >> 15) & 0x1FFFF)) * _SECOND
    return values ^ ((values >> 16) & 0xFFFF)


def combine(seed: Tensor | int, *parts: Tensor) -> Tensor:
    """One 32-bit hash of a seed and several integers, element by element.

    >>> combine(7, torch.tensor([1, 1, 2])).unique().numel()
    2
    """
    mixed = torch.as_tensor(seed, device=parts[0].device).to(torch.int32)
    for part in parts:
        mixed = mix(mix(part.to(torch.int32)) + mixed * 31 + 1)
    return mixed


def uniform(rows: Tensor, columns: Tensor) -> Tensor:
    """A number in (0, 1) for each pair of a row's hash and a column's integer; they broadcast.

    >>> draws = uniform(combine(0, torch.arange(100))[:, None], torch.arange(100))
    >>> bool((draws > 0).all() and (draws < 1).all()), round(float(draws.mean()), 1)
    (True, 0.5)
    """
    # 23 bits: one more and the last number, half a step from 1, would be rounded up to it.
    bits = (mix(mix(columns.to(torch.int32)) + rows) & 0xFFFFFF) >> 1
    return (bits.to(torch.float32) + 0.5) * 2**-23
