"""Counter-based random numbers: pure functions of a seed and a place.

Each number is a hash of a seed, a row and a column. So it depends neither on the batch nor on the
device, and a run that is resumed needs the number of its step but no state of a generator.
"""

import torch
from torch import Tensor

# Constants of a hash with two rounds of xor-shift and multiply that mixes 32 bits well.
_FIRST, _SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)
# An odd number that spreads neighbouring columns over all 32 bits.
_SPREAD = 0x9E3779B1 - (1 << 32)


def mix(values: Tensor) -> Tensor:
    """Hash 32-bit integers: equal ones stay equal, close ones end up far apart."""
    values = values ^ (values >> 16).bitwise_and_(0xFFFF)
    values *= _FIRST
    values ^= (values >> 15).bitwise_and_(0x1FFFF)
    values *= _SECOND
    values ^= (values >> 16).bitwise_and_(0xFFFF)
    return values


def combine(seed: Tensor | int, *parts: Tensor) -> Tensor:
    """One 32-bit hash of a seed and several integers, element by element."""
    mixed = torch.as_tensor(seed, device=parts[0].device).to(torch.int32)
    for part in parts:
        mixed = mix(mix(part.to(torch.int32)) + mixed * 31 + 1)
    return mixed


def shifted(rows: Tensor, by: Tensor) -> Tensor:
    """Rows whose column 0 has the random number of column `by` of the given rows.

    >>> rows = combine(0, torch.tensor([1]))
    >>> moved = uniform(shifted(rows, torch.tensor([5])), torch.tensor([2]))
    >>> bool(moved == uniform(rows, torch.tensor([7])))
    True
    """
    return rows + by.to(torch.int32) * _SPREAD


def uniform(rows: Tensor, columns: Tensor) -> Tensor:
    """A number in (0, 1) for each pair of a row's hash and a column's integer, which broadcast."""
    # 23 bits: with one more, the last number would be half a step below 1 and be rounded to 1.
    bits = _bits(rows, columns).bitwise_right_shift_(8)
    return bits.bitwise_and_(0x7FFFFF).to(torch.float32).add_(0.5).mul_(2**-23)


def whole_numbers(rows: Tensor, columns: Tensor, below: Tensor | int) -> Tensor:
    """A whole number below `below` for each pair, all of them about equally likely."""
    return (_bits(rows, columns) & 0x7FFFFFFF).long() % below


def _bits(rows: Tensor, columns: Tensor) -> Tensor:
    return mix(columns.to(torch.int32) * _SPREAD + rows)


class Shuffled:
    """The numbers below `count` in a random order, of which nothing is laid out.

    A place is hashed in four rounds of a Feistel network, which maps the numbers below a power of
    four onto themselves; one that leaves the range is hashed again.

    >>> order = Shuffled(10, seed=1)
    >>> sorted(order[torch.arange(10)].tolist()) == list(range(10))
    True
    """

    ROUNDS = 4

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self.bits = max((max(count - 1, 1).bit_length() + 1) // 2, 1)

    def __getitem__(self, places: Tensor) -> Tensor:
        numbers = self._hash(places.long())
        while bool((outside := numbers >= self.count).any()):
            numbers = torch.where(outside, self._hash(numbers), numbers)
        return numbers

    def _hash(self, numbers: Tensor) -> Tensor:
        mask = (1 << self.bits) - 1
        left, right = numbers >> self.bits, numbers & mask
        for turn in range(self.ROUNDS):
            seed = (self.seed * self.ROUNDS + turn) % 2**31
            left, right = right, left ^ (combine(seed, right).long() & mask)
        return (left << self.bits) | right
