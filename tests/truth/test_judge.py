"""The judge: buckets of traces, and odds of buckets."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from small_judges import untaught
from targcn.graph.queries import FactColumns
from targcn.graph.traces import KEYS, FactTraces
from targcn.truth.judge import (
    GROUP_OF_COLUMN,
    HALVES,
    NUM_BUCKETS,
    NUM_GROUPS,
    RARE,
    Features,
    Judge,
    Network,
    buckets,
)

NUM_KEYS, NUM_COLUMNS, FACTS = len(KEYS), len(GROUP_OF_COLUMN), 50


def traces(number: int, share: float) -> FactTraces:
    """One fact, all of whose numbers and shares are these."""
    keys, one = torch.full((1, NUM_KEYS), number), torch.tensor([number])
    shares = torch.tensor([share])
    return FactTraces(keys, keys, keys, keys, one, one, shares, shares)


@pytest.mark.parametrize(
    ("number", "bucket"),
    [(-1, 0), (0, 1), (7, 8), (8, 9), (11, 9), (12, 10), (15, 10), (16, 11), (2**23, 39)],
)
def test_numbers_are_put_into_buckets(number: int, bucket: int) -> None:
    [told] = buckets(traces(number, 0.0), torch.zeros(1, 2), unit=1.0, known_share=1.0).tolist()
    assert told == [bucket] * (NUM_COLUMNS - 4) + [0] * 4


@pytest.mark.parametrize(
    ("share", "bucket"),
    [(0.0, 0), (1e-9, 1), (0.0002, 2), (0.049, 9), (0.05, 10), (0.084, 11), (1.0, 38), (2.0, 39)],
)
def test_shares_are_put_into_buckets(share: float, bucket: int) -> None:
    told = buckets(traces(0, share), torch.tensor([[share, 0.0]]), unit=1.0, known_share=1.0)
    best, total, of_one, of_two = told[0, -4:].tolist()
    assert (best, of_one, of_two) == (bucket, bucket, 0)
    assert 0 <= total <= 38


def test_gaps_are_counted_in_units_and_shares_by_what_is_known() -> None:
    rules, gaps = torch.zeros(1, 2), 2 * NUM_KEYS
    in_days = buckets(traces(3, 0.5), rules, unit=1.0, known_share=1.0)
    in_hours = buckets(traces(72, 0.45), rules, unit=24.0, known_share=0.9)
    assert in_hours[0, :gaps].equal(in_days[0, :gaps])
    assert in_hours[0, -4:].equal(in_days[0, -4:])
    # Never is no gap, whatever the unit.
    assert not buckets(traces(-1, 0.0), rules, unit=24.0, known_share=1.0)[0, :gaps].any()


@pytest.fixture
def judge() -> Judge:
    made = untaught(3)
    for finder in made.finders.values():
        finder.curve.copy_(torch.tensor([2.0, 0.5, 0.3]))
    return made


@pytest.fixture
def features() -> Features:
    """Buckets by chance; no rule suggests the first half."""
    found = torch.randint(NUM_BUCKETS, (FACTS, NUM_COLUMNS), dtype=torch.uint8)
    found[: FACTS // 2, -2:] = 0
    return Features(found, torch.arange(FACTS) % 3, torch.arange(FACTS) // 5 % HALVES)


def logit(network: nn.Module, features: Features, row: int, without: int | None = None) -> float:
    """The logit of one fact by the formula; the rows of one group may be their means."""
    assert isinstance(network, Network)
    rows, relation = network.rows.view(NUM_COLUMNS, NUM_BUCKETS, -1), int(features.relations[row])
    hidden = sum(
        network.means[column]
        if group == without
        else rows[column, int(features.buckets[row, column])]
        for column, group in enumerate(GROUP_OF_COLUMN)
    )
    hidden = network.norm(hidden + network.relations[relation])
    gelu = functional.gelu(hidden * (1 + network.gates[relation]))
    return float((gelu @ network.weights + network.biases[relation]).detach())


def curved(logit: float) -> float:
    """A line that becomes steeper above 1."""
    return 2 * logit + 0.5 + 0.3 * math.log1p(math.exp(logit - 1))


@pytest.mark.parametrize("presumed", [0.1, 0.05, 0.2])
def test_the_odds_are_those_of_the_formula_and_add_up(
    judge: Judge, features: Features, presumed: float
) -> None:
    found = judge.log_odds(features, presumed).detach()
    # Of what is true and not known to a fold one half was hidden, and there is room for the other
    # to be missing, in both ways; half of it is if half is presumed, or twice as much.
    trust = 1 if presumed == 0.1 else 0.5
    for row in range(0, FACTS, 5):
        if row < FACTS // 2:
            expected = logit(judge.asked, features, row) + RARE + math.log(2 * 0.1 * trust)
        else:
            half = int(features.halves[row])
            odds = 0.0
            for finder in judge.finders.values():
                at_most = math.exp(curved(logit(finder.networks[half], features, row))) / 2
                probability = trust * at_most / (1 + at_most)
                odds += probability / (1 - probability)
            expected = math.log(odds)
        assert float(found[row]) == pytest.approx(expected, abs=1e-3)


def test_halves_are_those_of_facts_and_about_equal() -> None:
    facts = FactColumns(*torch.randint(1000, (4, 4000)))
    halves = Features.of(facts, torch.zeros(4000, 1)).halves
    order = torch.randperm(4000)
    assert Features.of(facts[order], torch.zeros(4000, 1)).halves.equal(halves[order])
    assert 1600 < int(halves.sum()) < 2400


@pytest.mark.parametrize(
    ("presumed", "share"), [(0.5, 0.02), (0.2, 0.05), (0.1, 0.1), (0.05, 0.05), (0.01, 0.01)]
)
def test_what_is_presumed_counts_as_far_as_there_is_room(
    judge: Judge, presumed: float, share: float
) -> None:
    """There is room for a tenth by what it learned."""
    expected = pytest.approx(share)
    assert judge.missing_shares(presumed) == {"facts": expected, "blocks": expected}


def test_the_effect_of_a_group_is_what_its_means_change(judge: Judge, features: Features) -> None:
    found = judge.effects(features, 0.1).detach()
    assert found.shape == (FACTS, NUM_GROUPS)
    for row in range(0, FACTS, 5):
        half = int(features.halves[row])
        networks = [finder.networks[half] for finder in judge.finders.values()]
        # That of the way that decides.
        network = max(networks, key=lambda network: logit(network, features, row))
        told = curved
        if row < FACTS // 2:
            network, told = judge.asked, float
        whole = told(logit(network, features, row))
        for group in range(NUM_GROUPS):
            expected = whole - told(logit(network, features, row, without=group))
            assert float(found[row, group]) == pytest.approx(expected, abs=1e-3)
