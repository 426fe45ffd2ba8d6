"""The fast encoder against the paper's equations taken neighbour by neighbour."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import (
    Fact,
    Query,
    World,
    checked,
    facts_around,
    queries_of,
    targcn_scores,
    with_reciprocals,
    worlds_with_queries,
)
from targcn.errors import InputError
from targcn.facts.graph import TemporalGraph
from targcn.models import create
from targcn.models.contract import Queries
from targcn.models.targcn import TARGCN
from targcn.sampling import Neighborhood, sample

WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)])
# Entity 6 has no facts; times lie before, within and after the timeline.
QUERIES = [(n % 7, n % 4, n * 5 % 31 - 4) for n in range(20)]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"activation": "relu"},
    {"time_encoding": "absolute"},
    {"time_scaled": True},
    {"time_factor": 24.0},
    {"own_vector": True},
    {"decoder": "complex"},
    {"decoder": "bique"},
    {"steps": 2},
    {"steps": 2, "own_vector": True, "time_encoding": "absolute", "decoder": "bique"},
]


def build(world: World, seed: int = 0, **options: Any) -> TARGCN:
    """A model in double precision; phases are moved off 0, where they would hide mistakes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: TARGCN = create("targcn", world.dataset, {"size": 8} | options).double().eval()
        torch.nn.init.normal_(model.phases)
    return model


def scores_of(model: TARGCN, queries: list[Query], world: World = WORLD) -> torch.Tensor:
    """Logarithms of probabilities: what all candidates of a query share does not count."""
    with torch.no_grad():
        return model(queries_of(queries), world.graph).log_softmax(1)


def loss_of(
    model: TARGCN, queries: Queries, answers: torch.Tensor, graph: TemporalGraph, seed: int = 0
) -> torch.Tensor:
    return model.loss(queries, answers, model.draw(queries, answers, graph, seed))


def slow_scores(model: TARGCN, queries: list[Query], world: World, whole: bool) -> torch.Tensor:
    """What the oracle says; a neighbourhood is all facts, or drawn for that entity alone."""
    graph = world.graph

    def see(entity: int, time: int) -> list[tuple[int, int, int]]:
        if whole:
            return facts_around(world.facts, world.num_relations, entity, time)
        drawn = sample(graph, torch.tensor([entity]), torch.tensor([time]), model.settings, 0)
        return visible(drawn)[0]

    with torch.no_grad():
        rows = [targcn_scores(model, query, see) for query in queries]
    shape = len(queries), world.num_entities
    return torch.tensor(rows, dtype=torch.float64).view(shape).log_softmax(1)


def visible(near: Neighborhood) -> list[list[tuple[int, int, int]]]:
    columns = (near.entities, near.relations, near.deltas, near.filled)
    return [
        [(e, r, d) for e, r, d, there in zip(*row, strict=True) if there]
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


# --- the equations --------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_follow_the_equations(options: dict[str, Any], inside: bool) -> None:
    model = build(WORLD, strategy="whole", activation_inside=inside, **options)
    queries = QUERIES[:6] if options.get("steps") == 2 else QUERIES
    expected = slow_scores(model, queries, WORLD, whole=True)
    torch.testing.assert_close(scores_of(model, queries), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("inside", [False, True])
def test_scores_of_drawn_neighbourhoods_follow_the_equations(steps: int, inside: bool) -> None:
    model = build(WORLD, neighbors=3, decay=4.0, steps=steps, activation_inside=inside)
    expected = slow_scores(model, QUERIES[:8], WORLD, whole=False)
    torch.testing.assert_close(scores_of(model, QUERIES[:8]), expected, rtol=1e-6, atol=1e-6)


@settings(checked, max_examples=25)
@given(worlds_with_queries(), st.booleans(), st.sampled_from([1, 2]))
def test_scores_follow_the_equations_in_any_world(
    drawn: tuple[World, list[Query]], inside: bool, steps: int
) -> None:
    """Self loops, duplicates, no facts at all, times far outside the timeline."""
    world, queries = drawn
    options = {"size": 4, "strategy": "whole", "steps": steps, "activation_inside": inside}
    queries = [query for query in queries if abs(query[2]) < 1000]
    model = build(world, **options)
    found = scores_of(model, queries, world)
    expected = slow_scores(model, queries, world, whole=True)
    torch.testing.assert_close(found, expected.view_as(found), rtol=1e-6, atol=1e-6)


def test_the_table_of_time_codes_and_single_codes_agree() -> None:
    """Many rows read every difference of the timeline off one table; few compute their own."""
    queries = [query for query in QUERIES if 0 <= query[2] < 23]
    model = build(WORLD, strategy="whole")
    many, few = scores_of(model, queries * 5), scores_of(model, queries[:1])
    torch.testing.assert_close(many[:1], few)


def test_an_entity_without_facts_is_its_own_vector_through_f() -> None:
    model = build(WORLD)
    near = model.neighborhoods(queries_of([(6, 0, 3)]), WORLD.graph, seed=0)
    with torch.no_grad():
        found = model.encode(queries_of([(6, 0, 3)]), near)
        code = torch.cat([model.entities[6], torch.cos(model.phases)])
        expected = torch.tanh(model.first.inner.weight @ code + model.first.inner.bias)
    torch.testing.assert_close(found[0], expected)


# --- what a score may depend on -------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_score_does_not_depend_on_its_batch(options: dict[str, Any], inside: bool) -> None:
    model = build(WORLD, neighbors=3, decay=4.0, activation_inside=inside, **options)
    together = scores_of(model, QUERIES)
    alone = torch.cat([scores_of(model, [query]) for query in QUERIES])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(scores_of(model, QUERIES[::-1]), together.flip(0))


@pytest.mark.parametrize("training", [True, False])
def test_an_empty_graph_can_be_asked(training: bool) -> None:
    empty = replace(WORLD, facts=[])
    for options in ({}, {"activation_inside": True}, {"steps": 2}, {"strategy": "whole"}):
        model = build(WORLD, **options).train(training)
        assert scores_of(model, QUERIES, empty).isfinite().all()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("options", [*OPTIONS, {"dropout": 0.5}, {"own_fact": "kept"}], ids=str)
def test_gradients_are_finite_and_reach_every_weight(options: dict[str, Any], inside: bool) -> None:
    model = build(WORLD, neighbors=4, activation_inside=inside, **options).train()
    facts = with_reciprocals(WORLD.facts, 2)
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([o for _, _, o, _ in facts])
    loss_of(model, queries, answers, WORLD.graph, seed=1).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.abs().sum() > 0, name


def test_the_loss_is_the_cross_entropy_over_all_entities() -> None:
    model = build(WORLD, strategy="whole", own_fact="kept").train()
    queries, answers = [(0, 0, 3), (1, 2, 7)], [4, 2]
    scores = slow_scores(model, queries, WORLD, whole=True)
    expected = sum(-scores[row, answers[row]] for row in range(2)) / 2
    found = loss_of(model, queries_of(queries), torch.tensor(answers), WORLD.graph)
    torch.testing.assert_close(found.detach(), expected)


# --- dropout --------------------------------------------------------------------------------


def test_dropout_is_for_training_alone() -> None:
    plain, dropping = build(WORLD), build(WORLD, dropout=0.5)
    torch.testing.assert_close(scores_of(dropping, QUERIES), scores_of(plain, QUERIES))
    dropping.train()
    queries = queries_of([query for query in QUERIES if 0 <= query[2] < 23])
    answers = queries.subjects
    losses = [
        float(loss_of(model, queries, answers, WORLD.graph, seed).detach())
        for model, seed in ((plain, 1), (dropping, 1), (dropping, 1), (dropping, 2))
    ]
    assert losses[1] == losses[2]
    assert len(set(losses)) == 3


def test_dropout_takes_its_share_and_keeps_the_mean() -> None:
    model = build(WORLD, dropout=0.3, size=400).train()
    queries = queries_of([(n % 7, n % 4, n) for n in range(100)])
    kept = model.draw(queries, queries.subjects, WORLD.graph, seed=3)[-1]
    assert abs(float(kept.double().mean()) - 0.7) < 0.01
    again = model.draw(queries[5:6], queries.subjects[5:6], WORLD.graph, seed=3)[-1]
    assert torch.equal(again, kept[5:6])  # whatever the batch
    near = model.neighborhoods(queries, WORLD.graph, seed=0)
    # Averaged over many masks, a score that is linear in the vector is the one without dropout.
    columns = torch.eye(400, dtype=torch.bool)
    whole = model.score(queries[:1], [Neighborhood(*(c[:1] for c in near[0]))])
    single = model.score(
        queries[torch.zeros(400, dtype=torch.long)],
        [Neighborhood(*(c[:1].expand(400, -1) for c in near[0]))],
        columns,
    )
    torch.testing.assert_close(single.sum(0, keepdim=True) * 0.7, whole)


# --- the own fact ---------------------------------------------------------------------------


def seen_by(facts: list[Fact], own: Fact, **options: Any) -> list[set[tuple[int, int, int]]]:
    """What the training query of a fact sees in each step, at most 50 facts each."""
    world = World(1 + max(max(s, o) for s, _, o, _ in facts), 2, facts)
    model = build(world, neighbors=50, decay=100.0, **options)
    s, r, o, t = own
    steps = model.neighborhoods(queries_of([(s, r, t)]), world.graph, 0, torch.tensor([o]))
    found = [set(visible(steps[0])[0])]
    for entity, time, filled, row in zip(
        steps[0].entities.flatten().tolist(),
        (steps[0].deltas.flatten() + t).tolist(),
        steps[0].filled.flatten().tolist(),
        visible(steps[1]) if len(steps) == 2 else [],
        strict=False,
    ):
        if filled:
            found.append({(entity, e, r, time + delta) for e, r, delta in row})
    return found


def test_a_training_query_does_not_see_its_own_fact() -> None:
    own = (0, 1, 1, 5)
    facts = [own, (0, 0, 1, 5), (0, 1, 1, 4), (0, 1, 2, 5)]
    (seen,) = seen_by(facts, own)
    assert seen == {(1, 2, 0), (1, 3, -1), (2, 3, 0)}
    (kept,) = seen_by(facts, own, own_fact="kept")
    assert kept == seen | {(1, 3, 0)}


def test_nor_does_the_query_for_its_subject() -> None:
    facts = [(0, 1, 1, 5), (0, 0, 1, 5), (2, 1, 1, 5)]
    (seen,) = seen_by(facts, (1, 3, 0, 5))
    assert seen == {(0, 0, 0), (2, 1, 0)}


def test_a_fact_of_an_entity_with_itself_is_hidden_from_both_sides() -> None:
    facts = [(0, 1, 0, 5), (0, 1, 0, 6)]
    for own in ((0, 1, 0, 5), (0, 3, 0, 5)):
        (seen,) = seen_by(facts, own)
        assert seen == {(0, 1, 1), (0, 3, 1)}


@pytest.mark.parametrize("own", [(0, 1, 1, 5), (1, 3, 0, 5)])
@pytest.mark.parametrize("other", [(0, 0, 1, 5), (0, 0, 1, 4), (1, 0, 0, 9)])
def test_neighbours_do_not_see_it_either(own: Fact, other: Fact) -> None:
    """The answer is a neighbour through another fact, of the same day or of another one."""
    facts = [(0, 1, 1, 5), other, (0, 0, 0, 5), (0, 0, 0, 8), (2, 0, 1, 7)]
    sides = {(1, 0, 1, 5), (0, 1, 3, 5)}
    _, *steps = seen_by(facts, own, steps=2)
    assert len(steps) > 1
    assert not any(sides & seen for seen in steps)
    _, *steps = seen_by(facts, own, steps=2, own_fact="kept")
    assert any(sides & seen for seen in steps)


@pytest.mark.parametrize("steps", [1, 2])
def test_the_loss_is_that_of_a_graph_without_the_own_fact(steps: int) -> None:
    own = WORLD.facts[11]
    rest = replace(WORLD, facts=[fact for fact in WORLD.facts if fact != own])
    model = build(WORLD, strategy="whole", steps=steps).train()
    s, r, o, t = own
    for s_, r_, o_ in ((s, r, o), (o, r + 2, s)):
        query, answer = queries_of([(s_, r_, t)]), torch.tensor([o_])
        hidden = loss_of(model, query, answer, WORLD.graph)
        torch.testing.assert_close(hidden, loss_of(model, query, answer, rest.graph))


# --- sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_entities", "num_relations", "size", "published"),
    [
        (7128, 230, 100, 799_400),
        (7128, 230, 150, 1_229_100),
        (7128, 230, 200, 1_678_800),
        (7128, 230, 300, 2_638_200),
        (10488, 251, 200, 2_359_200),
        (500, 20, 200, 269_200),
    ],
)
def test_parameters_are_the_papers_less_what_its_code_does_not_use(
    num_entities: int, num_relations: int, size: int, published: int
) -> None:
    dataset = World(num_entities, num_relations, [(0, 0, 1, 0)]).dataset
    model = create("targcn", dataset, {"size": size})
    padding_row, unused_bias = size, size
    found = sum(weight.numel() for weight in model.parameters())
    assert found == published - padding_row - unused_bias


def test_weights_start_as_published() -> None:
    model = build(World(400, 50, [(0, 0, 1, 0)]), size=100).requires_grad_(False)
    assert abs(float(model.entities.std()) - 1) < 0.02
    assert abs(float(model.relations.std()) - 1) < 0.05
    ratios = [float(b / a) for a, b in pairwise(model.frequencies)]
    assert float(model.frequencies[0]) == 1
    assert ratios == pytest.approx([10 ** (-9 / 99)] * 99, rel=1e-4)


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbors": 0}, "neighbors is 0"),
        ({"size": 0}, "size is 0; at least 1"),
        ({"decoder": "bique", "size": 30}, "multiple of 8; 24 or 32 would do"),
        ({"decoder": "bique", "size": 4}, "multiple of 8; 8 would do"),
        ({"decoder": "complex", "size": 7}, "multiple of 2; 6 or 8 would do"),
        ({"dropout": 1.0}, "dropout is 1.0; 0 up to below 1"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"decay": 0}, "decay is 0"),
        ({"neighbors": 50, "window": 50}, "window is 50"),
        ({"steps": 3}, "targcn.steps is 3; choose one of 1, 2"),
        ({"decoder": "transe"}, "targcn.decoder is 'transe'; choose one of distmult"),
        ({"sizes": 8}, "targcn.sizes is unknown; did you mean 'size'"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create("targcn", WORLD.dataset, options)
