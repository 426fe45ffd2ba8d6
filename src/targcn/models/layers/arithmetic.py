"""Arithmetic that several models share, each piece as one node of autograd.

Written out in plain operations, it would read large tables far more often, and a step of a
factorisation model consists mostly of reading them.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def complex_product(one: Tensor, other: Tensor) -> Tensor:
    """The product of complex numbers, in vectors whose first half are the real parts.

    >>> complex_product(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).tolist()
    [-5.0, 10.0]
    """
    return _ComplexProduct.apply(one, other)  # type: ignore[no-any-return, no-untyped-call]


class _ComplexProduct(Function):
    @staticmethod
    def forward(context: Any, one: Tensor, other: Tensor) -> Tensor:
        context.save_for_backward(one, other)
        return _product(one, other, 1)

    @staticmethod
    def backward(context: Any, of_product: Tensor) -> tuple[Tensor, Tensor]:
        one, other = context.saved_tensors
        return _product(of_product, other, -1), _product(of_product, one, -1)


def _product(one: Tensor, other: Tensor, sign: int) -> Tensor:
    """The product of complex numbers or, if the sign is −1, with the others' conjugates."""
    real, imaginary = one.chunk(2, dim=-1)
    real_too, imaginary_too = other.chunk(2, dim=-1)
    return torch.cat(
        [
            (real * real_too).addcmul_(imaginary, imaginary_too, value=-sign),
            (imaginary * real_too).addcmul_(real, imaginary_too, value=sign),
        ],
        dim=-1,
    )


def in_parts(vectors: Tensor, parts: int) -> Tensor:
    """The parts of the numbers in each vector, which lie one after another, as rows.

    >>> in_parts(torch.tensor([[3.0, 1.0, 4.0, 0.0]]), 2).tolist()
    [[[3.0, 1.0], [4.0, 0.0]]]
    """
    return vectors.view(*vectors.shape[:-1], parts, vectors.shape[-1] // parts)


def sum_of_powers(numbers: Tensor, power: int) -> Tensor:
    """The sum of the powers of the numbers' absolute values, each number given in parts."""
    return _SumOfPowers.apply(numbers, power)  # type: ignore[no-any-return, no-untyped-call]


class _SumOfPowers(Function):
    @staticmethod
    def forward(context: Any, numbers: Tensor, power: int) -> Tensor:
        first, *others = numbers.unbind(-2)
        squares = first.square()
        for part in others:
            squares.addcmul_(part, part)
        context.save_for_backward(numbers, squares)
        context.power = power
        return squares.pow(power / 2).sum()

    @staticmethod
    @once_differentiable
    def backward(context: Any, of_sum: Tensor) -> tuple[Tensor, None]:
        numbers, squares = context.saved_tensors
        slopes = squares.pow(context.power / 2 - 1).mul_(context.power * of_sum)
        return numbers * slopes.unsqueeze(-2), None
