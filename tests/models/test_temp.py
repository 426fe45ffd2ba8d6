"""TeMP against the described model fact by fact, and what must never reach a query."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings

from oracle import (
    Fact,
    Query,
    World,
    facts_of,
    queries_of,
    softmax_cost,
    temp_scores,
    with_reciprocals,
    worlds,
    worlds_with_queries,
)
from small_training import DATA, create, planted
from targcn.errors import InputError
from targcn.evaluation.filters import KnownAnswers
from targcn.graph.queries import Queries
from targcn.graph.snapshots import Folds
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.fused import Fused, FusedSettings
from targcn.runs.compare import compare, comparison_table
from targcn.runs.evaluate import evaluate
from targcn.training.fit import fit

NAMES = ["temp-gru", "temp-sa"]
PLAIN = {"imputation": False, "gating": False, "learned_decay": False, "dropout": 0.0}
RELEASED = {"released_messages": True, "released_activity": True}
VARIANTS: list[dict[str, Any]] = [
    {},
    PLAIN,
    {"window": 1},
    {"window": 3, "gating": False},
    {"window": 2, "imputation": False},
    {"released_activity": True},
    PLAIN | RELEASED,
]
few = settings(max_examples=15)


def model_of(name: str, world: World, **options: Any) -> Any:
    """A small model whose weights are large enough to tell everything apart."""
    torch.manual_seed(0)
    own = {"dim": 4, "negatives": 0} | ({"heads": 2} if name == "temp-sa" else {}) | options
    model = create(name, world.dataset, own).double()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    # A learned decay that grows with the distance, and is not always 0.
    for part in model.modules():
        if hasattr(part, "line"):
            with torch.no_grad():
                part.line.copy_(torch.tensor([0.3, -0.2]))
    return model


def ticks_of(world: World) -> list[int]:
    return sorted({fact[3] for fact in world.train or world.facts}) or [0]


def graph_of(world: World, facts: list[Fact]) -> TemporalGraph:
    return TemporalGraph.of(facts_of(facts), world.num_entities, world.num_relations)


def asked_about(world: World, facts: list[Fact]) -> tuple[Queries, torch.Tensor]:
    both = with_reciprocals(facts, world.num_relations)
    asked = queries_of([(s, r, t) for s, r, _, t in both])
    return asked, torch.tensor([o for _, _, o, _ in both], dtype=torch.long)


# --- scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
@few
@given(worlds_with_queries())
def test_scores_are_those_of_the_described_model(
    name: str, options: dict[str, Any], drawn: tuple[World, list[Query]]
) -> None:
    """Also at times never seen, before all and after all, on one day, and without any fact."""
    world, asked = drawn
    model = model_of(name, world, **options).eval()
    context = world.train + world.valid
    told = world.facts if model.settings.released_activity else []
    for past_only in (False, True):
        graph = graph_of(world, context)
        graph = graph.as_past() if past_only else graph
        with torch.no_grad():
            found = model(queries_of(asked), graph)
        expected = [
            temp_scores(model, ticks_of(world), context, query, past_only, told) for query in asked
        ]
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("name", NAMES)
@few
@given(worlds_with_queries())
def test_released_gates_read_the_answers_of_all_splits_but_not_in_training(
    name: str, drawn: tuple[World, list[Query]]
) -> None:
    world, asked = drawn
    context = world.train + world.valid
    model, usual = (model_of(name, world, released_gating=leaks) for leaks in (True, False))
    queries, graph = queries_of(asked), graph_of(world, context)
    both = with_reciprocals(world.facts, world.num_relations)
    expected = []
    for s, r, t in asked:
        answers = [fact[2] for fact in both if (fact[0], fact[1], fact[3]) == (s, r, t)]
        ticks = ticks_of(world)
        expected.append(temp_scores(model, ticks, context, (s, r, t), answers=answers))
    with torch.no_grad():
        found = model.eval()(queries, graph)
        in_training, usual_scores = model.train()(queries, graph), usual.train()(queries, graph)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    assert torch.equal(in_training, usual_scores)


def test_who_misses_a_snapshot_is_remembered_unless_the_released_code_is_asked_for() -> None:
    """Entity 0 is active on day 0 alone; what it did then must matter on day 2."""
    beside = [(2, 0, 3, 1), (2, 0, 3, 2)]
    one, other = (World(4, 1, [fact, *beside]) for fact in ((1, 0, 0, 0), (3, 0, 0, 0)))
    for forgets in (False, True):
        options = {"imputation": False, "gating": False, "released_absence": forgets}
        model = model_of("temp-gru", one, **options).eval()
        with torch.no_grad():
            scores = [model(queries_of([(0, 0, 2)]), world.graph)[:, 0] for world in (one, other)]
        assert torch.allclose(*scores) == forgets


@pytest.mark.parametrize("name", NAMES)
def test_scores_do_not_depend_on_how_many_times_are_scored_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [(s, s % 2, (s + t) % 6, t) for t in range(9) for s in range(6) if (s + t) % 3]
    world = World(6, 2, facts, cuts=(len(facts), len(facts)))
    model, (asked, _) = model_of(name, world).eval(), asked_about(world, facts)
    with torch.no_grad():
        together = model(asked, world.graph)
        monkeypatch.setattr("targcn.models.temp.MOST_NUMBERS_AT_ONCE", {False: 1, True: 1})
        one_by_one = model(asked, world.graph)
        order = torch.randperm(len(asked))
        shuffled = model(asked[order], world.graph)
    torch.testing.assert_close(one_by_one, together)
    torch.testing.assert_close(shuffled, together[order])
    assert model(asked[:0], world.graph).shape == (0, 6)


# --- training -------------------------------------------------------------------------------


def fold_mates(world: World, facts: list[Fact], fact: Fact, folds: Folds) -> list[Fact]:
    """The facts of the same time and fold, the fact itself among them."""
    of = [int(folds.of_facts(*torch.tensor([one]).T)) for one in (fact, *facts)]
    same = [one for one, fold in zip(facts, of[1:], strict=True) if fold == of[0]]
    return [one for one in same if one[3] == fact[3]]


@pytest.mark.parametrize("options", [{}, PLAIN, {"folds": 3}, {"released_activity": True}], ids=str)
@pytest.mark.parametrize("name", NAMES)
@few
@given(worlds(min_facts=2))
def test_a_training_query_sees_all_but_its_own_fold(
    name: str, options: dict[str, Any], world: World
) -> None:
    facts = world.facts
    model = model_of(name, world, **options | {"dropout": 0.0}).train()
    asked, answers = asked_about(world, facts)
    sample = model.sample(asked, answers, world.graph, torch.full((len(asked),), 5))
    found = model.score(asked, sample).detach()
    folds, told = Folds(model.settings.folds, torch.tensor(5)), []
    if model.settings.released_activity:
        told = facts
    for row, (fact, s, r, t) in enumerate(
        zip(facts * 2, *(column.tolist() for column in asked.tensors()), strict=True)
    ):
        hidden = fold_mates(world, facts, fact, folds)
        seen = [one for one in facts if one not in hidden]
        # An empty snapshot is none; but the released code knows of it.
        expected = temp_scores(model, ticks_of(world), seen, (s, r, t), also_active=told)
        torch.testing.assert_close(found[row], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("released_loss", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_leaving_out_its_own_fact_changes_nothing_for_a_query_unless_it_leaks(
    name: str, released_loss: bool
) -> None:
    facts = [(s, s % 2, (2 * s + t) % 7, t) for t in range(4) for s in range(7)]
    world = World(7, 2, facts, cuts=(len(facts), len(facts)))
    model = model_of(name, world, released_loss=released_loss).train()
    seeds = torch.full((1,), 3)
    changed = []
    for fact in facts:
        left = [one for one in facts if one != fact]
        for side in range(2):
            one, own = (part[side : side + 1] for part in asked_about(world, [fact]))
            samples = [
                model.sample(one, own, graph_of(world, some), seeds) for some in (facts, left)
            ]
            scores = [model.score(one, sample) for sample in samples]
            changed.append(not torch.allclose(*scores))
    assert any(changed) == released_loss
    # Half of the facts are shown and asked about.
    assert not all(changed)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_among_the_sampled_entities_that_are_no_answers(name: str) -> None:
    facts = [(s, 0, o, t) for s in range(4) for o in range(5) for t in range(3) if (s + o + t) % 2]
    world = World(40, 1, facts, cuts=(len(facts), len(facts)))
    model = model_of(name, world, negatives=6).train()
    asked, answers = asked_about(world, facts)
    sample = model.sample(asked, answers, world.graph, torch.full((len(asked),), 1))
    scores = model.score(asked, sample).detach()
    known = KnownAnswers.of(world.graph, "time-aware").others(asked, answers)
    for others in (None, known):
        total = 0.0
        for row, answer in enumerate(answers.tolist()):
            out = {answer} | set([] if others is None else others[row].tolist())
            rivals = [scores[row, e].item() for e in sample.negatives[row].tolist() if e not in out]
            total += softmax_cost(scores[row, answer].item(), rivals)
        found = model.loss(asked, answers, sample, others)
        assert found.item() == pytest.approx(total / len(answers))


@pytest.mark.parametrize("options", [{}, {"released_absence": True}, {"negatives": 3}], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str, options: dict[str, Any]) -> None:
    if name == "temp-sa" and "released_absence" in options:
        pytest.skip("attention has no state")
    facts = [(s, s % 2, (2 * s + t) % 5, t) for t in range(4) for s in range(5) if (s + t) % 3]
    world = World(6, 2, facts, cuts=(len(facts), len(facts)))
    model = model_of(name, world, window=3, **options).train()
    asked, answers = asked_about(world, facts)
    sample = model.sample(asked, answers, world.graph, torch.zeros(len(asked), dtype=torch.long))
    names, weights = zip(*model.named_parameters(), strict=True)

    def loss(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        with torch.nn.utils.stateless._reparametrize_module(model, given):
            return model.loss(asked, answers, sample)

    assert torch.autograd.gradcheck(loss, weights, fast_mode=True)
    loss(*weights).backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in weights)


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_drawn_by_the_seed_and_scales_what_it_keeps(name: str) -> None:
    facts = [(s, 0, (s + 1 + t % 2) % 9, t) for t in range(5) for s in range(9)]
    world = World(9, 1, facts, cuts=(len(facts), len(facts)))
    model = model_of(name, world, dim=32, dropout=0.4).train()
    asked, answers = asked_about(world, facts)

    def sampled(seed: int, rows: slice = slice(None)) -> Any:
        seeds = torch.full((len(asked[rows]),), seed)
        return model.sample(asked[rows], answers[rows], world.graph, seeds)

    one, other = sampled(1), sampled(2)
    assert torch.equal(one.kept, sampled(1).kept)
    assert not torch.equal(one.kept, other.kept)
    assert one.kept.double().mean() == pytest.approx(0.6, abs=0.02)
    # A process that has only some of the queries draws the same for them.
    some = slice(0, None, 3)
    whole = model.score(asked, one)[some]
    torch.testing.assert_close(model.score(asked[some], sampled(1, some)), whole)


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_who_meets_whom_on_which_day(name: str) -> None:
    """The partner changes every six days, and each day shows some of it."""
    data = planted(lambda s, r, t: (s + 1 + 2 * (t // 6)) % 12, num_relations=2)
    options = {"dim": 16, "window": 4, "epochs": 30, "learning_rate": 0.03, "batch_size": 512}
    run = fit(data, name, device="cpu", validate_every=30, **options)
    report = evaluate(run, device="cpu")
    assert report.metrics["time-aware"]["both"]["mrr"] > 0.6


def test_knowing_who_is_active_on_the_test_day_is_a_leak() -> None:
    """Two new partners meet on the last day, of which the context says nothing."""
    facts = [(s, 0, (s + 1) % 4, t) for t in range(4) for s in range(4)]
    one, other = (World(9, 1, [*facts, (4, 0, end, 3)], cuts=(16, 16)) for end in (5, 6))
    for leaks in (False, True):
        scores = []
        for world in (one, other):
            model = model_of("temp-sa", world, released_activity=leaks, gating=False).eval()
            with torch.no_grad():
                scores.append(model(queries_of([(4, 0, 3)]), graph_of(world, world.train)))
        assert torch.equal(*scores) != leaks


@pytest.mark.parametrize("name", NAMES)
def test_figures_that_a_leak_has_part_in_say_so(name: str, tmp_path: Path) -> None:
    options = {"dim": 8, "epochs": 1, "device": "cpu"}
    honest = fit(DATA, name, **options)
    leaky = fit(DATA, name, out=tmp_path / "run", released_activity=True, **options)
    told = "a leak: the model was told who takes part in the facts of every split"
    assert [note.startswith(told) for note in evaluate(leaky, device="cpu").notes] == [True]
    assert told in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert evaluate(honest, device="cpu").notes == ()
    table = comparison_table(compare({"leaky": leaky, "honest": honest}, device="cpu"))
    assert [note.partition(" (")[0] for note in table.notes[1:]] == [f"leaky: {told}"]
    models = {"leaky": leaky.model, "honest": honest.model}
    for weight in (0.5, 0.0):
        fused = Fused(FusedSettings({"leaky": weight, "honest": 0.5}), DATA, models)
        assert len(fused.leaks) == (weight > 0)


# --- sizes and settings ---------------------------------------------------------------------


def test_parameters_are_the_published_ones_less_those_that_nothing_reads() -> None:
    """611,840, 1,264,640 and, with blocks of 2 × 2, 2,928,640 on ICEWS14 for TeMP-SA.

    The released code has rows for reciprocal relations that no fact has (in both layers and in the
    decoder), and a second table of times.
    """
    facts = [(0, 0, 1, t) for t in range(365)]
    world = World(7128, 230, facts, cuts=(365, 365)).dataset
    published = {"imputation": False, "gating": False, "learned_decay": False}
    for dim, of_released in ((64, 611_840), (128, 1_264_640)):
        model = create("temp-sa", world, published | {"dim": dim})
        assert model.num_parameters == of_released - (3 * 230 + 365) * dim
    blocks_of_two = 2 * 460 * 256
    larger = create("temp-sa", world, published | {"dim": 256})
    assert larger.num_parameters == 2_928_640 - blocks_of_two - (3 * 230 + 365) * 256
    # On ICEWS05-15 the papers count 148,768 more for TeMP-GRU, whose gates have 16 each.
    gru = create("temp-gru", world, published | {"gating": True}).num_parameters
    assert gru - model.num_parameters == 148_768


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("temp-gru", {"dim": 5}, "dim is 5, but complex numbers need an even one"),
        ("temp-sa", {"dim": 12}, "dim is 12, which 8 heads cannot share equally"),
        ("temp-sa", {"window": 0}, "window is 0; at least 1 was expected"),
        ("temp-gru", {"folds": 1}, "folds is 1; at least 2 was expected"),
        ("temp-gru", {"dropout": 1.0}, "dropout is 1.0; 0 up to below 1 was expected"),
    ],
)
def test_bad_settings_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create(name, World(3, 1, [(0, 0, 1, 0)]).dataset, options)
