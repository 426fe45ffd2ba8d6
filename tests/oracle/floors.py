"""The models that need no training, by their formulas."""

import math
from collections.abc import Sequence

from oracle.worlds import Fact, Query, moment, with_reciprocals


def seen(facts: Sequence[Fact], num_entities: int, num_relations: int, query: Query) -> list[float]:
    """10^6·[(s, r, o) seen] + 10^2·count(s, o) + share of o under r."""
    s, r, _ = query
    everything = with_reciprocals(facts, num_relations)
    under_r = [fact for fact in everything if fact[1] == r]
    scores = []
    for o in range(num_entities):
        before = any(fact[:3] == (s, r, o) for fact in everything)
        together = sum(fact[0] == s and fact[2] == o for fact in everything)
        share = sum(fact[2] == o for fact in under_r) / len(under_r) if under_r else 0
        scores.append(1e6 * before + 1e2 * together + share)
    return scores


def decayed_copy(
    facts: Sequence[Fact],
    num_entities: int,
    num_relations: int,
    query: Query,
    scale: float = 30.0,
) -> list[float]:
    """Σ over the facts of s with o of (10 if same relation else 1)·(exp(−|Δ|/30) + 10^-3)."""
    scores = [0.0] * num_entities
    for fact in with_reciprocals(facts, num_relations):
        s, r, o, *_ = fact
        if s == query[0]:
            weight = 10 if r == query[1] else 1
            distance = abs(query[2] - moment(fact, query[2]))
            scores[o] += weight * (math.exp(-distance / scale) + 1e-3)
    return scores
