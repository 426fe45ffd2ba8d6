"""T-GAP against a version that walks edge by edge, and what it must not see."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import (
    Fact,
    Query,
    World,
    checked,
    queries_of,
    tgap,
    with_reciprocals,
    worlds_with_queries,
)
from small_training import BUSY_WORLD, small_tgap
from targcn.errors import InputError
from targcn.graph.columns import Columns
from targcn.models import tgap as tgap_module
from targcn.models.tgap import LEAST_MASS, TGAP
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.batches import Batches

SETTINGS: list[dict[str, Any]] = [
    {},
    {"subject_edges": 2, "core_nodes": 2, "node_edges": 1, "subgraph_edges": 3},
    {"steps": 1, "distances": 3, "loop_time": "first"},
    {"steps": 2, "core_nodes": 1, "subgraph_edges": 1},
]
WORLD = BUSY_WORLD
FACTS = WORLD.facts


def build(world: World = WORLD, **settings: Any) -> TGAP:
    return small_tgap(world, **settings).eval()


def masses_of(model: TGAP, world: World, query: Query, **hidden: Any) -> torch.Tensor:
    sizes = world.num_entities, world.num_relations
    mass, _ = tgap(model, world.facts, *sizes, query, **hidden)
    return torch.stack([one.mean() for one in mass])


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@checked
@given(worlds_with_queries())
def test_masses_are_those_of_walking_edge_by_edge(
    settings: dict[str, Any], past_only: bool, drawn: tuple[World, list[Query]]
) -> None:
    world, asked = drawn
    model = build(world, **settings)
    with torch.no_grad():
        scores = model(queries_of(asked), world.past if past_only else world.graph)
        for found, query in zip(scores, asked, strict=True):
            expected = masses_of(model, world, query, past_only=past_only)
            torch.testing.assert_close(found.exp() - LEAST_MASS, expected, atol=1e-9, rtol=1e-6)
            assert float(found.exp().sum()) == pytest.approx(1)


@st.composite
def batches(draw: st.DrawFn) -> tuple[World, list[Fact]]:
    """A world, and facts of one time in it, read from either end."""
    world, _ = draw(worlds_with_queries(min_facts=1))
    time = draw(st.sampled_from(world.facts))[3]
    own = [one for one in with_reciprocals(world.facts, world.num_relations) if one[3] == time]
    return world, draw(st.lists(st.sampled_from(own), min_size=1, max_size=5))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@checked
@given(batches())
def test_a_batch_hides_its_facts(settings: dict[str, Any], drawn: tuple[World, list[Fact]]) -> None:
    world, facts = drawn
    model = build(world, **settings).train()
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    answers = torch.tensor([fact[2] for fact in facts])
    sample = model.sample(queries, answers, world.graph, torch.zeros(len(facts)))
    expected = torch.stack(
        [masses_of(model, world, (s, r, t), hidden=facts) for s, r, _, t in facts]
    )
    scores = model.score(queries, sample)
    torch.testing.assert_close(scores.exp() - LEAST_MASS, expected, atol=1e-9, rtol=1e-6)
    # A part of the batch sees what the whole batch sees.
    torch.testing.assert_close(model.score(queries[1:], sample[1:]), scores[1:])
    loss = -(expected + LEAST_MASS).gather(1, answers[:, None]).log().mean()
    found = model.loss(queries, answers, sample)
    torch.testing.assert_close(found, loss, atol=1e-6, rtol=1e-6)
    # The gradients are those of the slow version.
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    ours = torch.autograd.grad(found, learned)
    theirs = torch.autograd.grad(loss, learned, allow_unused=True, materialize_grads=True)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_its_own_fact_changes_nothing_in_training() -> None:
    """The answer is as it would be if the data did not hold the fact."""
    fact = (2, 0, 4, 12)
    world = World(6, 2, [*FACTS, fact])
    without = World(6, 2, FACTS)
    assert fact not in FACTS
    s, r, o, t = fact
    model, queries, answers = build(world).train(), queries_of([(s, r, t)]), torch.tensor([o])
    sample = model.sample(queries, answers, world.graph, torch.zeros(1))
    torch.testing.assert_close(model.score(queries, sample), model(queries, without.graph))
    assert not torch.allclose(model(queries, world.graph), model(queries, without.graph))


def test_batches_have_one_time_and_keep_what_they_hide() -> None:
    batches = Batches(
        build(), WORLD.dataset, TrainingSettings(batch_size=4), 0, torch.device("cpu")
    )
    for batch in batches.of_epoch(0):
        assert len(batch.queries.times.unique()) == 1
        assert len(batch[1:].sample.hidden.times) == len(batch)


def test_loops_of_the_first_day_tell_what_day_it_is() -> None:
    """Without facts nothing else depends on the time."""
    world = World(2, 1, [], cuts=(0, 0))
    for loop_time, tells in (("present", False), ("first", True)):
        model = build(world, loop_time=loop_time)
        one, other = (model.share(time, world.graph).nodes for time in (0, 3))
        assert torch.equal(one, other) != tells


def test_memory_is_bounded_and_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = build(), queries_of([(s, r, 3) for s in range(5) for r in range(4)])
    with torch.no_grad():
        expected = model(asked, WORLD.graph)
        monkeypatch.setattr(tgap_module, "MOST_TRANSITIONS_AT_ONCE", {"cpu": 1})
        assert model._queries_at_once(WORLD.graph) == 1
        torch.testing.assert_close(model(asked, WORLD.graph), expected)


def test_a_new_entity_is_reached_through_its_facts() -> None:
    model = build()
    model.add_entities(1)
    more = World(7, 2, [*FACTS, (0, 0, 6, 3)])
    masses = model(queries_of([(0, 0, 3), (1, 0, 3)]), more.graph).exp()
    assert masses.shape == (2, 7)
    assert masses[0, 6].item() > 1e-3
    torch.testing.assert_close(model.entities[6], model.entities[:6].mean(0))


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="dim is 7, which 2 heads cannot share equally"):
        build(dim=7)
    with pytest.raises(InputError, match="distances is 1"):
        build(distances=1)


# --- training -------------------------------------------------------------------------------


def test_a_batch_in_parts_has_the_same_gradients() -> None:
    model = build().train()
    batches = Batches(model, WORLD.dataset, TrainingSettings(batch_size=9), 0, torch.device("cpu"))
    batch = max(batches.of_epoch(0), key=len)
    assert len(batch) > 2

    def gradients(*parts: Any) -> list[torch.Tensor]:
        model.zero_grad()
        for part in parts:
            loss = model.loss(part.queries, part.answers, part.sample) * len(part) / len(batch)
            loss.backward()
        return [weight.grad.clone() for weight in model.parameters()]

    assert isinstance(batch.sample, Columns)
    torch.testing.assert_close(gradients(batch[:2], batch[2:]), gradients(batch))
