"""What a query may see, fact by fact: neighbours, the nearest facts, windows."""

from collections.abc import Sequence

from oracle.worlds import Fact, Query, first_tick, last_tick, moment, with_reciprocals

Neighbor = tuple[int, int, int]  # entity, relation, time minus the query's


def facts_around(
    facts: Sequence[Fact], num_relations: int, entity: int, time: int
) -> list[Neighbor]:
    """Every fact that comes in to an entity, seen from a time, sorted."""
    everything = with_reciprocals(facts, num_relations)
    return sorted(
        (fact[0], fact[1], moment(fact, time) - time) for fact in everything if fact[2] == entity
    )


def inclusion_probabilities(weights: Sequence[float], number: int) -> list[float]:
    """How likely each is among `number` sampled one after another, none of them twice."""
    included = [0.0] * len(weights)

    def sample(taken: tuple[int, ...], probability: float) -> None:
        left = [i for i in range(len(weights)) if i not in taken]
        if len(taken) == number or not left:
            for i in taken:
                included[i] += probability
            return
        total = sum(weights[i] for i in left)
        for i in left:
            sample((*taken, i), probability * weights[i] / total)

    sample((), 1.0)
    return included


def facts_from(facts: Sequence[Fact], num_relations: int, entity: int) -> list[Fact]:
    """The facts of an entity as their subject, in the order of the graph."""
    incoming = [fact for fact in with_reciprocals(facts, num_relations) if fact[2] == entity]
    incoming.sort(key=lambda fact: (first_tick(fact), fact[1], fact[0], last_tick(fact)))
    return [
        (entity, (r + num_relations) % (2 * num_relations), s, *when) for s, r, _, *when in incoming
    ]


def nearest(facts: Sequence[Fact], time: int, count: int, past_only: bool = False) -> list[Fact]:
    """The first `count` by distance in time, and of two as far the one that began earlier, sorted.

    Those that began from the time on are taken in the order given; those before it, from the last.
    The time of each is its moment nearest to the time.
    """
    seen = []
    for place, fact in enumerate(facts):
        begun, then = first_tick(fact) < time, moment(fact, time)
        if begun or not past_only:
            order = abs(then - time), not begun, -place if begun else place
            seen.append((*order, (*fact[:3], then)))
    return sorted(fact for *_, fact in sorted(seen)[:count])


def window_around(
    facts: Sequence[Fact], time: int, size: int, past_only: bool = False
) -> tuple[list[int], list[int]]:
    """The times of the snapshots before and after a time, the nearest first."""
    times = sorted({fact[3] for fact in facts})
    before = [t for t in reversed(times) if t < time][: size - 1]
    after = [t for t in times if t > time and not past_only][: size - 1]
    return before, after


def counts_in(
    facts: Sequence[Fact], times: Sequence[int], num_relations: int, query: Query
) -> list[int]:
    """Facts at some times with the query's entity on its side, with its relation, with both."""
    s, r, _ = query
    both = with_reciprocals(facts, num_relations)
    seen = [fact for fact in both if fact[3] in times]
    of_entity = [f for f in seen if f[0] == s and (f[1] < num_relations) == (r < num_relations)]
    of_relation, of_both = ([f for f in some if f[1] == r] for some in (seen, of_entity))
    return [len(of_entity), len(of_relation), len(of_both)]
