"""Ranks by sorting, known answers by sets, and resampling by loops."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from oracle.worlds import Fact, Query, World, holds, with_reciprocals


def known_answers(
    facts: Sequence[Fact], num_relations: int, which: str
) -> Mapping[Query, set[int]]:
    """A dictionary of sets; under the static filter the time of every key is 0."""
    known: defaultdict[Query, set[int]] = defaultdict(set)
    for s, r, o, t in with_reciprocals(facts, num_relations):
        if which != "raw":
            known[s, r, t if which == "time-aware" else 0].add(o)
    return known


def known_at(world: World, query: Query) -> set[int]:
    """The true answers at the time of a query, fact by fact; facts may hold over intervals."""
    return {
        fact[2]
        for fact in with_reciprocals(world.facts, world.num_relations)
        if fact[:2] == query[:2] and holds(fact, query[2])
    }


def rank(scores: Sequence[float], target: int, known: set[int], ties: str) -> float:
    """Take the known answers out, sort what is left, and see where the target stands."""
    if ties == "mean":
        best = rank(scores, target, known, "optimistic")
        return (best + rank(scores, target, known, "pessimistic")) / 2
    left = [entity for entity in range(len(scores)) if entity == target or entity not in known]
    among_equals = 0 if ties == "optimistic" else 2
    left.sort(key=lambda entity: (-scores[entity], among_equals if entity == target else 1))
    return left.index(target) + 1


def resampled_differences(
    ranks: Sequence[float], others: Sequence[float], samples: Sequence[Sequence[int]]
) -> list[float]:
    """MRR minus another's over each sample of facts; the ranks of objects come first."""
    num_facts = len(ranks) // 2
    differences = []
    for sample in samples:
        total = 0.0
        for fact in sample:
            for query in (fact, num_facts + fact):
                total += 1 / ranks[query] - 1 / others[query]
        differences.append(total / (2 * len(sample)))
    return differences
