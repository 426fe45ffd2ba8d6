"""The factorisations, number by number as their papers write them."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from oracle.worlds import Fact


def factorized(
    name: str, model: Any, ticks: Sequence[int], fact: Fact
) -> tuple[float, list[float]]:
    """The papers' score of a fact, number by number, and the sizes that are to be kept small."""
    s, r, o, t = fact
    if name == "simple" and r >= model.num_relations:
        s, r, o = o, r - model.num_relations, s
    head, tail = model.entities[s].tolist(), model.entities[o].tolist()
    relation = model.relations[r].tolist()
    lasting = model.lasting[r].tolist() if name in ("chronor", "tntcomplex") else []
    time = [] if name in ("distmult", "simple", "complex") else time_row(model, ticks, t)
    score, sizes = 0.0, []
    if name == "distmult":
        for a, b, c in zip(head, relation, tail, strict=True):
            score += a * b * c
            sizes += [abs(a), abs(b), abs(c)]
    elif name == "simple":
        for a, b, c in zip(pairs(head), pairs(relation), pairs(tail), strict=True):
            score += (a[0] * b[0] * c[1] + c[0] * b[1] * a[1]) / 2
            sizes += [math.hypot(*a), math.hypot(*b), math.hypot(*c)]
    elif name == "tcompounde":
        for a, b, c, tau in zip(head, pairs(relation), tail, pairs(time), strict=True):
            scale, move = (math.pi * b[0] + tau[0]) * tau[1], math.pi * b[1]
            score += (a + move) * scale * c
            sizes += [abs(a), math.hypot(scale, move), abs(c)]
    elif name == "telm":
        for a, b, c, tau in zip(*map(multivectors, (head, relation, tail, time)), strict=True):
            timed = clifford(b, tau)
            turned = {unit: -value if unit else value for unit, value in c.items()}
            score += clifford(clifford(a, timed), turned)[""]
            sizes += [math.hypot(*number.values()) for number in (a, timed, c)]
    else:
        factors = complex_factors(name, relation, lasting, time)
        together = math.prod if name == "chronor" else sum
        for a, c, *between in zip(numbers(head), numbers(tail), *factors, strict=True):
            score += (a * together(between) * c.conjugate()).real
            # Subject and object stand in both of TNTComplEx's sums.
            sizes += [abs(a), abs(c)] * (2 if name == "tntcomplex" else 1)
            sizes += [abs(factor) for factor in between]
    return score, sizes


def complex_factors(
    name: str, relation: list[float], lasting: list[float], time: list[float]
) -> list[list[complex]]:
    """What stands between subject and object."""
    if name == "complex":
        return [numbers(relation)]
    if name == "chronor":
        return [numbers(relation) + numbers(time), numbers(lasting)]
    if name == "teast":
        spiral = []
        spins, phases = numbers(time[: len(time) // 2]), pairs(time[len(time) // 2 :])
        for r, tau, phase in zip(numbers(relation), spins, phases, strict=True):
            one, other = math.sin(abs(phase[0])), math.sin(abs(phase[1]))
            spiral.append(math.pi * r * tau + complex(one - other, one + other))
        return [spiral]
    timed = [r * tau for r, tau in zip(numbers(relation), numbers(time), strict=True)]
    return [timed, numbers(lasting)] if name == "tntcomplex" else [timed]


def numbers(row: Sequence[float]) -> list[complex]:
    """A row as complex numbers, the real parts being its first half."""
    return [complex(*pair) for pair in pairs(row)]


def pairs(row: Sequence[float]) -> list[tuple[float, float]]:
    """The numbers of a row's first half, each with that of the second half."""
    return list(zip(row[: len(row) // 2], row[len(row) // 2 :], strict=True))


def multivectors(row: Sequence[float]) -> list[dict[str, float]]:
    """A row as numbers of four parts, which are its quarters; e₁e₂ is the unit "12"."""
    size, units = len(row) // 4, ("", "1", "2", "12")
    return [{unit: row[n * size + k] for n, unit in enumerate(units)} for k in range(size)]


def clifford(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """Multiply by the rules that a unit twice is 1 and that two units exchanged change sign."""
    product = dict.fromkeys(("", "1", "2", "12"), 0.0)
    for one, a in left.items():
        for other, b in right.items():
            word, sign = one + other, 1
            while word not in product:
                if "21" in word:
                    word, sign = word.replace("21", "12", 1), -sign
                word = word.replace("11", "").replace("22", "")
            product[word] += sign * a * b
    return product


def time_row(model: Any, ticks: Sequence[int], time: int) -> list[float]:
    """The row of a known time, the nearest at either end, or what lies between two rows."""
    rows = model.times.rows.tolist()
    if time <= ticks[0] or time >= ticks[-1]:
        return rows[0] if time <= ticks[0] else rows[-1]
    after = next(number for number, tick in enumerate(ticks) if tick >= time)
    share = (time - ticks[after - 1]) / (ticks[after] - ticks[after - 1])
    return [(1 - share) * a + share * b for a, b in zip(*rows[after - 1 : after + 1], strict=True)]


def roughness(name: str, model: Any, power: int) -> float:
    """How much the rows of the times change, on average over the steps from one to the next."""
    rows = model.times.rows.tolist()
    step = model.step.tolist() if name == "telm" else [0.0] * len(rows[0])
    total = 0.0
    for before, after in pairwise(rows):
        change = [b - a - w for a, b, w in zip(before, after, step, strict=True)]
        if name == "teast":
            half = len(change) // 2
            spins_and_phases = zip(pairs(change[:half]), pairs(change[half:]), strict=True)
            sizes = [math.hypot(*spin, *phase) for spin, phase in spins_and_phases]
        else:
            sizes = [math.hypot(*pair) for pair in pairs(change)]
        total += sum(size**power for size in sizes)
    return total / max(len(rows) - 1, 1)
