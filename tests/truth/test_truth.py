"""What is probably true in a context, with judges that nobody taught."""

import pytest
import torch

from oracle import Fact, World
from small_judges import columns_of, truth_of, visits
from targcn.graph.queries import FactColumns
from targcn.truth import truth as module
from targcn.truth.truth import Truth

FACTS = [*visits(60, 12, 9), (3, 1, 3, 4)]
WORLD = World(12, 2, FACTS, cuts=(len(FACTS), len(FACTS)))
LASTING = World(4, 1, [(0, 0, 1, 2, 6), (0, 0, 2, 4, 5), (3, 0, 1, 8, 9)], cuts=(3, 3))
EVERYTHING = [(s, r, o, t) for s in range(12) for r in range(2) for o in range(12) for t in (0, 4)]


@pytest.fixture(scope="module")
def truth() -> Truth:
    return truth_of(WORLD)


def rows_of(facts: FactColumns) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in facts.tensors()), strict=True))


def test_the_size_of_a_batch_does_not_matter(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = columns_of(EVERYTHING)
    together, listed = truth.judge_facts(facts), truth.find_missing(least=0.001)
    monkeypatch.setattr(module, "FACTS_AT_ONCE", 7)
    alone = truth.judge_facts(facts)
    assert torch.allclose(alone.probabilities, together.probabilities, atol=1e-6)
    assert alone.is_mirror.equal(together.is_mirror)
    again = truth.find_missing(least=0.001)
    assert rows_of(again.facts) == rows_of(listed.facts)
    assert len(listed) > 7


def test_missing_facts_are_the_suggested_ones_that_are_probable(truth: Truth) -> None:
    suggested = truth.suggestions.facts(torch.arange(len(truth.suggestions)))
    judged = truth.judge_facts(suggested)
    least = float(judged.probabilities.median())
    rows = zip(rows_of(suggested), judged.probabilities.tolist(), strict=True)
    expected = [fact for fact, probability in rows if probability >= least]
    assert rows_of(truth.find_missing(least=least).facts) == expected
    assert not set(expected) & set(FACTS)
    for place, name in ((3, "time"), (1, "relation")):
        wanted = expected[0][place]
        found = rows_of(truth.find_missing(least=least, **{name: wanted}).facts)
        assert found == [fact for fact in expected if fact[place] == wanted]
    found = rows_of(truth.find_missing(least=least, entity=3).facts)
    assert found == [fact for fact in expected if 3 in (fact[0], fact[2])]


def test_what_is_presumed_bounds_the_probabilities() -> None:
    truth, facts = truth_of(WORLD, "facts"), columns_of(EVERYTHING)
    usual, half = (each.judge_facts(facts).probabilities for each in (truth, truth.presuming(0.05)))
    suggested = (truth.suggestions.shares_of(facts) > 0).any(1)
    assert torch.allclose(half[suggested], usual[suggested] / 2, rtol=1e-3)
    assert bool((half < usual).all())
    assert truth.presumed == 0.1


@pytest.mark.parametrize("world", [WORLD, LASTING], ids=["times", "intervals"])
def test_expected_answers_are_the_sum_over_what_rules_suggest(world: World) -> None:
    truth = truth_of(world)
    num = world.num_relations
    for entity in range(4):
        for relation in range(2 * num):
            for time in (4, 5):
                back, r = relation >= num, relation % num
                candidates = {fact[0 if back else 2] for fact in world.facts if fact[1] == r}
                facts = [
                    (other, r, entity, time) if back else (entity, r, other, time)
                    for other in candidates
                ]
                asked = [
                    fact
                    for fact in facts
                    if not any(
                        fact[:3] == known[:3] and known[3] <= time <= known[-1]
                        for known in world.facts
                    )
                ]
                likely = (truth.suggestions.shares_of(columns_of(asked)) > 0).any(1)
                probabilities = truth.judge_facts(columns_of(asked)).probabilities
                expected = float(probabilities[likely].sum())
                found = truth.expect_answers(entity, relation, time)
                assert found == pytest.approx(expected, abs=1e-5)


def told(facts: list[Fact], fact: Fact) -> list[int]:
    world = World(12, 2, [(0, 0, 1, 0), *facts, (0, 0, 1, 8)])
    with_times = Truth(world.graph, WORLD.dataset, truth_of(WORLD).judge)
    buckets: list[int] = with_times._look_at(columns_of([fact]))[0].buckets[0].tolist()
    return buckets


@pytest.mark.parametrize("number", range(0, len(FACTS), 7))
def test_a_known_fact_is_told_as_if_it_were_not(number: int) -> None:
    """But for the shares of rules, to which each of their cases adds."""
    fact = FACTS[number]
    others = [other for other in FACTS if other != fact]
    assert told(FACTS, fact)[:-4] == told(others, fact)[:-4]


def test_the_last_fact_of_an_entity() -> None:
    truth = truth_of(WORLD)
    for entity in range(12):
        times = [fact[3] for fact in FACTS if entity in (fact[0], fact[2])]
        assert truth.last_fact(entity) == max(times)
    assert truth_of(World(3, 1, [(0, 0, 1, 5)], cuts=(1, 1))).last_fact(2) is None


def test_nothing_is_judged_where_nothing_is_asked_or_suggested(truth: Truth) -> None:
    alone, done = truth_of(World(3, 1, [(0, 0, 1, 5)], cuts=(1, 1))), list[tuple[int, ...]]()
    assert len(alone.find_missing(progress=lambda *counts: done.append(counts))) == 0
    assert done == []
    assert len(truth.judge_facts(columns_of(EVERYTHING)[:0])) == 0
    assert len(truth.find_missing(time=10**6)) == 0
