"""The models that learn from sampled negatives, and their losses."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from oracle.factorization import time_row
from oracle.worlds import Fact


def boxte(model: Any, ticks: Sequence[int], fact: Fact) -> tuple[float, list[str]]:
    """The paper's score of a fact, and of each coordinate whether it lies in the box or outside."""
    s, r, o, t = fact
    if r >= model.num_relations:
        s, r, o = o, r - model.num_relations, s
    dim, num_bumps = model.settings.dim, model.settings.time_bumps
    (bump_s, point_s), (bump_o, point_o) = model.entities[s].tolist(), model.entities[o].tolist()
    shares, bumps = model.shares[r].flatten().tolist(), time_row(model, ticks, t)
    moved = [sum(shares[j] * bumps[j * dim + k] for j in range(num_bumps)) for k in range(dim)]
    score, places = 0.0, []
    for place, (point, bump) in enumerate(((point_s, bump_o), (point_o, bump_s))):
        raw = [math.exp(width) for width in model.widths[r, place].tolist()]
        (size,) = model.sizes[r, place].tolist()
        size = 1 + (size if size > 0 else math.exp(size) - 1)
        squares = 0.0
        for k, middle in enumerate(model.centres[r, place].tolist()):
            half = raw[k] / math.prod(raw) ** (1 / dim) * size
            low, high = math.tanh(middle - half), math.tanh(middle + half)
            p, c, w = math.tanh(point[k] + bump[k] + moved[k]), (low + high) / 2, high - low + 1
            places.append("inside" if low <= p <= high else "outside")
            if places[-1] == "inside":
                squares += (abs(p - c) / w) ** 2
            else:
                squares += (abs(p - c) * w - (w - 1) * (w - 1 / w) / 2) ** 2
        score -= math.sqrt(squares)
    return score, places


def bump_changes(model: Any) -> float:
    """The fourth powers of what changes in a bump from a time to the next, mean of all of them."""
    dim, num_bumps = model.settings.dim, model.settings.time_bumps
    powers = []
    for before, after in pairwise(model.times.rows.tolist()):
        for j in range(num_bumps):
            part = range(j * dim, (j + 1) * dim)
            powers.append(sum((after[k] - before[k]) ** 4 for k in part))
    return sum(powers) / max(len(powers), 1)


def atise(model: Any, ticks: Sequence[int], fact: Fact) -> float:
    """Both margins less the energies of the fact and of its reciprocal."""
    s, r, o, t = fact
    options, num_relations = model.settings, model.num_relations
    passed = (t // options.bucket) / (max(ticks) // options.bucket + 1)

    def curve(curves: Any, row: int) -> tuple[list[float], list[float]]:
        start, *others = (
            table[row].tolist()
            for table in (curves.start, curves.drift, curves.swing, curves.turns, curves.spread)
        )
        length = max(math.hypot(*start), 1)
        least, most = options.least_variance, 100 * options.least_variance
        means, variances = [], []
        for e, w, b, turns, spread in zip(start, *others, strict=True):
            means.append(e / length + w * passed + b * math.sin(2 * math.pi * turns * passed))
            variances.append(least + (most - least) / (1 + math.exp(-spread)))
        return means, variances

    score = 2 * options.margin
    there, back = (s, r, o), (o, (r + num_relations) % (2 * num_relations), s)
    for subject, relation, thing in (there, back):
        of_s, of_o = curve(model.entities, subject), curve(model.entities, thing)
        of_r = curve(model.relations, relation)
        a = b = 0.0
        for mu_s, v_s, mu_o, v_o, mu_r, v_r in zip(*of_s, *of_o, *of_r, strict=True):
            a += (v_s + v_o) / v_r + (mu_r - mu_s + mu_o) ** 2 / v_r - 1
            b += v_r / (v_s + v_o) + (mu_s - mu_o - mu_r) ** 2 / (v_s + v_o) - 1
        score -= (a + b) / 4
    return score


def softmax_cost(right: float, wrong: Sequence[float]) -> float:
    """Cross-entropy of one answer among wrong ones."""
    return math.log(sum(math.exp(score) for score in (right, *wrong))) - right


def self_adversarial_cost(right: float, wrong: Sequence[float], temperature: float) -> float:
    """One answer and the wrong ones each by themselves, those weighted by a softmax."""

    def softplus(value: float) -> float:
        return max(value, 0.0) + math.log1p(math.exp(-abs(value)))

    total = sum(math.exp(temperature * score) for score in wrong)
    of_wrong = sum(math.exp(temperature * score) / total * softplus(score) for score in wrong)
    return (softplus(-right) + of_wrong) / 2
