"""What rules suggest, by trying every rule on every fact."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from oracle.worlds import Fact, first_tick, with_reciprocals
from targcn.graph import suggestions as how


def suggest(
    facts: Sequence[Fact], num_relations: int, ticks: list[int], known_share: float, past_only: bool
) -> dict[Fact, list[float]]:
    """The best shares, by one fact and by two, of all that rules lead to; a place is of a tick."""
    placed = {(*fact[:3], bisect_left(ticks, first_tick(fact))) for fact in facts}
    both = with_reciprocals(list(placed), num_relations)
    # A self loop read back is itself.
    known = {fact for fact in both if fact[1] < num_relations or fact[0] != fact[2]}
    found: defaultdict[Fact, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def apply(kind: int, cases: list[tuple[int, int, int]], head: int) -> None:
        """A rule that says that these entities have this relation at these places."""
        fewest = (how.LEAST_CASES, how.LEAST_CASES_OF_PATHS)[kind]
        least = (how.LEAST_SHARE, how.PATH_LEAST_SHARE)[kind]
        complete = sum((s, head, o, place) in known for s, o, place in cases)
        share = complete / (len(cases) + 1) / known_share
        for s, o, place in cases if complete >= fewest and share >= least else []:
            if 0 <= place < len(ticks):
                best = found[s, head, o, ticks[place]]
                best[kind] = max(best[kind], share)

    reach, heads = range(-how.REACH, how.REACH + 1), range(num_relations)
    for relation, later, head in product(range(2 * num_relations), reach, heads):
        if (relation, later) != (head, 0) and (later > 0 or not past_only):
            led_to = [(s, o, place + later) for s, r, o, place in known if r == relation]
            # At a time outside of the data nothing could be known; paths count it as not there.
            apply(0, [case for case in led_to if 0 <= case[2] < len(ticks)], head)

    paths: defaultdict[Fact, list[tuple[int, int, int]]] = defaultdict(list)
    near = range(-how.PATH_REACH, how.PATH_REACH + 1)
    for (s, r, x, place), later in product(known, near):
        seconds = [fact for fact in known if (fact[0], fact[3]) == (x, place + later)]
        for _, second, o, _ in seconds if len(seconds) <= how.MOST_SECOND_FACTS else []:
            if len({s, x, o}) == 3:
                paths[r, second, later].append((s, o, place))
    for (body, ends), later, head in product(paths.items(), near, heads):
        if later > max(body[2], 0) or not past_only:
            apply(1, [(s, o, place + later) for s, o, place in ends], head)
    return dict(found)
