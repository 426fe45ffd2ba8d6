"""The models that learn from sampled negatives: their papers' formulas, and what is sampled."""

import re
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
    worlds_with_queries,
)
from small_training import (
    create,
    mrr,
    needs_a_compiler,
    planted,
    trace_of,
)
from targcn.errors import InputError
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.boxte import distance
from targcn.models.negative_sampling import (
    Negatives,
    NegativeSampling,
)
from targcn.runs.store import save_run

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


@pytest.mark.parametrize("spread", [-1000.0, -3.0, 0.0, 1000.0])
def test_a_variance_stays_within_its_bounds(spread: float) -> None:
    model = build("atise", least_variance=0.02)
    torch.nn.init.constant_(model.entities.spread, spread)
    _, variances = model.entities(torch.arange(7)[None], torch.zeros(1, 1, 1).double())
    assert (variances >= 0.02).all()
    assert (variances <= 2 + 1e-12).all()


# --- what a score may depend on -------------------------------------------------------------


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


def test_the_ticks_of_a_bucket_are_one_time() -> None:
    times = range(-7, 12)
    scores = scores_of(build("atise", bucket=5), [(0, 1, time) for time in times])
    for one, time in zip(scores, times, strict=True):
        for other, time_too in zip(scores, times, strict=True):
            assert torch.equal(one, other) == (time // 5 == time_too // 5)


# --- the losses -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_probabilities_only_where_cross_entropy_trained_them(name: str) -> None:
    scores = scores_of(build(name, **WIDE[name]), QUERIES)
    found = build(name, loss="softmax").log_probabilities(scores)
    torch.testing.assert_close(found.exp().sum(1), torch.ones(20, dtype=torch.float64))
    assert build(name, loss="self-adversarial").log_probabilities(scores) is None


@pytest.mark.parametrize("temperature", [None, 0.0, 0.5, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_that_of_the_wrong_answers_sampled(
    name: str, temperature: float | None
) -> None:
    """Without a temperature it is the softmax loss."""
    options = {"loss": "self-adversarial", "temperature": temperature}
    options = {"loss": "softmax"} if temperature is None else options
    model = build(name, negatives=6, **WIDE[name], **options)
    # Also between two times and outside them, some of it twice.
    batch = [(s, r, n % 7, t) for n, (s, r, t) in enumerate(QUERIES)] + FACTS[:8] + FACTS[4:8]
    entities = sampled_for(model, batch).entities
    expected, num_left_out = 0.0, 0
    for fact, sampled in zip(batch, entities.tolist(), strict=True):
        s, r, _, t = fact
        left = [e for e in sampled if (s, r, e, t) not in TRUE]
        num_left_out += len(sampled) - len(left)
        right = slow_score(name, model, fact)
        wrong = [slow_score(name, model, (s, r, e, t)) for e in left]
        if temperature is None:
            expected += softmax_cost(right, wrong) / len(batch)
        else:
            expected += self_adversarial_cost(right, wrong, temperature) / len(batch)
    assert num_left_out > 5
    if name == "boxte":
        expected += 0.1 * bump_changes(model)
    assert float(loss_of(model, batch).detach()) == pytest.approx(expected, rel=1e-9)


# --- gradients ------------------------------------------------------------------------------


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
        model = build(name, world, scale, dim=1, negatives=3, loss=loss)
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
    model = create(name, dataset, {"dim": 1, "negatives": 16})
    asked, answers = queries_of(queries), torch.zeros(len(queries)).long()
    found = model.sample(asked, answers, context, torch.zeros(len(queries)).long())
    assert ((found.entities >= 0) & (found.entities < world.num_entities)).all()
    expected = [
        [(s, r, o, t) not in true for o in row]
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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_two_epochs_lower_the_loss_and_beat_chance(name: str, loss: str, tmp_path: Path) -> None:
    """Who somebody meets under a relation never changes; chance is about .26."""
    data = planted(lambda s, r, t: s ^ (r + 1), 3)
    run = targcn.fit(data, name, out=tmp_path / "run", loss=loss, **SMALL | WIDE[name])
    losses = [line["loss"] for line in trace_of(tmp_path / "run") if "loss" in line]
    assert losses[1] < 0.9 * losses[0]
    assert mrr(run) > (0.75 if loss == "softmax" else 0.5)


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("boxte", {"dim": 0}, "dim is 0; at least 1 was expected"),
        ("atise", {"negatives": 0}, "negatives is 0; at least 1 was expected"),
        ("atise", {"temperature": -0.5}, "temperature is -0.5; it cannot be negative"),
        ("boxte", {"loss": "hinge"}, "boxte.loss is 'hinge'; choose one of softmax, self-adversar"),
        ("boxte", {"time_bumps": 0}, "time_bumps is 0; at least 1 was expected"),
        ("boxte", {"time_weight": -1}, "time_weight is -1.0; it cannot be negative"),
        ("atise", {"bucket": 0}, "bucket is 0; at least 1 was expected"),
        ("atise", {"least_variance": 0}, "least_variance is 0.0; it must be above 0"),
        ("atise", {"margin": "wide"}, "atise.margin is 'wide'; a number was expected"),
    ],
)
def test_settings_out_of_range_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        create(name, WORLD.dataset, options)
