"""Suggested facts against all that rules lead to, one rule and one fact after the other."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from oracle import (
    Fact,
    World,
    checked,
    first_tick,
    holds,
    interval_worlds_with_queries,
    suggest,
    worlds,
)
from targcn.errors import InputError
from targcn.graph import suggestions as how
from targcn.graph.queries import FactColumns
from targcn.graph.suggestions import Cells, Suggestions

# Few cases make a rule of a tiny world; fractions of two are exact.
SMALL = {"LEAST_CASES": (1, 2), "LEAST_CASES_OF_PATHS": (1, 2), "LEAST_SHARE": (0.03125, 0.5),
         "PATH_LEAST_SHARE": (0.0625, 0.5), "REACH": (1, 7), "PATH_REACH": (0, 1, 2),
         "MOST_SECOND_FACTS": (1, 64), "FACTS_AT_ONCE": (2, 1000)}  # fmt: skip
# Many paths of two facts.
FACT = st.tuples(*(st.integers(0, most) for most in (3, 0, 3, 2)))
DENSE = st.lists(FACT, min_size=8, max_size=14).map(lambda facts: World(4, 2, facts))


def rows_of(facts: FactColumns) -> list[Fact]:
    return list(zip(*(column.tolist() for column in facts.tensors()), strict=True))


@checked
@given(worlds() | DENSE | interval_worlds_with_queries().map(lambda drawn: drawn[0]), st.data())
def test_all_is_suggested_that_rules_lead_to(world: World, data: st.DataObject) -> None:
    """Intervals lead to others by their first ticks, and are known as long as they hold."""
    facts, graph = world.facts, world.graph
    if not graph.has_intervals and data.draw(st.booleans(), "past"):
        graph = world.past
    ticks = sorted({first_tick(fact) for fact in facts} | data.draw(st.sets(st.just(3))))
    share = data.draw(st.sampled_from([1.0, 0.5]))
    with pytest.MonkeyPatch.context() as patch:
        for name, values in SMALL.items():
            patch.setattr(how, name, data.draw(st.sampled_from(values), name))
        found = Suggestions.of(graph, torch.tensor(ticks, dtype=torch.long), share)
        expected = suggest(facts, world.num_relations, ticks, share, graph.past_only)
    suggested = rows_of(found.cells.facts(found.codes))
    assert suggested == sorted(expected)
    known = [[f[:3] == one[:3] and holds(f, one[3]) for f in facts] for one in suggested]
    unknown = [one for one, held in zip(suggested, known, strict=True) if not any(held)]
    assert rows_of(found.facts(torch.arange(len(found)))) == unknown
    entities, relations = range(world.num_entities), range(world.num_relations)
    asked = list(product(entities, relations, entities, [*ticks, -1, 2, 10**6]))
    shares = found.shares_of(FactColumns(*torch.tensor(asked).T.contiguous()))
    assert_close(shares, torch.tensor([expected.get(fact, [0.0, 0.0]) for fact in asked]))


def suggested_by(facts: list[Fact], past_only: bool) -> dict[Fact, list[float]]:
    """What is suggested at ten times and not known, with the constants as they are."""
    world = World(1000, 3, facts)
    found = Suggestions.of(world.past if past_only else world.graph, torch.arange(10))
    unknown = found.facts(torch.arange(len(found)))
    return dict(zip(rows_of(unknown), found.shares_of(unknown).tolist(), strict=True))


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize(
    ("second", "fewest", "least"),
    [(0, how.LEAST_CASES, how.LEAST_SHARE), (1, how.LEAST_CASES_OF_PATHS, how.PATH_LEAST_SHARE)],
)
def test_a_rule_needs_cases(second: int, fewest: int, least: float, past_only: bool) -> None:
    """Who has 0 with x (and x has 1 with o a time later) has 2 with that two times later."""

    def known(bodies: int, cases: int) -> list[Fact]:
        starts = range(0, 3 * bodies, 3)
        body = [(s, 0, s + 1, 4) for s in starts] + [(s + 1, 1, s + 2, 5) for s in starts] * second
        return body + [(s, 2, s + 1 + second, 6) for s in starts[bodies - cases :]]

    enough, shares = known(fewest + 1, fewest), [0.0, 0.0]
    shares[second] = fewest / (fewest + 2)
    assert suggested_by(enough, past_only) == {(0, 2, 1 + second, 6): pytest.approx(shares)}
    assert not suggested_by(known(fewest + 1, fewest - 1), past_only)
    assert not suggested_by(known(int(fewest / least) + 1, fewest), past_only)
    # What leads back in time is no forecast.
    mirrored = [(s, r, o, 12 - t) for s, r, o, t in enough]
    assert bool(suggested_by(mirrored, past_only)) != past_only


def test_cells_are_numbers_of_64_bits() -> None:
    with pytest.raises(InputError, match=r"at 1 times are too many .*; take a part$"):
        Cells(2**31, 2, torch.tensor([0]))
