"""The model against its formula taken piece by piece, and never the fact that is asked for."""

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
    FoundEvidence,
    Query,
    World,
    checked,
    evidence_scores,
    fact_weight,
    find_evidence,
    holds,
    interval_worlds_with_queries,
    moment,
    queries_of,
    tables_of,
    time_bucket,
    with_reciprocals,
    worlds,
    worlds_with_queries,
)
from small_training import DATA, create, mrr, same_weights, trace_of
from targcn.errors import InputError
from targcn.graph import nearest as nearest_facts
from targcn.graph.nearest import NearestFacts
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.evidence import Evidence, EvidenceSample
from targcn.models.evidence_candidates import Rivals
from targcn.models.layers.losses import cross_entropy

# Windows that hold all evidence, windows that cut it, and only one fact.
WIDE = dict.fromkeys(["facts", "first_facts", "second_facts"], 60)
NARROW = {"facts": 4, "first_facts": 2, "second_facts": 3}
LEAST = {"facts": 1, "first_facts": 0, "second_facts": 1}
WINDOWS = st.sampled_from([WIDE, NARROW, LEAST | {"prior_dim": 0}, NARROW | {"against": True}])
# What the tests change one by one; not the defaults.
PLAIN: dict[str, Any] = {
    "dim": 3,
    "prior_dim": 4,
    "prior_dropout": 0.0,
    "fact_dropout": 0.0,
    "time_unit": 1.0,
}
WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * 7 % 23) for n in range(60)])
# Entity 6 has no facts; times lie before, within and after the timeline.
QUERIES = [(n % 7, n % 4, n * 5 % 31 - 4) for n in range(20)]


def build(world: World, **options: Any) -> Evidence:
    """A model in double precision; tables that start at 0 would hide mistakes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Evidence = create("evidence", world.dataset, PLAIN | options).double().eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.7)
    return model


def scores_of(model: Evidence, queries: list[Query], graph: TemporalGraph) -> torch.Tensor:
    with torch.no_grad():
        return model(queries_of(queries), graph)


def facts_in(found: NearestFacts) -> list[Fact | None]:
    """The fact in each place of one row."""
    columns = (found.subjects, found.relations, found.objects, found.times)
    rows = torch.stack([column.flatten() for column in columns], dim=1).tolist()
    return [
        tuple(fact) if filled else None
        for fact, filled in zip(rows, found.filled.flatten().tolist(), strict=True)
    ]


def first_facts_in(sample: EvidenceSample) -> list[Fact | None]:
    facts = facts_in(sample.facts)
    return [facts[place] for place in sample.first_places.flatten().tolist()]


def evidence_in(sample: EvidenceSample) -> FoundEvidence:
    """The evidence for one query in plain Python."""
    second, first = facts_in(sample.second), first_facts_in(sample)
    paths = [
        (one, second[number * sample.second.filled.shape[2] + place])
        for number, one in enumerate(first)
        for place in range(sample.second.filled.shape[2])
    ]
    return FoundEvidence(
        sorted(filter(None, facts_in(sample.facts))),
        sorted(path for path in paths if path[1] is not None),
    )


def train_sample(
    model: Evidence, facts: list[Fact], graph: TemporalGraph, seed: int = 0
) -> EvidenceSample:
    """What the training queries for the objects of facts see."""
    answers = torch.tensor([o for _, _, o, _ in facts])
    seeds = torch.full((len(facts),), seed)
    return model.sample(queries_of([(s, r, t) for s, r, _, t in facts]), answers, graph, seeds)


# --- the formula ----------------------------------------------------------------------------


def slow_scores(
    model: Evidence,
    world: World,
    query: Query,
    sample: EvidenceSample,
    hidden: Fact | None = None,
    past_only: bool = False,
) -> torch.Tensor:
    """That the sample holds all evidence, too, is checked on the way.

    Only the choice among first facts of the same weight is taken from the sample.
    """
    first = [fact for fact in first_facts_in(sample) if fact is not None]
    found = find_evidence(world, query, model.settings, first, hidden, past_only)
    assert evidence_in(sample) == found
    tables = tables_of(model.fact_weights)

    def weights(facts: list[Fact]) -> list[float]:
        buckets = [time_bucket(t - query[2]) for *_, t in facts]
        rows = zip(facts, buckets, strict=True)
        return sorted((fact_weight(tables, query[1], f[1], b) for f, b in rows), reverse=True)

    assert weights(first) == weights(found.facts)[: model.settings.first_facts]
    return torch.tensor(evidence_scores(model, query, found), dtype=torch.float64)


@settings(checked, max_examples=40)
@given(worlds_with_queries(), WINDOWS, st.booleans())
def test_scores_follow_the_formula(
    drawn: tuple[World, list[Query]], windows: dict[str, int], past_only: bool
) -> None:
    world, queries = drawn
    model, graph = build(world, **windows), world.past if past_only else world.graph
    sample = model.find(queries_of(queries), graph)
    scores = scores_of(model, queries, graph)
    for row, query in enumerate(queries):
        one = sample[row : row + 1]
        expected = slow_scores(model, world, query, one, past_only=past_only)
        torch.testing.assert_close(scores[row], expected)


@settings(checked, max_examples=40)
@given(worlds(min_facts=1), WINDOWS, st.booleans())
def test_training_scores_follow_it_without_the_own_fact(
    world: World, windows: dict[str, int], past_only: bool
) -> None:
    """Its places in the windows stay empty: a window may hold one fewer."""
    model, graph = build(world, **windows), world.past if past_only else world.graph
    facts = with_reciprocals(world.facts, world.num_relations)
    sample = train_sample(model, facts, graph)
    queries, answers = [(s, r, t) for s, r, _, t in facts], torch.tensor([f[2] for f in facts])
    expected = torch.stack(
        [
            slow_scores(model, world, queries[row], sample[row : row + 1], fact, past_only)
            for row, fact in enumerate(facts)
        ]
    )
    with torch.no_grad():
        torch.testing.assert_close(model.score(queries_of(queries), sample), expected)
        loss = model.loss(queries_of(queries), answers, sample)
    torch.testing.assert_close(loss, cross_entropy(expected, answers))


@settings(checked, max_examples=40)
@given(interval_worlds_with_queries(), WINDOWS)
def test_scores_of_intervals_follow_the_formula(
    drawn: tuple[World, list[Query]], windows: dict[str, int]
) -> None:
    """The time of a fact is its moment nearest to the query's."""
    world, queries = drawn
    model, graph = build(world, **windows), world.graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_facts, "LOOKED_BACK", 50)
        sample = model.find(queries_of(queries), graph)
        scores = scores_of(model, queries, graph)
    for row, query in enumerate(queries):
        expected = slow_scores(model, world, query, sample[row : row + 1])
        torch.testing.assert_close(scores[row], expected)


@settings(checked, max_examples=40)
@given(interval_worlds_with_queries(), WINDOWS, st.sampled_from([0, 3, 200]))
def test_training_scores_of_intervals_follow_it_without_what_holds_then(
    drawn: tuple[World, list[Query]], windows: dict[str, int], time: int
) -> None:
    """Each is asked at some tick of its interval."""
    world, _ = drawn
    model, graph = build(world, **windows), world.graph
    everything = with_reciprocals(world.facts, world.num_relations)
    facts = [(*fact[:3], moment(fact, time)) for fact in everything]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_facts, "LOOKED_BACK", 50)
        sample = train_sample(model, facts, graph)
    queries = [(s, r, t) for s, r, _, t in facts]
    expected = torch.stack(
        [
            slow_scores(model, world, queries[row], sample[row : row + 1], fact)
            for row, fact in enumerate(facts)
        ]
    )
    with torch.no_grad():
        torch.testing.assert_close(model.score(queries_of(queries), sample), expected)


@pytest.mark.parametrize("past_only", [False, True])
def test_everything_is_computed_where_the_context_is(past_only: bool) -> None:
    """A tensor made without a word about its device would be on another one, without numbers."""
    model, graph = build(WORLD, **NARROW, against=True), WORLD.past if past_only else WORLD.graph
    queries, answers = queries_of(QUERIES), torch.zeros(len(QUERIES), dtype=torch.long)
    seeds = torch.zeros_like(answers)
    some = build(WORLD, **NARROW, candidates=4)
    with torch.device("meta"):
        model(queries, graph)
        for one in (model, some):
            one.loss(queries, answers, one.sample(queries, answers, graph, seeds)).backward()


@checked
@given(worlds_with_queries(), WINDOWS, st.booleans())
def test_a_softmax_over_all_entities_drawn_once_is_the_whole_one(
    case: tuple[World, list[Query]], windows: dict[str, int], is_filtered: bool
) -> None:
    world, asked = case
    model = build(world, **windows)
    queries = queries_of(asked)
    answers = torch.arange(len(asked)) % world.num_entities
    others = torch.stack([answers, (answers + 1) % world.num_entities], 1) if is_filtered else None
    sample = model.find(queries, world.graph)
    every = torch.arange(world.num_entities)
    some = replace(sample, rivals=Rivals(every, torch.zeros(world.num_entities)))
    whole = model.loss(queries, answers, sample, others)
    torch.testing.assert_close(model.loss(queries, answers, some, others), whole)


# --- the own fact ---------------------------------------------------------------------------


def without(world: World, fact: Fact) -> World:
    """All copies of a fact, given in either direction, taken out: all that hold at its time."""
    left = [
        one
        for one in world.facts
        if not holds(one, fact[3])
        or fact[:3] not in [side[:3] for side in with_reciprocals([one], world.num_relations)]
    ]
    return replace(world, facts=left)


def leaks(world: World, own: Fact, past_only: bool = False) -> set[str]:
    """What shows the training query of a fact that the fact is there: facts or paths."""
    model, (s, r, _, t) = build(world, **WIDE), own
    graph, rest = (replace(one.graph, past_only=past_only) for one in (world, without(world, own)))
    seen = evidence_in(train_sample(model, [own], graph))
    expected = evidence_in(model.find(queries_of([(s, r, t)]), rest))
    return {name for name in vars(seen) if getattr(seen, name) != getattr(expected, name)}


@settings(checked, max_examples=40)
@given(worlds(min_facts=1), st.data(), st.booleans())
def test_a_training_query_sees_a_graph_without_its_own_fact(
    world: World, data: st.DataObject, past_only: bool
) -> None:
    """Where windows cut nothing; the rest of the facts, of the same day too, is all there."""
    own = data.draw(st.sampled_from(with_reciprocals(world.facts, world.num_relations)))
    assert leaks(world, own, past_only) == set()


@settings(checked, max_examples=40)
@given(interval_worlds_with_queries(), st.data(), st.sampled_from([0, 3, 200]))
def test_a_training_query_sees_no_interval_that_holds_then_and_says_the_same(
    drawn: tuple[World, list[Query]], data: st.DataObject, time: int
) -> None:
    """Wherever in its interval a fact is asked, and whatever other intervals it holds over."""
    world, _ = drawn
    own = data.draw(st.sampled_from(with_reciprocals(world.facts, world.num_relations)))
    assert leaks(world, (*own[:3], moment(own, time))) == set()


# A fact in both directions, whose ends are also their own neighbours and meet at other times;
# and a fact of an entity with itself.
TELLING = World(
    4,
    2,
    [
        (0, 1, 1, 5), (0, 1, 1, 4), (0, 0, 1, 5), (0, 0, 0, 4), (1, 0, 1, 6),
        (2, 1, 2, 5), (2, 1, 2, 7), (2, 0, 3, 5),
    ],
)  # fmt: skip
# The same over intervals, each of which begins before the others' time and may outlast it.
LASTING = replace(
    TELLING, facts=[(*f[:3], max(f[3] - 3, 0), f[3] + n % 3) for n, f in enumerate(TELLING.facts)]
)
THERE, BACK, LOOP, LOOP_BACK = (0, 1, 1, 5), (1, 3, 0, 5), (2, 1, 2, 5), (2, 3, 2, 5)


@pytest.mark.parametrize("world", [TELLING, LASTING], ids=["points", "intervals"])
@pytest.mark.parametrize("own", [THERE, BACK, LOOP, LOOP_BACK], ids=str)
def test_no_kind_of_evidence_shows_a_fact_from_either_side(own: Fact, world: World) -> None:
    assert leaks(world, own) == set()


# --- dropout --------------------------------------------------------------------------------


def test_facts_of_the_subject_are_dropped_at_their_share() -> None:
    """For the same seed the same ones, whatever the batch."""
    facts = [(n % 40, n % 3, n * 7 % 40, n % 50) for n in range(3000)]
    world, asked = World(40, 3, facts), facts[:200]
    graph = world.graph
    model, dropping = (build(world, **WIDE, fact_dropout=share) for share in (0.0, 0.3))
    whole, thin, other = (
        train_sample(one, asked, graph, seed)
        for one, seed in ((model, 1), (dropping, 1), (dropping, 2))
    )
    share = float(thin.facts.filled.sum() / whole.facts.filled.sum())
    assert abs(share - 0.7) < 0.02  # of some 12,000 facts
    assert not (thin.facts.filled & ~whole.facts.filled).any()
    # No path starts with a dropped fact.
    starts = thin.second.filled.any(2)
    assert starts.any()
    assert not (starts & ~thin.facts.filled.gather(1, thin.first_places)).any()
    assert not torch.equal(thin.facts.filled, other.facts.filled)
    part = train_sample(dropping, asked[50:60], graph, 1)
    for one, same in zip(part.tensors(), thin[50:60].tensors(), strict=True):
        assert torch.equal(one, same)


def test_the_query_vector_of_the_prior_is_dropped_at_its_share_and_keeps_its_mean() -> None:
    facts = with_reciprocals(WORLD.facts, 2)
    model = build(WORLD, **NARROW, prior_dropout=0.4, prior_dim=200)
    sample = train_sample(model, facts, WORLD.graph)
    assert abs(float(sample.kept.double().mean()) - 0.6) < 0.02
    assert torch.equal(train_sample(model, facts[9:12], WORLD.graph).kept, sample.kept[9:12])
    assert not torch.equal(train_sample(model, facts, WORLD.graph, 1).kept, sample.kept)
    with torch.no_grad():
        scores = model.score(queries_of([(s, r, t) for s, r, _, t in facts]), sample)
    for row in (0, 70):
        (s, r, _, t), one = facts[row], sample[row : row + 1]
        expected = evidence_scores(model, (s, r, t), evidence_in(one), one.kept[0].tolist())
        torch.testing.assert_close(scores[row], torch.tensor(expected, dtype=torch.float64))


def test_dropout_is_for_training_alone() -> None:
    plain, dropping = (
        build(WORLD, **NARROW, fact_dropout=share, prior_dropout=share) for share in (0.0, 0.5)
    )
    scores = [scores_of(model.train(), QUERIES, WORLD.graph) for model in (plain, dropping)]
    assert torch.equal(*scores)


# --- learning -------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "facts": 16,
    "first_facts": 4,
    "second_facts": 4,
    "dim": 8,
    "prior_dim": 8,
    "epochs": 3,
    "batch_size": 64,
    "learning_rate": 0.02,
    "device": "cpu",
}


def test_gradients_are_finite_and_reach_every_weight() -> None:
    model = build(WORLD, **NARROW, fact_dropout=0.2, prior_dropout=0.5, against=True).train()
    facts = with_reciprocals(WORLD.facts, 2)
    sample = train_sample(model, facts, WORLD.graph)
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    model.loss(queries, torch.tensor([o for _, _, o, _ in facts]), sample).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.abs().sum() > 0, name


def test_the_loss_falls_and_the_answers_are_found(tmp_path: Path) -> None:
    run = targcn.fit(DATA, "evidence", out=tmp_path / "run", **SMALL | {"epochs": 6})
    losses = [line["loss"] for line in trace_of(tmp_path / "run") if "loss" in line]
    assert losses[-1] < 0.5 * losses[0]
    assert mrr(run) > 0.9
    assert same_weights(targcn.load_run(tmp_path / "run"), run)


def test_new_entities_have_the_mean_prior_and_their_own_facts() -> None:
    model = build(WORLD, **NARROW)
    before = scores_of(model, QUERIES, WORLD.graph)
    prior = scores_of(model, QUERIES, replace(WORLD, facts=[]).graph)
    model.add_entities(2)
    after = scores_of(model, QUERIES, replace(WORLD, num_entities=9).graph)
    torch.testing.assert_close(after[:, :7], before)
    torch.testing.assert_close(after[:, 7:], prior.mean(1, keepdim=True).expand(-1, 2))
    world = World(9, 2, [*WORLD.facts, (7, 0, 3, 5), (3, 1, 7, 9)])
    for query in ((7, 0, 5), (3, 1, 9), (8, 2, 0)):
        sample = model.find(queries_of([query]), world.graph)
        expected = slow_scores(model, world, query, sample)
        torch.testing.assert_close(scores_of(model, [query], world.graph)[0], expected)


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"facts": 0}, "facts is 0; at least 1"),
        ({"first_facts": -1}, "first_facts is -1"),
        ({"second_facts": 0}, "second_facts is 0; at least 1"),
        ({"dim": 0}, "dim is 0; at least 1"),
        ({"prior_dim": -1}, "prior_dim is -1"),
        ({"prior_dropout": 1.0}, "prior_dropout is 1.0; 0 up to below 1"),
        ({"fact_dropout": -0.1}, "fact_dropout is -0.1"),
        ({"time_unit": 0.0}, "time_unit is 0"),
        ({"time_unit": float("nan")}, "time_unit is nan"),
    ],
)
def test_settings_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create("evidence", WORLD.dataset, options)


def test_the_unit_of_time_is_a_third_of_the_typical_gap_unless_given() -> None:
    """The times of entities 0 and 1 lie 30 ticks apart, those of entity 2 one tick."""
    facts = [(0, 0, 1, 30 * n) for n in range(5)] + [(2, 0, 2, 0), (2, 0, 2, 1)]
    world = World(3, 1, facts, cuts=(7, 7))
    assert float(build(world, time_unit=None).time_buckets.edges[0]) == 10
    assert float(build(world, time_unit=4.0).time_buckets.edges[0]) == 4
    close = World(2, 1, [(0, 0, 1, n) for n in range(5)], cuts=(5, 5))
    assert float(build(close, time_unit=None).time_buckets.edges[0]) == 1
