"""The judge: buckets of traces, and odds of buckets."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from small_judges import networks_of, untaught
from targcn.graph.traces import KEYS, FactTraces
from targcn.truth.judge import GROUP_OF_COLUMN, NUM_BUCKETS, NUM_GROUPS, Judge, Network, buckets

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
    for network in networks_of(made):
        network.line.copy_(torch.tensor([2.0, 0.5]))
    return made


@pytest.fixture
def told() -> Tensor:
    """Buckets by chance; no rule suggests the first half."""
    found = torch.randint(NUM_BUCKETS, (FACTS, NUM_COLUMNS), dtype=torch.uint8)
    found[: FACTS // 2, -2:] = 0
    return found


def logit(network: Network, told: Tensor, relation: int, without: int | None = None) -> Tensor:
    """The logit of one fact by the formula; the rows of one group may be their means."""
    rows = network.rows.view(NUM_COLUMNS, NUM_BUCKETS, -1)
    hidden = sum(
        network.means[column] if group == without else rows[column, int(told[column])]
        for column, group in enumerate(GROUP_OF_COLUMN)
    )
    hidden = network.norm(hidden + network.relations[relation])
    gelu = functional.gelu(hidden * (1 + network.gates[relation]))
    found: Tensor = (gelu @ network.weights + network.biases[relation]).detach()
    return found


def test_the_odds_are_those_of_the_formula_and_add_up(judge: Judge, told: Tensor) -> None:
    relations = torch.arange(FACTS) % 3
    found = judge.log_odds(told, relations, 0.1)
    for number in range(0, FACTS, 5):
        relation, odds = int(relations[number]), []
        for of_suggested, of_others in judge.pairs.values():
            network = of_suggested if int(told[number, -2:].max()) else of_others
            own = logit(network, told[number], relation)
            assert torch.isclose(network(told, relations)[number], own, atol=1e-3)
            # Of what is true and not known one half was hidden and the other is missing.
            odds.append(2 * own + 0.5 + math.log(0.1 / (0.1 + 0.1)))
        assert torch.isclose(found[number], torch.logaddexp(*odds), atol=1e-3)


@pytest.mark.parametrize(("presumed", "factor"), [(0.5, 1), (0.1, 1), (0.05, 0.5), (0.01, 0.1)])
def test_presumed_shares_scale_odds(
    judge: Judge, told: Tensor, presumed: float, factor: float
) -> None:
    """Up to what is missing at most by what it learned, which is a tenth."""
    relations = torch.arange(FACTS) % 3
    change = judge.log_odds(told, relations, presumed) - judge.log_odds(told, relations, 0.1)
    assert torch.allclose(change, torch.tensor(math.log(factor)), atol=1e-3)
    share = pytest.approx(min(presumed, 0.1))
    assert judge.missing_shares(presumed) == {"facts": share, "blocks": share}


def test_the_effect_of_a_group_is_what_its_means_change(judge: Judge, told: Tensor) -> None:
    relations = torch.arange(FACTS) % 3
    found = judge.effects(told, relations, 0.1)
    assert found.shape == (FACTS, NUM_GROUPS)
    for number in range(0, FACTS, 5):
        relation = int(relations[number])
        suggested = int(told[number, -2:].max()) > 0
        networks = [pair[0 if suggested else 1] for pair in judge.pairs.values()]
        # That of the network that decides.
        best = max(networks, key=lambda network: float(logit(network, told[number], relation)))
        whole = logit(best, told[number], relation)
        for group in range(NUM_GROUPS):
            expected = 2 * (whole - logit(best, told[number], relation, without=group))
            assert torch.isclose(found[number, group], expected, atol=1e-3)
