"""The fast encoder against the paper's equations taken neighbour by neighbour."""

from dataclasses import replace
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
    interval_worlds_with_queries,
    queries_of,
    targcn_scores,
    with_reciprocals,
    worlds_with_queries,
)
from small_training import create
from targcn.errors import InputError
from targcn.graph.neighbors import Neighborhood, sample_neighbors
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models import targcn
from targcn.models.reasons import Reasons
from targcn.models.targcn import TARGCN, TimeEncoding

WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)])
# Entity 6 has no facts; times lie before, within and after the timeline.
QUERIES = [(n % 7, n % 4, n * 5 % 31 - 4) for n in range(20)]
# What the tests change one by one; not the defaults.
PLAIN: dict[str, Any] = {
    "dim": 8,
    "neighbors": 100,
    "window": 512,
    "decay": 1.0,
    "own_vector": False,
    "dropout": 0.0,
}
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
        model: TARGCN = create("targcn", world.dataset, PLAIN | options).double().eval()
        torch.nn.init.normal_(model.time_encoding.phases)
    return model


def scores_of(model: TARGCN, queries: list[Query], world: World = WORLD) -> torch.Tensor:
    """Logarithms of probabilities: what all candidates of a query share does not count."""
    with torch.no_grad():
        return model(queries_of(queries), world.graph).log_softmax(1)


def loss_of(
    model: TARGCN, queries: Queries, answers: torch.Tensor, graph: TemporalGraph, seed: int = 0
) -> torch.Tensor:
    seeds = torch.full((len(queries),), seed)
    return model.loss(queries, answers, model.sample(queries, answers, graph, seeds))


def slow_scores(model: TARGCN, queries: list[Query], world: World, whole: bool) -> torch.Tensor:
    """What the oracle says; a neighbourhood is all facts, or sampled for that entity alone."""
    graph = world.graph

    def see(entity: int, time: int) -> list[tuple[int, int, int]]:
        if whole:
            return facts_around(world.facts, world.num_relations, entity, time)
        where = torch.tensor([entity]), torch.tensor([time])
        return visible(sample_neighbors(graph, *where, model.settings, 0))[0]

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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_follow_the_equations(options: dict[str, Any]) -> None:
    model = build(WORLD, strategy="whole", **options)
    queries = QUERIES[:6] if options.get("steps") == 2 else QUERIES
    expected = slow_scores(model, queries, WORLD, whole=True)
    torch.testing.assert_close(scores_of(model, queries), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2])
def test_scores_of_sampled_neighbourhoods_follow_the_equations(steps: int) -> None:
    model = build(WORLD, neighbors=3, decay=4.0, steps=steps)
    expected = slow_scores(model, QUERIES[:8], WORLD, whole=False)
    torch.testing.assert_close(scores_of(model, QUERIES[:8]), expected, rtol=1e-6, atol=1e-6)


@settings(checked, max_examples=50)
@given(worlds_with_queries() | interval_worlds_with_queries(), st.sampled_from([1, 2]))
def test_scores_follow_the_equations_in_any_world(
    drawn: tuple[World, list[Query]], steps: int
) -> None:
    """Self loops, duplicates, no facts at all, times far outside the timeline.

    An interval is seen at its moment nearest to the time from which one looks.
    """
    world, queries = drawn
    queries = [query for query in queries if abs(query[2]) < 1000]
    model = build(world, dim=4, strategy="whole", steps=steps)
    found = scores_of(model, queries, world)
    expected = slow_scores(model, queries, world, whole=True)
    torch.testing.assert_close(found, expected.view_as(found), rtol=1e-6, atol=1e-6)


@settings(checked, max_examples=25)
@given(worlds_with_queries(), st.sampled_from([1, 2]))
def test_of_the_past_scores_follow_the_equations_of_the_facts_before(
    drawn: tuple[World, list[Query]], steps: int
) -> None:
    """With two steps, a neighbour tells what it did until the query's time, not only its own."""
    world, queries = drawn
    model = build(world, dim=4, strategy="whole", steps=steps)
    for query in queries:
        if abs(query[2]) >= 1000:
            continue
        before = replace(world, facts=[fact for fact in world.facts if fact[3] < query[2]])
        with torch.no_grad():
            found = model(queries_of([query]), world.past).log_softmax(1)
        expected = slow_scores(model, [query], before, whole=True)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


# --- its parts ------------------------------------------------------------------------------


def encoding_of(span: int) -> TimeEncoding:
    encoding = TimeEncoding(6, span).double().requires_grad_(False)
    torch.nn.init.normal_(encoding.phases, generator=torch.Generator().manual_seed(0))
    return encoding


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("most", [0, 65_536])
@pytest.mark.parametrize(
    ("span", "deltas"),
    [
        (4, [[0, 3, -3, 1], [1, 1, 0, -2]]),  # every difference of the timeline in one table
        (9, [[0, 8, -8], [1, 1, 0]]),  # fewer numbers than differences
        (1, [[0], [0]]),
    ],
)
def test_looking_codes_up_is_computing_them(
    span: int, deltas: list[list[int]], most: int, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targcn, "MOST_CODES", most)
    encoding = encoding_of(span).train(training)
    table, rows = encoding.look_up(torch.tensor(deltas))
    torch.testing.assert_close(table[rows], encoding(torch.tensor(deltas)))


def test_differences_outside_the_timeline_have_codes_too() -> None:
    encoding = encoding_of(2).eval()
    deltas = torch.tensor([[0, 1, -1], [500, -500, 2]])
    table, rows = encoding.look_up(deltas)
    torch.testing.assert_close(table[rows], encoding(deltas))


# --- what a score may depend on -------------------------------------------------------------


@pytest.mark.parametrize("options", [*OPTIONS, {"dropout": 0.5}, {"own_fact": "kept"}], ids=str)
def test_gradients_are_finite_and_reach_every_weight(options: dict[str, Any]) -> None:
    model = build(WORLD, neighbors=4, **options).train()
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
    model = build(WORLD, dropout=0.3, dim=400).train()
    queries, seeds = queries_of([(n % 7, n % 4, n) for n in range(100)]), torch.full((100,), 3)
    kept = model.sample(queries, queries.subjects, WORLD.graph, seeds).kept
    assert abs(float(kept.double().mean()) - 0.7) < 0.01
    again = model.sample(queries[5:6], queries.subjects[5:6], WORLD.graph, seeds[5:6]).kept
    assert torch.equal(again, kept[5:6])  # whatever the batch
    seen = model.neighborhoods(queries[:1], WORLD.graph, seed=0)
    # Averaged over many masks, a score that is linear in the vector is the one without dropout.
    rows = torch.zeros(400, dtype=torch.long)
    masked = replace(seen[rows], kept=torch.eye(400, dtype=torch.bool))
    single = model.score(queries[rows], masked)
    torch.testing.assert_close(single.sum(0, keepdim=True) * 0.7, model.score(queries[:1], seen))


# --- the own fact ---------------------------------------------------------------------------


def seen_by(facts: list[Fact], own: Fact, **options: Any) -> list[set[tuple[int, ...]]]:
    """What the training query of a fact sees, then what each of its neighbours sees."""
    world = World(1 + max(max(s, o) for s, _, o, _ in facts), 2, facts)
    model = build(world, neighbors=50, decay=100.0, **options)
    s, r, o, t = own
    seeds = torch.zeros(1, dtype=torch.long)
    sample = model.sample(queries_of([(s, r, t)]), torch.tensor([o]), world.graph, seeds)
    found: list[set[tuple[int, ...]]] = [set(visible(sample.near)[0])]
    if sample.far is None:
        return found
    for entity, delta, filled, row in zip(
        sample.near.entities[0].tolist(),
        sample.near.deltas[0].tolist(),
        sample.near.filled[0].tolist(),
        visible(sample.far[0]),
        strict=True,
    ):
        if filled:
            found.append({(entity, e, r, t + delta + more) for e, r, more in row})
    return found


def test_a_training_query_does_not_see_its_own_fact() -> None:
    own = (0, 1, 1, 5)
    facts = [own, (0, 0, 1, 5), (0, 1, 1, 4), (0, 1, 2, 5)]
    (seen,) = seen_by(facts, own)
    assert seen == {(1, 2, 0), (1, 3, -1), (2, 3, 0)}
    (kept,) = seen_by(facts, own, own_fact="kept")
    assert kept == seen | {(1, 3, 0)}


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


# --- reasons --------------------------------------------------------------------------------


def probability(model: TARGCN, query: Query, answer: int, world: World) -> float:
    return float(scores_of(model, [query], world)[0, answer].exp())


def facts_in(reasons: Reasons) -> list[Fact]:
    columns = (reasons.subjects, reasons.relations, reasons.objects, reasons.times)
    return list(zip(*(column[:, 0].tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    "options",
    [{}, {"own_vector": True, "dropout": 0.5}, {"own_fact": "kept"}],
    ids=str,
)
@pytest.mark.parametrize(("query", "answer"), [((0, 0, 3), 4), ((2, 3, 11), 1), ((1, 1, -4), 1)])
def test_an_effect_is_that_of_a_graph_without_the_fact(
    query: Query, answer: int, options: dict[str, Any]
) -> None:
    world = replace(WORLD, facts=list(dict.fromkeys(WORLD.facts)))
    model = build(world, strategy="whole", **options)
    reasons = model.reasons(queries_of([query]), answer, world.graph)
    expected = probability(model, query, answer, world)
    assert float(reasons.scores.softmax(0)[answer]) == pytest.approx(expected)
    facts = facts_in(reasons)
    own = [fact for fact in world.facts if query[0] in (fact[0], fact[2])]
    # A fact of an entity with itself is seen from both of its ends.
    assert sorted(facts) == sorted([*own, *(fact for fact in own if fact[0] == fact[2])])
    for fact, effect in zip(facts, reasons.effects.tolist(), strict=True):
        if fact[0] != fact[2]:
            rest = replace(world, facts=[other for other in world.facts if other != fact])
            found = expected - probability(model, query, answer, rest)
            assert effect == pytest.approx(found, abs=1e-9)


def test_with_two_steps_the_others_still_see_the_fact_that_is_left_out() -> None:
    model = build(WORLD, steps=2, neighbors=4, decay=5.0)
    query = queries_of([(0, 0, 3)])
    reasons = model.reasons(query, 4, WORLD.graph)
    seen = model.neighborhoods(query, WORLD.graph, 0)
    with torch.no_grad():
        whole = model.score(query, seen).softmax(1)[0, 4]
        for place, effect in enumerate(reasons.effects):
            filled = seen.near.filled.clone()
            filled[0, place] = False
            without = replace(seen, near=replace(seen.near, filled=filled))
            torch.testing.assert_close(whole - model.score(query, without).softmax(1)[0, 4], effect)
    assert len(reasons.effects) == 4


@pytest.mark.parametrize("options", [{}, {"own_fact": "kept"}, {"steps": 2}], ids=str)
@pytest.mark.parametrize("asks_subject", [False, True])
def test_the_queried_fact_is_no_reason(options: dict[str, Any], asks_subject: bool) -> None:
    """Nor does it count for the score, whatever training did with it."""
    s, r, o, t = own = WORLD.facts[11]
    rest = replace(WORLD, facts=[fact for fact in WORLD.facts if fact != own])
    model = build(WORLD, strategy="whole", **options)
    query, answer = ((o, r + 2, t), s) if asks_subject else ((s, r, t), o)
    reasons = model.reasons(queries_of([query]), answer, WORLD.graph)
    without = model.reasons(queries_of([query]), answer, rest.graph)
    assert own not in facts_in(reasons)
    assert facts_in(reasons) == facts_in(without)
    torch.testing.assert_close(reasons.effects, without.effects)
    torch.testing.assert_close(reasons.scores, without.scores)


# --- sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_entities", "num_relations", "dim", "published"),
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
    num_entities: int, num_relations: int, dim: int, published: int
) -> None:
    dataset = World(num_entities, num_relations, [(0, 0, 1, 0)]).dataset
    model = create("targcn", dataset, {"dim": dim})
    padding_row, unused_bias = dim, dim
    assert model.num_parameters == published - padding_row - unused_bias


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbors": 0}, "neighbors is 0"),
        ({"dim": 0}, "dim is 0; at least 1"),
        ({"decoder": "bique", "dim": 30}, "multiple of 8; 24 or 32 would do"),
        ({"decoder": "bique", "dim": 4}, "multiple of 8; 8 would do"),
        ({"initial_scale": 0.0}, "initial_scale is 0.0; it must be above 0"),
        ({"decoder": "complex", "dim": 7}, "multiple of 2; 6 or 8 would do"),
        ({"dropout": 1.0}, "dropout is 1.0; 0 up to below 1"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"decay": 0}, "decay is 0"),
        ({"neighbors": 50, "window": 50}, "window is 50"),
        ({"steps": 3}, "targcn.steps is 3; choose one of 1, 2"),
        ({"decoder": "transe"}, "targcn.decoder is 'transe'; choose one of distmult"),
        ({"dims": 8}, "targcn.dims is unknown; did you mean 'dim'"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create("targcn", WORLD.dataset, options)


def test_a_new_entity_has_the_mean_score_and_is_described_by_its_facts() -> None:
    model = build(WORLD)
    facts = [*WORLD.facts, (7, 0, 3, 5), (7, 1, 2, 9)]
    queries = queries_of(QUERIES)
    with torch.no_grad():
        before = model(queries, WORLD.graph)
        model.add_entities(2)
        after = model(queries, World(9, 2, WORLD.facts).graph)
        torch.testing.assert_close(after[:, :7], before)
        torch.testing.assert_close(after[:, 7:], before.mean(1, keepdim=True).expand(-1, 2))
        # 7 has facts, 8 has none: as subjects they are no longer alike.
        known, unknown = model(queries_of([(7, 0, 5), (8, 0, 5)]), World(9, 2, facts).graph)
    assert not torch.allclose(known, unknown)
