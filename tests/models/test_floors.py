"""The rules without training against their formulas, and their published figures."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import targcn
from oracle import (
    Query,
    World,
    checked,
    decayed_copy,
    interval_worlds_with_queries,
    queries_of,
    seen,
    worlds_with_queries,
)
from small_training import create
from targcn.errors import InputError

NAMES = ("seen", "decayed-copy")


def score(name: str, world: World, queries: list[Query], **settings: float) -> list[list[float]]:
    model = create(name, world.dataset, settings)
    scores = model(queries_of(queries), world.graph)
    assert scores.shape == (len(queries), world.num_entities)
    return scores.tolist()


# --- against the formulas ------------------------------------------------------------------


@checked
@given(worlds_with_queries() | interval_worlds_with_queries())
def test_seen_is_its_formula(drawn: tuple[World, list[Query]]) -> None:
    world, queries = drawn
    for row, query in zip(score("seen", world, queries), queries, strict=True):
        expected = seen(world.facts, world.num_entities, world.num_relations, query)
        assert row == pytest.approx(expected, rel=1e-12)


@checked
@given(
    worlds_with_queries() | interval_worlds_with_queries(),
    st.sampled_from([0.01, 2.0, 30.0, 1e6]),
)
def test_decayed_copy_is_its_formula(drawn: tuple[World, list[Query]], scale: float) -> None:
    """While an interval holds it does not decay."""
    world, queries = drawn
    found = score("decayed-copy", world, queries, scale=scale)
    for row, query in zip(found, queries, strict=True):
        expected = decayed_copy(world.facts, world.num_entities, world.num_relations, query, scale)
        assert row == pytest.approx(expected, rel=1e-6)


@checked
@given(worlds_with_queries(), st.sampled_from([0.01, 30.0]))
def test_of_the_past_they_are_their_formulas_of_the_facts_before(
    drawn: tuple[World, list[Query]], scale: float
) -> None:
    world, queries = drawn
    sizes = world.num_entities, world.num_relations
    models = [
        create("seen", world.dataset),
        create("decayed-copy", world.dataset, {"scale": scale}),
    ]
    found = [model(queries_of(queries), world.past).tolist() for model in models]
    for row, query in enumerate(queries):
        before = [fact for fact in world.facts if fact[3] < query[2]]
        assert found[0][row] == pytest.approx(seen(before, *sizes, query), rel=1e-12)
        expected = decayed_copy(before, *sizes, query, scale)
        assert found[1][row] == pytest.approx(expected, rel=1e-6)


# --- settings ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0, -1, "-0.5"])
def test_a_scale_not_above_zero_is_refused(scale: object) -> None:
    with pytest.raises(InputError, match=r"scale is .*; it must be above 0"):
        create("decayed-copy", World(2, 1, []).dataset, {"scale": scale})


# --- the published figures, on the real data ------------------------------------------------

BESIDE = Path(__file__).parents[3] / "shared" / "data"
FIGURES = {  # MRR on test, context train+valid, mean ties, both directions: static, time-aware
    ("icews14", "seen"): (0.673, 0.433),
    ("icews14", "decayed-copy"): (0.619, 0.488),
    ("icews05-15", "seen"): (0.795, 0.446),
    ("icews05-15", "decayed-copy"): (0.720, 0.548),
}
NUM_QUERIES = {"icews14": 2 * 8_963, "icews05-15": 2 * 46_092}


@pytest.fixture(scope="module", params=NUM_QUERIES)
def dataset(request: pytest.FixtureRequest) -> targcn.Dataset:
    folder = Path(os.environ.get("TARGCN_DATA") or BESIDE) / request.param
    if not folder.is_dir():
        pytest.skip(f"{request.param} is not here; set TARGCN_DATA to the folder that holds it")
    return targcn.open_dataset(folder)


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMES)
def test_a_floor_has_its_published_figures(dataset: targcn.Dataset, model: str) -> None:
    report = targcn.evaluate(targcn.fit(dataset, model))
    assert report.num_queries == NUM_QUERIES[dataset.name]
    found = [report.metrics[which]["both"]["mrr"] for which in ("static", "time-aware")]
    assert found == pytest.approx(FIGURES[dataset.name, model], abs=0.002)
