"""Ranks: the target among all entities, ties and filters, in batches that fit."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from fake_model import MANY, WORLD, FakeModel, few_values, random_scores, row_alike
from oracle import World, checked, worlds
from targcn.evaluation import ranking
from targcn.evaluation.filters import FILTERS, Filter, known_answers
from targcn.evaluation.ranking import TIES, Ties, rank_targets
from targcn.graph.queries import Queries, queries_of

seeds = st.integers(0, 2**32)


def ranks_of(world: World, model: FakeModel, ties: Ties = "mean") -> dict[Filter, Tensor]:
    """The ranks of both queries of each test fact, as `evaluate` gets them."""
    queries, targets = queries_of(oracle.facts_of(world.test), world.num_relations)
    known = known_answers(world.dataset, "cpu")
    return rank_targets(model, queries, targets, world.graph, known, ties)  # type: ignore[arg-type]


# --- ranks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", TIES)
@checked
@given(worlds(min_facts=1), seeds)
def test_rank_is_where_the_target_stands_once_known_answers_are_gone(
    ties: Ties, world: World, seed: int
) -> None:
    model = FakeModel(random_scores(seed))
    ranks = ranks_of(world, model, ties)
    asked = [(s, r, t, o) for s, r, o, t in world.test]
    asked += [(o, r + world.num_relations, t, s) for s, r, o, t in world.test]
    # The model is asked in the order of time.
    in_order = sorted(range(len(asked)), key=lambda number: asked[number][2])
    rows = dict(zip(in_order, model.rows, strict=True))
    for which in FILTERS:
        known = oracle.known_answers(world.facts, world.num_relations, which)
        expected = [
            oracle.rank(
                rows[number], target, known.get((s, r, t * (which == "time-aware")), set()), ties
            )
            for number, (s, r, t, target) in enumerate(asked)
        ]
        assert ranks[which].tolist() == expected


@checked
@given(worlds(min_facts=1), seeds)
def test_optimistic_mean_pessimistic_in_order(world: World, seed: int) -> None:
    low, middle, high = (ranks_of(world, FakeModel(random_scores(seed)), ties) for ties in TIES)
    for which in FILTERS:
        assert (low[which] <= middle[which]).all()
        assert (middle[which] <= high[which]).all()
        assert torch.equal(2 * middle[which], low[which] + high[which])


@checked
@given(worlds(min_facts=1), seeds)
def test_the_more_is_known_the_better_the_rank(world: World, seed: int) -> None:
    ranks = ranks_of(world, FakeModel(random_scores(seed)))
    assert (ranks["static"] <= ranks["time-aware"]).all()
    assert (ranks["time-aware"] <= ranks["raw"]).all()
    assert (ranks["static"] >= 1).all()


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_batch_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    expected = ranks_of(WORLD, FakeModel(few_values))
    monkeypatch.setattr(ranking, "rows_at_once", lambda width, device: size)
    model = FakeModel(few_values)
    ranks = ranks_of(WORLD, model)
    assert all(torch.equal(ranks[which], expected[which]) for which in FILTERS)
    assert (sum(model.batches), max(model.batches)) == (4, min(size, 4))


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_model_is_asked_about_one_time_after_the_other(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(ranking, "rows_at_once", lambda width, device: size)
    model = FakeModel(few_values)
    ranks_of(MANY, model)
    assert len(model.times) == 2 * len(MANY.test)
    assert model.times == sorted(model.times)


@pytest.mark.parametrize(("ties", "expected"), [("optimistic", 1), ("mean", 3), ("pessimistic", 5)])
def test_all_scores_equal(ties: Ties, expected: float) -> None:
    world = World(5, 1, [(0, 0, 1, 0)])
    assert ranks_of(world, FakeModel(row_alike(*[7.0] * 5)), ties)["raw"].tolist() == [expected] * 2


def test_scores_past_where_a_sigmoid_saturates_do_not_tie() -> None:
    world = World(4, 1, [(0, 0, 3, 0), (0, 0, 2, 1), (0, 0, 1, 2)])
    ranks = ranks_of(world, FakeModel(row_alike(20.0, 30.0, 40.0, 50.0)), "pessimistic")
    assert ranks["raw"].tolist()[:3] == [1, 2, 3]


def test_scores_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not numbers"):
        ranks_of(WORLD, FakeModel(row_alike(0.0, 1.0, 2.0, float("nan"))))


# --- memory --------------------------------------------------------------------------------


def narrow(most: int, error: Exception) -> Callable[[Queries, int], Tensor]:
    """A model whose memory holds so many queries at a time."""

    def score(queries: Queries, num_entities: int) -> Tensor:
        if len(queries) > most:
            raise error
        return few_values(queries, num_entities)

    return score


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(ranking, "rows_at_once", lambda width, device: 32)
    model = FakeModel(narrow(10, error))
    ranks, expected = ranks_of(MANY, model), ranks_of(MANY, FakeModel(few_values))
    assert all(torch.equal(ranks[which], expected[which]) for which in FILTERS)
    assert model.batches == [32, 16, *[8] * 7, 4]


def test_a_single_query_that_does_not_fit_is_an_error() -> None:
    model = FakeModel(narrow(0, torch.OutOfMemoryError("CUDA out of memory")))
    with pytest.raises(torch.OutOfMemoryError):
        ranks_of(MANY, model)
    assert model.batches[-1] == 1
