"""TARGCN, equation by equation."""

import cmath
import math
from collections.abc import Callable, Mapping, Sequence

import torch

from oracle.graph import Neighbor
from oracle.worlds import Query
from targcn.models.targcn import TARGCN, Aggregator


def decode(
    decoder: str, query: Sequence[float], relation: Sequence[float], candidate: Sequence[float]
) -> float:
    """The score functions, number by number; BiQUE's relation is its rotation, then its shift."""
    size = len(query)
    if decoder == "distmult":
        return sum(query[i] * relation[i] * candidate[i] for i in range(size))
    if decoder == "complex":
        half, total = size // 2, 0j
        for i in range(half):
            q, r, o = (complex(v[i], v[half + i]) for v in (query, relation, candidate))
            total += q * r * o.conjugate()
        return total.real
    eighth, score = size // 8, 0.0
    for i in range(eighth):
        q, rotation, shift, o = (
            {unit: complex(v[i + 2 * n * eighth], v[i + (2 * n + 1) * eighth])
             for n, unit in enumerate("1ijk")}
            for v in (query, relation[:size], relation[size:], candidate)
        )  # fmt: skip
        shifted = {unit: q[unit] + shift[unit] for unit in "1ijk"}
        for unit, value in hamilton(shifted, rotation).items():
            score += value.real * o[unit].real + value.imag * o[unit].imag
    return score


def hamilton(left: Mapping[str, complex], right: Mapping[str, complex]) -> dict[str, complex]:
    """Multiply quaternions of complex numbers by the table i² = j² = k² = ijk = −1."""
    table = {"ij": (1, "k"), "jk": (1, "i"), "ki": (1, "j")}
    table |= {"ji": (-1, "k"), "kj": (-1, "i"), "ik": (-1, "j")}
    table |= {unit + unit: (-1, "1") for unit in "ijk"} | {"11": (1, "1")}
    table |= {"1" + unit: (1, unit) for unit in "ijk"} | {unit + "1": (1, unit) for unit in "ijk"}
    product = dict.fromkeys("1ijk", 0j)
    for one, a in left.items():
        for other, b in right.items():
            sign, unit = table[one + other]
            product[unit] += sign * a * b
    return product


def targcn_scores(
    model: TARGCN, query: Query, see: Callable[[int, int], list[Neighbor]]
) -> list[float]:
    """The equations of the paper, neighbour by neighbour; `see` gives what (entity, time) sees."""
    options = model.settings
    activate = {"tanh": torch.tanh, "relu": torch.relu}[options.activation]
    absolute = options.time_encoding == "absolute"

    def phi(moment: int) -> torch.Tensor:
        encoding = model.time_encoding
        pairs = zip(encoding.frequencies.tolist(), encoding.phases.tolist(), strict=True)
        code = [cmath.exp(1j * (w * options.time_factor * moment + p)).real for w, p in pairs]
        scale = 1 / math.sqrt(options.dim) if options.time_scaled else 1.0
        return torch.tensor(code, dtype=torch.float64) * scale

    def f(step: Aggregator, vector: torch.Tensor, moment: int) -> torch.Tensor:
        return step.f.weight @ torch.cat([vector, phi(moment)]) + step.f.bias

    def describe(entity: int, time: int, number: int) -> torch.Tensor:
        step = model.first if number == 1 else model.second
        near, own = see(entity, time), model.entities[entity]
        if not near:
            return activate(f(step, own, time if absolute else 0))
        messages = []
        for neighbor, relation, delta in near:
            h_e = model.entities[neighbor] if number == 1 else describe(neighbor, time + delta, 1)
            h_et = f(step, h_e, time + delta if absolute else delta)  # equation 1
            both = torch.cat([h_et, model.relations[relation]])
            messages.append(step.W.weight @ both + step.W.bias)
        mean = torch.stack(messages).sum(0) / len(messages)  # equation 2
        return activate(mean + own if options.own_vector else mean)

    s, r, t = query
    subject = describe(s, t, options.steps).tolist()
    scores = []
    for entity in range(len(model.entities)):
        x = f(model.first, model.entities[entity], t if absolute else 0)
        scores.append(decode(options.decoder, subject, model.relations[r].tolist(), x.tolist()))
    return scores
