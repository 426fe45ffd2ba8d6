"""The models that learn from sampled negatives: their papers' formulas, and what is sampled."""

import math
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import targcn
from oracle import (
    Fact,
    Query,
    World,
    atise,
    boxte,
    bump_changes,
    checked,
    holds,
    interval_worlds_with_queries,
    queries_of,
    self_adversarial_cost,
    softmax_cost,
    with_reciprocals,
    worlds,
    worlds_with_queries,
)
from small_training import (
    create,
    mrr,
    needs_a_compiler,
    planted,
    same_weights,
    saved_state,
    stop_at,
    take_the_compiler_away,
    trace_of,
)
from targcn.errors import InputError
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.boxte import distance
from targcn.models.negative_sampling import (
    NO_SCORE,
    Negatives,
    NegativeSampling,
    self_adversarial_loss,
    softmax_loss,
)
from targcn.runs.store import save_run
from targcn.training.fit import resume
from targcn.training.loop import TrainingStopped

NAMES = ["boxte", "atise"]
LOSSES = ["softmax", "self-adversarial"]

WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * n % 41) for n in range(60)], cuts=(60, 60))
TICKS = sorted({t for _, _, _, t in WORLD.facts})
# Both directions; entity 6 has no facts; times lie before, at, between and after the known ones.
QUERIES = [(n % 7, n % 4, n * 5 % 47 - 4) for n in range(20)]
FACTS = with_reciprocals(WORLD.facts, 2)
TRUE = set(FACTS)
# Wide curves, so that energies are small and no score is lost beside another in the losses.
WIDE: dict[str, dict[str, Any]] = {"boxte": {}, "atise": {"least_variance": 0.2, "margin": 3.0}}


def build(name: str, world: World = WORLD, scale: float = 0.7, **options: Any) -> Any:
    """A model in double precision whose weights are all large."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = create(name, world.dataset, {"dim": 4, "loss": "softmax"} | options).double()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=scale)
    return model


def scores_of(model: Any, queries: list[Query], world: World = WORLD) -> torch.Tensor:
    with torch.no_grad():
        return model(queries_of(queries), world.graph)


def ticks_of(name: str, world: World) -> list[int]:
    """The times that BoxTE has rows of; ATiSE looks at the last of all."""
    facts = (world.train if name == "boxte" else []) or world.facts
    return sorted({fact[3] for fact in facts})


def slow_score(name: str, model: Any, fact: Fact, ticks: list[int] = TICKS) -> float:
    return boxte(model, ticks, fact)[0] if name == "boxte" else atise(model, ticks, fact)


def slow_scores(name: str, model: Any, queries: list[Query], world: World = WORLD) -> torch.Tensor:
    ticks = ticks_of(name, world)
    scores = [
        [slow_score(name, model, (s, r, o, t), ticks) for o in range(world.num_entities)]
        for s, r, t in queries
    ]
    return torch.tensor(scores, dtype=torch.float64)


def sampled_for(model: Any, facts: list[Fact], world: World = WORLD, seed: int = 5) -> Negatives:
    """What is sampled for these facts' queries, each with the same seed."""
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([o for _, _, o, _ in facts])
    return model.sample(queries, answers, world.graph, torch.full((len(facts),), seed))


def loss_of(model: Any, facts: list[Fact], world: World = WORLD) -> torch.Tensor:
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([o for _, _, o, _ in facts])
    return model.loss(queries, answers, sampled_for(model, facts, world))


# --- the formulas ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("boxte", {}),
        ("boxte", {"dim": 1, "time_bumps": 1}),
        ("boxte", {"dim": 5, "time_bumps": 3}),
        ("atise", {}),
        ("atise", {"dim": 1, "bucket": 3}),
        ("atise", {"dim": 5, "bucket": 50, "least_variance": 0.4, "margin": 7.5}),
    ],
)
def test_scores_follow_the_formula(name: str, options: dict[str, Any]) -> None:
    model = build(name, **options)
    expected = slow_scores(name, model, QUERIES)
    torch.testing.assert_close(scores_of(model, QUERIES), expected)


@pytest.mark.parametrize("name", NAMES)
@settings(checked, max_examples=20)
@given(drawn=worlds_with_queries(min_facts=1))
def test_scores_follow_the_formula_in_any_world(
    name: str, drawn: tuple[World, list[Query]]
) -> None:
    """A single time, a single entity, times far outside the timeline."""
    world, queries = drawn
    model = build(name, world, dim=2)
    expected = slow_scores(name, model, queries, world)
    torch.testing.assert_close(scores_of(model, queries, world), expected)


def test_points_are_inside_and_outside_the_boxes_of_these_tests() -> None:
    model = build("boxte")
    places = [place for fact in FACTS for place in boxte(model, TICKS, fact)[1]]
    assert 0.2 < places.count("inside") / len(places) < 0.8


@settings(checked)
@given(
    offset=st.floats(-2, 2), centre=st.floats(-1, 1), span=st.floats(0, 2) | st.sampled_from([0, 2])
)
def test_the_distance_to_a_box_has_two_cases(offset: float, centre: float, span: float) -> None:
    """Boxes without any width among them; at the edge both cases are one."""
    width = span + 1
    edge = span / 2
    outside = abs(offset) * width - span * (width - 1 / width) / 2
    expected = abs(offset) / width if abs(offset) <= edge else outside
    numbers = torch.tensor([[centre + offset], [centre], [span]], dtype=torch.float64)
    assert float(distance(*numbers)) == pytest.approx(expected, abs=1e-12)
    assert edge * width - span * (width - 1 / width) / 2 == pytest.approx(edge / width)


@pytest.mark.parametrize("name", NAMES)
def test_a_fact_has_one_score_from_either_side(name: str) -> None:
    model = build(name)
    for s, r, o, t in [(3, 1, 5, 9), (0, 0, 6, -7), (2, 1, 2, 400)]:
        there, back = scores_of(model, [(s, r, t), (o, r + 2, t)])
        torch.testing.assert_close(there[o], back[s])


def test_a_point_in_the_middle_of_both_boxes_scores_best() -> None:
    model = build("boxte", scale=0)
    assert torch.equal(scores_of(model, QUERIES), torch.zeros(20, 7, dtype=torch.float64))
    assert (scores_of(build("boxte"), QUERIES) < 0).all()


def test_curves_that_are_alike_have_no_energy() -> None:
    """Everyone is where everyone else is, and the relations are as wide as both ends together."""
    model = build("atise", scale=0, margin=11.0)
    with torch.no_grad():
        # 1 + 33 and 1 + 67 times the least variance.
        model.entities.spread.fill_(math.log(33 / 66))
        model.relations.spread.fill_(math.log(67 / 32))
    torch.testing.assert_close(
        scores_of(model, QUERIES), torch.full((20, 7), 22.0, dtype=torch.float64)
    )
    assert (scores_of(build("atise", margin=11.0), QUERIES) < 22).all()


@pytest.mark.parametrize("spread", [-1000.0, -3.0, 0.0, 1000.0])
def test_a_variance_stays_within_its_bounds(spread: float) -> None:
    model = build("atise", least_variance=0.02)
    torch.nn.init.constant_(model.entities.spread, spread)
    _, variances = model.entities(torch.arange(7)[None], torch.zeros(1, 1, 1).double())
    assert (variances >= 0.02).all()
    assert (variances <= 2 + 1e-12).all()


# --- what a score may depend on -------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_score_depends_on_its_query_alone(name: str) -> None:
    model = build(name)
    together = scores_of(model, QUERIES)
    alone = torch.cat([scores_of(model, [query]) for query in QUERIES])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(scores_of(model, QUERIES[::-1]), together.flip(0))
    without_facts = World(WORLD.num_entities, WORLD.num_relations, [])
    assert torch.equal(scores_of(model, QUERIES, without_facts), together)


@pytest.mark.parametrize("name", NAMES)
def test_queries_need_not_lie_side_by_side(name: str) -> None:
    model, queries = build(name), queries_of(QUERIES)
    with torch.no_grad():
        every_third = model(queries[::3], WORLD.graph)
    torch.testing.assert_close(every_third, scores_of(model, QUERIES)[::3])


@pytest.mark.parametrize("name", NAMES)
def test_without_queries_there_are_no_scores(name: str) -> None:
    assert scores_of(build(name), []).shape == (0, 7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("most", [1, 500, 1000, 1 << 30])
def test_slices_of_the_entities_are_the_whole(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(name)
    whole = scores_of(model, QUERIES)
    widths = []
    score = type(model).score

    def noting(self: NegativeSampling, queries: Any, candidates: torch.Tensor) -> torch.Tensor:
        widths.append(candidates.shape[1])
        return score(self, queries, candidates)

    monkeypatch.setattr(type(model), "score", noting)
    monkeypatch.setattr(
        "targcn.models.negative_sampling.NUMBERS_PER_SLICE", {False: most, True: most}
    )
    torch.testing.assert_close(scores_of(model, QUERIES), whole)
    assert sum(widths) == 7
    numbers = len(QUERIES) * 4 * model.layers
    assert max(widths) == min(max(most // numbers, 1), 7)


@pytest.mark.slow
@needs_a_compiler
@pytest.mark.parametrize("name", NAMES)
def test_compiled_scores_are_the_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(name)
    whole = scores_of(model, QUERIES)
    by_slice = type(model)._score_by_slice
    num_sliced = []

    def noting(self: NegativeSampling, queries: Any, everyone: torch.Tensor) -> torch.Tensor:
        num_sliced.append(len(queries))
        return by_slice(self, queries, everyone)

    monkeypatch.setattr(type(model), "_score_by_slice", noting)
    model.compile_scores()
    for most in (20, 13, 1):
        torch.testing.assert_close(scores_of(model, QUERIES[:most]), whole[:most])
    assert num_sliced == [1]


@pytest.mark.parametrize("name", NAMES)
def test_scores_that_cannot_be_compiled_are_taken_by_slice(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(name)
    whole = scores_of(model, QUERIES)
    take_the_compiler_away(monkeypatch)
    monkeypatch.setattr(
        "targcn.models.negative_sampling.NUMBERS_PER_SLICE", {False: 500, True: 500}
    )
    model.compile_scores()
    with pytest.warns(RuntimeWarning, match="going on uncompiled: no C compiler$"):
        torch.testing.assert_close(scores_of(model, QUERIES), whole)


def test_a_run_that_is_compiled_is_evaluated_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[bool] = []
    monkeypatch.setattr(NegativeSampling, "compile_scores", lambda self: compiled.append(True))
    run = targcn.fit(WORLD.dataset, "boxte", dim=4, epochs=1, device="cpu")
    targcn.evaluate(run, split="train", device="cpu")
    assert not compiled
    recipe = replace(run.recipe, training=replace(run.recipe.training, compile=True))
    meant = replace(run, recipe=recipe)
    targcn.evaluate(meant, split="train", device="cpu")
    assert len(compiled) == 1
    save_run(meant, tmp_path / "run")
    targcn.evaluate(tmp_path / "run", split="train", device="cpu")
    assert len(compiled) == 2


@pytest.mark.parametrize("name", NAMES)
def test_candidates_of_ones_own_and_everyones_have_the_same_scores(name: str) -> None:
    model, queries = build(name), queries_of(QUERIES)
    whole = scores_of(model, QUERIES)
    own = torch.tensor([[(n * 3 + k * k) % 7 for k in range(9)] for n in range(20)])
    shared = torch.tensor([[6, 0, 0, 3]])
    with torch.no_grad():
        torch.testing.assert_close(model.score(queries, own), whole.gather(1, own))
        torch.testing.assert_close(model.score(queries, shared), whole[:, shared[0]])


@pytest.mark.parametrize("name", NAMES)
def test_the_time_counts(name: str) -> None:
    first, last = scores_of(build(name), [(0, 1, TICKS[0]), (0, 1, TICKS[-1])])
    assert not torch.isclose(first, last).any()


def test_the_ticks_of_a_bucket_are_one_time() -> None:
    times = range(-7, 12)
    scores = scores_of(build("atise", bucket=5), [(0, 1, time) for time in times])
    for one, time in zip(scores, times, strict=True):
        for other, time_too in zip(scores, times, strict=True):
            assert torch.equal(one, other) == (time // 5 == time_too // 5)


def test_curves_stand_still_before_they_have_learned() -> None:
    model = create("atise", WORLD.dataset, {"dim": 4})
    scores = scores_of(model, [(0, 1, time) for time in (-99, 0, 7, 1000)])
    assert torch.equal(scores, scores[:1].expand(4, -1))


# --- the losses -----------------------------------------------------------------------------

RIGHT = [0.3, -2.0, 5.0, 0.0]
OTHERS = [[1.0, -1.0, 0.2], [0.0, 0.0, 0.0], [7.0, -30.0, 6.5], [-3.0, -2.0, -2.5]]


def tensor(rows: Any) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def test_the_softmax_loss_is_the_mean_of_cross_entropies() -> None:
    costs = [softmax_cost(right, others) for right, others in zip(RIGHT, OTHERS, strict=True)]
    found = softmax_loss(tensor(RIGHT), tensor(OTHERS))
    assert float(found) == pytest.approx(sum(costs) / 4)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 3.0])
def test_the_self_adversarial_loss_takes_each_score_for_itself(temperature: float) -> None:
    costs = [
        self_adversarial_cost(right, others, temperature)
        for right, others in zip(RIGHT, OTHERS, strict=True)
    ]
    found = self_adversarial_loss(tensor(RIGHT), tensor(OTHERS), temperature)
    assert float(found) == pytest.approx(sum(costs) / 4)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_probabilities_only_where_cross_entropy_trained_them(name: str) -> None:
    scores = scores_of(build(name, **WIDE[name]), QUERIES)
    found = build(name, loss="softmax").log_probabilities(scores)
    torch.testing.assert_close(found.exp().sum(1), torch.ones(20, dtype=torch.float64))
    assert build(name, loss="self-adversarial").log_probabilities(scores) is None


def masked(scores: torch.Tensor) -> torch.Tensor:
    """The scores, and twice as many places that count for nothing, here and there."""
    nothing = torch.full_like(scores, NO_SCORE)
    return torch.stack([nothing, scores, nothing], dim=-1).flatten(1)


@pytest.mark.parametrize(
    "loss",
    [
        softmax_loss,
        lambda right, others: self_adversarial_loss(right, others, 0.5),
        lambda right, others: self_adversarial_loss(right, others, 3.0),
    ],
    ids=["softmax", "self-adversarial", "harsh"],
)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_place_that_counts_for_nothing_changes_nothing(
    loss: Callable[..., torch.Tensor], kind: torch.dtype
) -> None:
    right, others = tensor(RIGHT).to(kind), tensor(OTHERS).to(kind)
    torch.testing.assert_close(loss(right, masked(others)), loss(right, others))


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("temperature", [None, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_that_of_the_wrong_answers_sampled(
    name: str, temperature: float | None, filtered: bool
) -> None:
    """Without a temperature it is the softmax loss."""
    options = {"loss": "self-adversarial", "temperature": temperature}
    options = {"loss": "softmax"} if temperature is None else options
    model = build(name, negatives=6, filtered=filtered, **WIDE[name], **options)
    # Also between two times and outside them, some of it twice.
    batch = [(s, r, n % 7, t) for n, (s, r, t) in enumerate(QUERIES)] + FACTS[:8] + FACTS[4:8]
    entities = sampled_for(model, batch).entities
    expected, num_left_out = 0.0, 0
    for fact, sampled in zip(batch, entities.tolist(), strict=True):
        s, r, _, t = fact
        left = [e for e in sampled if not (filtered and (s, r, e, t) in TRUE)]
        num_left_out += len(sampled) - len(left)
        right = slow_score(name, model, fact)
        wrong = [slow_score(name, model, (s, r, e, t)) for e in left]
        if temperature is None:
            expected += softmax_cost(right, wrong) / len(batch)
        else:
            expected += self_adversarial_cost(right, wrong, temperature) / len(batch)
    assert (num_left_out > 5) == filtered
    if name == "boxte":
        expected += 0.1 * bump_changes(model)
    assert float(loss_of(model, batch).detach()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bumps", [1, 3])
@pytest.mark.parametrize("weight", [0.0, 0.1, 2.5])
def test_boxtes_penalty_is_the_mean_of_the_fourth_powers(weight: float, bumps: int) -> None:
    model = build("boxte", time_bumps=bumps, time_weight=weight)
    with torch.no_grad():
        assert float(model.penalty()) == pytest.approx(weight * bump_changes(model))
        model.times.rows.copy_(model.times.rows[:1].expand_as(model.times.rows).clone())
        assert float(model.penalty()) == 0


def test_atise_has_no_penalty() -> None:
    assert float(build("atise").penalty()) == 0


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_batch_have_its_loss_on_average(name: str) -> None:
    model, batch = build(name, **WIDE[name]), FACTS[:20]
    parts = loss_of(model, batch[:13]) * 13 / 20 + loss_of(model, batch[13:]) * 7 / 20
    torch.testing.assert_close(parts, loss_of(model, batch))


# --- gradients ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_say_how_the_loss_changes(name: str, loss: str) -> None:
    model = build(name, loss=loss, negatives=5, **WIDE[name])
    loss_of(model, FACTS).backward()
    # Some way to go: mostly down, so that the slope is far from 0.
    ways = [0.1 * torch.cos(10 * weight.detach()) - weight.grad for weight in model.parameters()]
    both = zip(model.parameters(), ways, strict=True)
    slope = sum(float((weight.grad * way).sum()) for weight, way in both)
    losses = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            for weight, way in zip(model.parameters(), ways, strict=True):
                weight += step * way
            losses.append(float(loss_of(model, FACTS)))
    assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_and_reach_every_row(name: str, loss: str) -> None:
    model = build(name, loss=loss, **WIDE[name])
    loss_of(model, FACTS).backward()
    for table, weight in model.named_parameters():
        # One without a gradient would stop several processes that train together.
        assert weight.grad is not None, table
        assert weight.grad.isfinite().all(), table
        assert (weight.grad.flatten(1).abs().sum(1) > 0).all(), table


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [0.0, 0.7, 20.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_models_have_a_gradient(name: str, scale: float, loss: str) -> None:
    """One number a vector, a single entity or time, weights that are all 0 or all large."""
    for world in (
        World(1, 1, [(0, 0, 0, 0)]),
        World(1, 1, [(0, 0, 0, 3), (0, 0, 0, 9)]),
        World(3, 1, [(0, 0, 1, 5), (1, 0, 2, 5), (2, 0, 0, 5)]),
        WORLD,
    ):
        for filtered in (True, False):
            options = {"dim": 1, "negatives": 3, "filtered": filtered, "loss": loss}
            model = build(name, world, scale, **options)
            found = loss_of(model, with_reciprocals(world.facts, world.num_relations), world)
            found.backward()
            assert found.isfinite()
            assert all(weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_a_query_whose_negatives_are_all_true_has_a_gradient(name: str, loss: str) -> None:
    world = World(3, 1, [(0, 0, o, 4) for o in range(3)])
    model = build(name, world, loss=loss, negatives=8, **WIDE[name]).float()
    batch = [(0, 0, 1, 4)]
    assert not sampled_for(model, batch, world).wrong.any()
    found = loss_of(model, batch, world)
    found.backward()
    right = slow_score(name, model, batch[0], [4])
    # No penalty either: there is a single time.
    expected = 0.0 if loss == "softmax" else self_adversarial_cost(right, [], 0.5)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-4)
    for weight in model.parameters():
        assert weight.grad.isfinite().all()
        assert loss != "softmax" or not weight.grad.any()


# --- what is sampled ------------------------------------------------------------------------


def chi_square(counts: torch.Tensor) -> float:
    expected = counts.sum() / counts.numel()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("num_entities", [2, 50, 64])
def test_every_entity_is_sampled_equally_often(num_entities: int) -> None:
    world = replace(WORLD, num_entities=max(num_entities, 7))
    model = build("boxte", world, dim=1, negatives=64)
    model.num_entities = num_entities
    # Each of them once: what is sampled again for the same query and seed would count twice.
    queries = queries_of([(n % num_entities, n % 4, n // 3) for n in range(3000)])
    answers = torch.arange(3000) * 7 % num_entities
    entities = model.sample(queries, answers, world.graph, torch.arange(3000) % 3).entities
    assert entities.shape == (3000, 64)
    assert (entities.min(), entities.max()) == (0, num_entities - 1)
    # Above these with a probability of one in a thousand (1, 49, 63 degrees of freedom).
    limit = {2: 10.8, 50: 85.4, 64: 103.4}[num_entities]
    assert chi_square(torch.bincount(entities.flatten()).double()) < limit
    for column in (0, 1, 63):
        assert chi_square(torch.bincount(entities[:, column]).double()) < limit
    # The answer is sampled as often as any other: 192 000 samples, four standard deviations.
    share, expected = float((entities == answers[:, None]).double().mean()), 1 / num_entities
    assert abs(share - expected) < 4 * (expected / 192_000) ** 0.5


def test_two_samples_of_a_query_are_independent() -> None:
    model = build("boxte", negatives=64)
    queries = queries_of([(n % 7, n % 4, n) for n in range(2000)])
    seeds = torch.zeros(2000).long()
    entities = model.sample(queries, queries.subjects, WORLD.graph, seeds).entities
    # Above 93 with a probability of less than one in a thousand (48 degrees of freedom).
    for one, other in ((entities[:, 1:], entities[:, :-1]), (entities[1:], entities[:-1])):
        assert chi_square(torch.bincount((one * 7 + other).flatten()).double()) < 93


def test_everything_about_a_query_and_its_seed_changes_what_is_sampled() -> None:
    model = build("atise", negatives=64)
    queries = queries_of([(0, 0, 3), (1, 0, 3), (0, 1, 3), (0, 0, 4), (0, 0, 3), (0, 0, 3)])
    answers, seeds = torch.tensor([2, 2, 2, 2, 5, 2]), torch.tensor([0, 0, 0, 0, 0, 1])
    entities = model.sample(queries, answers, WORLD.graph, seeds).entities
    for number, row in enumerate(entities):
        for other in entities[:number]:
            # By chance a seventh of 64 places are alike.
            assert int((row == other).sum()) < 25


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sampled_does_not_depend_on_the_batch(name: str) -> None:
    model, queries = build(name, negatives=9), queries_of(QUERIES)
    answers, seeds = torch.arange(20) * 3 % 7, torch.arange(20) // 6
    sample = model.sample(queries, answers, WORLD.graph, seeds)
    order = torch.arange(20) * 7 % 20
    for rows in (order, order[3:8], slice(4, 5), slice(1, 20, 3)):
        again = model.sample(queries[rows], answers[rows], WORLD.graph, seeds[rows])
        assert torch.equal(again.entities, sample.entities[rows])
        assert torch.equal(again.wrong, sample.wrong[rows])
    again = model.double().sample(queries, answers, WORLD.graph, seeds)
    assert torch.equal(again.entities, sample.entities)


@pytest.mark.parametrize("name", NAMES)
@settings(checked, max_examples=40)
@given(drawn=worlds_with_queries())
def test_a_sampled_entity_is_wrong_if_training_does_not_hold_it(
    name: str, drawn: tuple[World, list[Query]]
) -> None:
    """In any world, its training facts being the context, asked both ways and at any time."""
    world, queries = drawn
    true = set(with_reciprocals(world.train, world.num_relations))
    dataset = world.dataset
    context = TemporalGraph.of_context(dataset, "train")
    for filtered in (True, False):
        model = create(name, dataset, {"dim": 1, "negatives": 16, "filtered": filtered})
        asked, answers = queries_of(queries), torch.zeros(len(queries)).long()
        found = model.sample(asked, answers, context, torch.zeros(len(queries)).long())
        assert ((found.entities >= 0) & (found.entities < world.num_entities)).all()
        expected = [
            [not filtered or (s, r, o, t) not in true for o in row]
            for (s, r, t), row in zip(queries, found.entities.tolist(), strict=True)
        ]
        assert found.wrong.tolist() == expected


@settings(checked, max_examples=40)
@given(drawn=interval_worlds_with_queries())
def test_a_sampled_entity_is_wrong_if_no_interval_holds_then(
    drawn: tuple[World, list[Query]],
) -> None:
    world, queries = drawn
    facts = with_reciprocals(world.facts, world.num_relations)
    model = create("atise", world.dataset, {"dim": 1, "negatives": 16})
    nothing = torch.zeros(len(queries)).long()
    found = model.sample(queries_of(queries), nothing, world.graph, nothing)
    expected = [
        [not any(fact[:3] == (s, r, o) and holds(fact, t) for fact in facts) for o in row]
        for (s, r, t), row in zip(queries, found.entities.tolist(), strict=True)
    ]
    assert found.wrong.tolist() == expected


@settings(checked, max_examples=20)
@given(world=worlds())
def test_no_moment_of_an_entity_is_taken_for_anothers(world: World) -> None:
    """Every entity and relation at every time, and far enough out for times to run into others."""
    true, context = set(with_reciprocals(world.facts, world.num_relations)), world.graph
    first = [*range(-3, 10), *range(-context.span - 3, -context.span + 4)]
    times = {*first, *(t + context.span for t in first), *(t for _, _, _, t in world.facts)}
    queries = [
        (s, r, t)
        for s in range(world.num_entities)
        for r in range(2 * world.num_relations)
        for t in sorted(times)
    ]
    model = create("atise", world.dataset, {"dim": 1, "negatives": 20})
    nothing = torch.zeros(len(queries)).long()
    found = model.sample(queries_of(queries), nothing, context, nothing)
    expected = [
        [(s, r, o, t) not in true for o in row]
        for (s, r, t), row in zip(queries, found.entities.tolist(), strict=True)
    ]
    assert found.wrong.tolist() == expected


def test_what_is_wrong_follows_the_context() -> None:
    model = build("boxte", negatives=30)
    fact, empty = FACTS[17], replace(WORLD, facts=[])
    s, r, _, t = fact
    entities = sampled_for(model, [fact]).entities
    true = torch.tensor([[(s, r, e, t) in TRUE for e in row] for row in entities.tolist()])
    assert true.any()
    for world in (WORLD, empty, WORLD):
        again = sampled_for(model, [fact], world)
        assert torch.equal(again.entities, entities)
        assert torch.equal(again.wrong, torch.ones_like(true) if world is empty else ~true)


# --- training -------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "dim": 16,
    "negatives": 64,
    "epochs": 2,
    "batch_size": 20,
    "learning_rate": 0.1,
    "optimizer": "adam",
    "schedule": "constant",
    "validate_every": 1,
    "patience": 0,
    "device": "cpu",
}
ASKED = World(6, 2, [(n % 5, n % 2, n * n % 6, n * 4 % 11 * 3) for n in range(30)], cuts=(24, 27))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_two_epochs_lower_the_loss_and_beat_chance(name: str, loss: str, tmp_path: Path) -> None:
    """Who somebody meets under a relation never changes; chance is about .26."""
    data = planted(lambda s, r, t: s ^ (r + 1), 3)
    run = targcn.fit(data, name, out=tmp_path / "run", loss=loss, **SMALL | WIDE[name])
    losses = [line["loss"] for line in trace_of(tmp_path / "run") if "loss" in line]
    assert losses[1] < 0.9 * losses[0]
    assert mrr(run) > (0.75 if loss == "softmax" else 0.5)


@pytest.mark.parametrize("name", NAMES)
def test_what_changes_with_time_is_learned(name: str) -> None:
    """Everyone changes partners halfway; who knew no time would be right every second time."""
    data = planted(lambda s, r, t: s ^ (1 if t < 12 else 2), 1)
    assert mrr(targcn.fit(data, name, loss="softmax", **SMALL | WIDE[name] | {"epochs": 8})) > 0.95


@pytest.mark.parametrize("name", NAMES)
def test_any_date_can_be_asked_for(name: str) -> None:
    ticks = ticks_of(name, ASKED)
    options = SMALL | WIDE[name] | {"dim": 4, "epochs": 1, "loss": "softmax"}
    run = targcn.fit(ASKED.dataset, name, **options)
    for date, tick in (
        ("1969-01-01", -365), ("1970-01-04", 3), ("1970-01-05", 4), ("1971-01-01", 365),
    ):  # fmt: skip
        for asked, query in ((("e3", None), (3, 1, tick)), ((None, "e3"), (3, 3, tick))):
            frame = targcn.predict(run, asked[0], "r1", asked[1], date)
            s, r, t = query
            expected = {f"e{o}": slow_score(name, run.model, (s, r, o, t), ticks)
                        for o in range(6)}  # fmt: skip
            found = dict(zip(frame["answer"], frame["score"], strict=True))
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-3)
            assert float(frame["probability"].sum()) == pytest.approx(1, abs=1e-5)


# --- runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_run_gives_the_same_scores(name: str, tmp_path: Path) -> None:
    options = SMALL | {"dim": 4, "epochs": 1}
    run = targcn.fit(ASKED.dataset, name, out=tmp_path / "run", **options)
    loaded = targcn.load_run(tmp_path / "run")
    assert same_weights(loaded, run)
    assert loaded.recipe.settings == run.recipe.settings
    asked = [(s % 6, r, t) for s, r, t in QUERIES]
    assert torch.equal(scores_of(loaded.model, asked, ASKED), scores_of(run.model, asked, ASKED))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_stopped_after_an_epoch_goes_on_as_if_it_had_not_been(
    name: str, loss: str, tmp_path: Path
) -> None:
    options = SMALL | {"dim": 4, "epochs": 3, "loss": loss}
    whole = targcn.fit(ASKED.dataset, name, **options)
    stop = stop_at((1, 0), signal.SIGINT)
    with pytest.raises(TrainingStopped):
        targcn.fit(ASKED.dataset, name, out=tmp_path / "run", progress=stop, **options)
    _, position = saved_state(tmp_path / "run")
    assert (position["epoch"], position["step"]) == (1, 1)
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_asked_whatever_split_it_is_in(name: str) -> None:
    """Entity 4, relation 2 and a time stand in the test split alone, others in the valid one."""
    facts = [(0, 0, 1, 0), (1, 0, 2, 2), (3, 1, 0, 5), (0, 2, 4, 9)]
    world = World(5, 3, facts, cuts=(2, 3))
    run = targcn.fit(world.dataset, name, **SMALL | {"dim": 4})
    assert targcn.evaluate(run, device="cpu").num_queries == 2
    ticks = ticks_of(name, world)
    expected = [slow_score(name, run.model, (4, 5, o, 9), ticks) for o in range(5)]
    found = scores_of(run.model, [(4, 5, 9)], world)
    assert found[0].tolist() == pytest.approx(expected, rel=1e-4)


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim is 0; at least 1 was expected"),
        ({"dim": 2.5}, "dim is 2.5; a whole number was expected"),
        ({"negatives": 0}, "negatives is 0; at least 1 was expected"),
        ({"temperature": -0.5}, "temperature is -0.5; it cannot be negative"),
        ({"temperature": "nan"}, "temperature is 'nan'; a number was expected"),
        ({"filtered": "perhaps"}, "filtered is 'perhaps'; true or false was expected"),
        ({"loss": "hinge"}, "loss is 'hinge'; choose one of softmax, self-adversarial"),
        ({"negative": 3}, "negative is unknown; did you mean 'negatives'?"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_settings_out_of_range_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"^({name}\\.)?{re.escape(message)}$"):
        create(name, WORLD.dataset, options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("boxte", {"time_bumps": 0}, "time_bumps is 0; at least 1 was expected"),
        ("boxte", {"time_weight": -1}, "time_weight is -1.0; it cannot be negative"),
        ("atise", {"bucket": 0}, "bucket is 0; at least 1 was expected"),
        ("atise", {"least_variance": 0}, "least_variance is 0.0; it must be above 0"),
        ("atise", {"least_variance": -1}, "least_variance is -1.0; it must be above 0"),
        ("atise", {"margin": "wide"}, "atise.margin is 'wide'; a number was expected"),
    ],
)
def test_a_models_own_settings_out_of_range_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        create(name, WORLD.dataset, options)
