"""The traces of a fact, counted in a list of facts."""

from collections.abc import Sequence
from typing import Any

from oracle.worlds import Fact, first_tick, holds, last_tick, with_reciprocals
from targcn.graph.traces import KEYS, NEVER


def share_with(both: Sequence[Fact], relation: int, given: int) -> float:
    """P(relation | given): of the facts under one, how many have the other as they begin."""
    under = [fact for fact in both if fact[1] == given]
    have = [
        any(other[:3] == (s, relation, o) and holds(other, first) for other in both)
        for s, _, o, first, _ in under
    ]
    return sum(have) / (len(under) + 1)


def find_traces(
    facts: Sequence[Fact], num_relations: int, asked: Fact, past_only: bool = False
) -> tuple[dict[str, Any], dict[int, float]]:
    """The fields of the traces, by KEYS; and the shares of the relations that both have then."""
    s, r, o, t = asked
    distinct = {(*fact[:3], first_tick(fact), last_tick(fact)) for fact in facts}
    ahead = [fact for fact in distinct if not past_only or last_tick(fact) < t]
    both = with_reciprocals(ahead, num_relations)
    own = [f for f in both if f[:3] in [(s, r, o), (o, r + num_relations, s)] and holds(f, t)]
    by_key = {
        "this fact": [f for f in ahead if f[:3] == (s, r, o)],
        "this fact with its ends exchanged": [f for f in ahead if f[:3] == (o, r, s)],
        "the subject under this relation": [f for f in ahead if f[:2] == (s, r)],
        "the object under this relation": [f for f in ahead if f[1:3] == (r, o)],
        "both under any relation": [f for f in ahead if (f[0], f[2]) == (s, o)],
        "both under any relation, exchanged": [f for f in ahead if (f[0], f[2]) == (o, s)],
        "the object as a subject of this relation": [f for f in ahead if f[:2] == (o, r)],
        "the subject as an object of this relation": [f for f in ahead if f[1:3] == (r, s)],
        "the subject": [f for f in both if f[0] == s],
        "the object": [f for f in both if f[0] == o],
        "the relation": [f for f in ahead if f[1] == r],
    }
    keys = [by_key[key] for key in KEYS]
    before = [[t - last_tick(f) for f in key if last_tick(f) < t] for key in keys]
    after = [[first_tick(f) - t for f in key if first_tick(f) > t] for key in keys]
    beside = {f[1] for f in both if (f[0], f[2]) == (s, o) and holds(f, t) and f not in own}
    shares = {other: share_with(both, r, other) for other in beside}
    fields = {
        "before": [min(gaps, default=NEVER) for gaps in before],
        "after": [min(gaps, default=NEVER) for gaps in after],
        "elsewhere": [sum(not holds(f, t) for f in key) for key in keys],
        "now": [sum(holds(f, t) and f not in own for f in key) for key in keys],
        "num_objects": len({f[2] for f in ahead if f[:2] == (s, r) and f not in own}),
        "num_subjects": len({f[0] for f in ahead if f[1:3] == (r, o) and f not in own}),
        "best_share": max(shares.values(), default=0),
        "sum_of_shares": sum(shares.values()),
    }
    return fields | {"num_objects": 0, "num_subjects": 0} if past_only else fields, shares
