"""A judge that learns: what is found, what is not, and how much is missing."""

import random

import pytest
import torch

from oracle import OPEN, Fact, World
from small_judges import HOSTS, columns_of, visits
from targcn.errors import InputError
from targcn.facts.dataset import Context
from targcn.facts.holes import Gaps
from targcn.graph.queries import FactColumns
from targcn.truth import training
from targcn.truth.judge import Judge
from targcn.truth.training import PRESUMED
from targcn.truth.truth import Truth, fit_judge

FACTS = visits(1000)


def world_of(facts: list[Fact], num_entities: int = 40) -> World:
    return World(num_entities, 2, facts, cuts=(len(facts), len(facts)))


@pytest.fixture(scope="module")
def found() -> tuple[Truth, list[Fact]]:
    """A judge of visits, and those of whom it is hidden that they hosted."""
    rng = random.Random(1)
    hidden = [fact for fact in FACTS if fact[1] == HOSTS and rng.random() < 0.1]
    world = world_of([fact for fact in FACTS if fact not in hidden])
    return Truth(world.graph, world.dataset, fit_judge(world.dataset, "all", "facts")), hidden


def test_what_a_rule_says_is_found(found: tuple[Truth, list[Fact]]) -> None:
    truth, hidden = found
    assert float(truth.judge_facts(columns_of(hidden)).probabilities.median()) > 0.7
    rng = random.Random(2)
    other = {(rng.randrange(40), HOSTS, rng.randrange(40), rng.randrange(60)) for _ in range(400)}
    judged = truth.judge_facts(columns_of(sorted(other - set(FACTS))))
    assert float(judged.probabilities.median()) < 0.01
    # Most of what is listed is right, and most of what is hidden is listed.
    listed = truth.find_missing(least=0.5).facts
    facts = set(zip(*(column.tolist() for column in listed.tensors()), strict=True))
    assert len(facts & set(hidden)) > 0.7 * max(len(facts), len(hidden))


@pytest.mark.parametrize("gaps", ["facts", "blocks"])
def test_the_same_seed_gives_the_same_judge(gaps: Gaps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LEAST_STEPS", 5)
    dataset = world_of(FACTS[:60]).dataset
    judges = [fit_judge(dataset, "all", gaps, seed=seed) for seed in (3, 3, 4)]
    one, same, other = (judge.state_dict() for judge in judges)
    names = one.keys() - {"seconds"}
    assert all(one[name].equal(same[name]) for name in names)
    assert not all(one[name].equal(other[name]) for name in names)


@pytest.mark.slow
def test_how_much_is_missing_is_seen_where_nothing_is() -> None:
    facts = visits(3000, num_entities=60, num_days=100)
    whole = fit_judge(world_of(facts, 60).dataset, "all", "facts").missing_shares(PRESUMED)
    assert whole["facts"] < PRESUMED / 5
    rng = random.Random(0)
    kept = [fact for fact in facts if rng.random() >= 0.1]
    holey = fit_judge(world_of(kept, 60).dataset, "all", "facts").missing_shares(PRESUMED)
    assert PRESUMED / 2 < holey["facts"] < PRESUMED + 1e-6


def any_facts(world: World) -> FactColumns:
    rng = random.Random(0)
    ticks = [0, 1, 5, 10**6]
    return columns_of([
        (rng.randrange(world.num_entities), 0, rng.randrange(world.num_entities), rng.choice(ticks))
        for _ in range(40)
    ])  # fmt: skip


@pytest.mark.parametrize("context", ["all", "past"])
@pytest.mark.parametrize(
    "facts",
    [
        [(0, 0, 1, 3)],
        [(0, 0, 0, 3), (1, 0, 0, 3)],
        [(n % 3, n % 2, n % 5, n % 4) for n in range(10)],
        [(n % 3, 0, n % 5, n) for n in range(20)],
        [(n % 3, n % 2, n % 5, 0) for n in range(20)],
        [(0, 0, 1, 2, 6), (0, 0, 1, 8, OPEN), (0, 1, 2, 4, 5), (3, 1, 1, OPEN, 3)],
    ],
    ids=["one fact", "two", "ten", "one relation", "one time", "intervals"],
)
def test_small_data_can_be_learned_from(
    facts: list[Fact], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    if context == "past" and len(facts[0]) > 4:
        pytest.skip("no past of facts over intervals")
    monkeypatch.setattr(training, "LEAST_STEPS", 20)
    world = world_of(facts, 5)
    judge: Judge = fit_judge(world.dataset, context)
    graph = world.past if context == "past" else world.graph
    probabilities = Truth(graph, world.dataset, judge).judge_facts(any_facts(world)).probabilities
    assert bool(((probabilities >= 0) & (probabilities <= 1)).all())
    assert all(bool(torch.isfinite(weight).all()) for weight in judge.state_dict().values())


def test_no_facts_teach_nothing() -> None:
    with pytest.raises(InputError, match="world has no facts in the context train"):
        fit_judge(World(2, 1, [(0, 0, 1, 3)], cuts=(0, 0)).dataset, "train")


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LEAST_STEPS", 5)
    done: list[tuple[int, int]] = []
    dataset = world_of(FACTS[:10]).dataset
    fit_judge(dataset, "all", progress=lambda *counts: done.append(counts))
    assert done == sorted(done)
    assert done[0][0] == 0
    assert all(count < total for count, total in done)
