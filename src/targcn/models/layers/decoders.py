"""Score functions that are linear in the candidate: score = decode(query, relation) · candidate.

Each gives the vectors, one row per query, whose products with the candidates are the scores.
"""

from collections.abc import Callable
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.models.layers.arithmetic import complex_product

Decoder = Literal["distmult", "complex", "bique"]


def distmult(query: Tensor, relation: Tensor) -> Tensor:
    """(q ⊙ r) · o"""
    return query * relation


def bique(query: Tensor, relation: Tensor) -> Tensor:
    """((q + shift) ⊗ rotation) · o: BiQUE (Guo and Kok, 2021).

    A relation's vector holds its rotation and then its shift, each as long as the query's.
    """
    rotation, shift = relation.chunk(2, dim=-1)
    return hamilton_product(query + shift, rotation)


def hamilton_product(one: Tensor, other: Tensor) -> Tensor:
    """The product of biquaternions w + xi + yj + zk.

    A vector holds the complex numbers w, x, y and z, for each its real and then its imaginary part.
    """
    w, x, y, z = _complex_parts(one)
    a, b, c, d = _complex_parts(other)
    product = (
        w * a - x * b - y * c - z * d,
        w * b + x * a + y * d - z * c,
        w * c - x * d + y * a + z * b,
        w * d + x * c - y * b + z * a,
    )
    return torch.cat([half for part in product for half in (part.real, part.imag)], dim=-1)


def _complex_parts(vectors: Tensor) -> list[Tensor]:
    halves = vectors.chunk(8, dim=-1)
    return [torch.complex(halves[i], halves[i + 1]) for i in range(0, 8, 2)]


DECODERS: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "distmult": distmult,
    "complex": complex_product,
    "bique": bique,
}
# The dimension must be a multiple of this.
MULTIPLES: Final = {"distmult": 1, "complex": 2, "bique": 8}
# How many times as long as an entity's vector a relation's is.
RELATION_LENGTHS: Final = {"distmult": 1, "complex": 1, "bique": 2}
