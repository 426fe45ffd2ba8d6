"""The factorisation models against their papers' formulas, taken number by number."""

import re
import signal
import sys
import textwrap
from copy import deepcopy
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings

import targcn
from oracle import (
    Fact,
    Query,
    World,
    checked,
    factorized,
    queries_of,
    roughness,
    with_reciprocals,
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
)
from targcn.errors import InputError
from targcn.graph.columns import Columns
from targcn.models.factorization import TimeTable, learned_ticks
from targcn.models.registry import MODELS, ModelEntry
from targcn.training.fit import resume
from targcn.training.loop import TrainingStopped
from targcn.training.optimizers import CapturableAdagrad, set_learning_rate

STATIC = ["distmult", "complex", "simple"]
TEMPORAL = ["tcomplex", "tntcomplex", "chronor", "telm", "teast", "tcompounde"]
NAMES = STATIC + TEMPORAL

WORLD = World(7, 2, [(n % 6, n % 2, n * n % 5, n * n % 41) for n in range(60)])
TICKS = sorted({t for _, _, _, t in WORLD.facts})
# Both directions; entity 6 has no facts; times lie before, at, between and after the known ones.
QUERIES = [(n % 7, n % 4, n * 5 % 47 - 4) for n in range(20)]
FACTS = with_reciprocals(WORLD.facts, 2)
# TeLM's warm-up would be longer than these trainings.
OWN: dict[str, dict[str, Any]] = {name: {} for name in NAMES} | {"telm": {"warm_up": 0}}
REGULARISED = {"factor_weight": 0.3, "time_weight": 0.2}


def build(name: str, world: World = WORLD, **options: Any) -> Any:
    """A model in double precision with large weights, without regularisers and warm-up."""
    plain = {"dim": 4, "init_scale": 0.7, "factor_weight": 0.0, "time_weight": 0.0} | OWN[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = create(name, world.dataset, plain | options).double()
        if name == "telm":
            torch.nn.init.normal_(model.step)
    return model


def scores_of(model: Any, queries: list[Query], world: World = WORLD) -> torch.Tensor:
    with torch.no_grad():
        return model(queries_of(queries), world.graph)


def slow_scores(
    name: str, model: Any, queries: list[Query], world: World = WORLD
) -> list[list[float]]:
    ticks = sorted({fact[3] for fact in world.train or world.facts})
    return [
        [factorized(name, model, ticks, (s, r, o, t))[0] for o in range(world.num_entities)]
        for s, r, t in queries
    ]


def loss_of(model: Any, facts: list[Fact]) -> torch.Tensor:
    queries = queries_of([(s, r, t) for s, r, _, t in facts])
    return model.loss(queries, torch.tensor([o for _, _, o, _ in facts]), Columns())


# --- the formulas ---------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_scores_follow_the_formula(name: str, dim: int) -> None:
    model = build(name, dim=dim)
    expected = torch.tensor(slow_scores(name, model, QUERIES), dtype=torch.float64)
    torch.testing.assert_close(scores_of(model, QUERIES), expected)


@pytest.mark.parametrize("name", NAMES)
@settings(checked, max_examples=12)
@given(drawn=worlds_with_queries(min_facts=1))
def test_scores_follow_the_formula_in_any_world(
    name: str, drawn: tuple[World, list[Query]]
) -> None:
    """A single time, a single entity, times far outside the timeline."""
    world, queries = drawn
    model = build(name, world, dim=2)
    expected = torch.tensor(slow_scores(name, model, queries, world), dtype=torch.float64)
    torch.testing.assert_close(scores_of(model, queries, world), expected)


# --- the loss -------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [None, 2, 5])
@pytest.mark.parametrize(("factor_weight", "time_weight"), [(0, 0), (0.3, 0), (0, 0.2), (0.3, 0.2)])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_cross_entropy_and_the_regularisers(
    name: str, factor_weight: float, time_weight: float, power: int | None
) -> None:
    options = {"factor_weight": factor_weight, "time_weight": time_weight}
    model = build(name, **options, **({} if power is None else {"power": power}))
    power = power or (4 if name == "chronor" else 3)
    # Also between two times and outside them, some of it twice.
    batch = [(s, r, n % 7, t) for n, (s, r, t) in enumerate(QUERIES)] + FACTS[:8] + FACTS[4:8]
    expected = 0.0
    for fact in batch:
        s, r, o, t = fact
        scores = torch.tensor(slow_scores(name, model, [(s, r, t)]), dtype=torch.float64)
        _, sizes = factorized(name, model, TICKS, fact)
        cost = float(scores.logsumexp(1) - scores[0, o])
        expected += (cost + factor_weight * sum(size**power for size in sizes)) / len(batch)
    if name in TEMPORAL:
        expected += time_weight * roughness(name, model, power)
    assert float(loss_of(model, batch).detach()) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_batch_have_its_loss_on_average(name: str) -> None:
    model, batch = build(name, **REGULARISED), FACTS[:20]
    parts = loss_of(model, batch[:13]) * 13 / 20 + loss_of(model, batch[13:]) * 7 / 20
    torch.testing.assert_close(parts, loss_of(model, batch))


@pytest.mark.parametrize("options", [{}, REGULARISED], ids=["plain", "regularised"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_and_reach_every_row(name: str, options: dict[str, float]) -> None:
    model = build(name, **options)
    loss_of(model, FACTS).backward()
    for table, weight in model.named_parameters():
        if not weight.requires_grad:
            assert weight.grad is None, table
            continue
        # One without a gradient would stop several processes that train together.
        assert weight.grad is not None, table
        assert weight.grad.isfinite().all(), table
        assert (weight.grad.abs().sum(-1) > 0).all(), table


@pytest.mark.parametrize("power", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_are_zero_have_a_gradient(name: str, power: int) -> None:
    for left in (None, "entities", "relations", "times.rows"):
        model = build(name, power=power, **REGULARISED)
        for table, weight in model.named_parameters():
            if table != left:
                torch.nn.init.zeros_(weight)
        loss_of(model, FACTS).backward()
        assert all(weight.grad.isfinite().all() for weight in model.parameters())


# --- times ----------------------------------------------------------------------------------


def table_of(ticks: list[int]) -> TimeTable:
    world = World(2, 1, [(0, 0, 1, tick) for tick in ticks])
    rows = torch.randn(len(ticks), 3, generator=torch.Generator().manual_seed(0))
    rows = torch.nn.Parameter(rows, requires_grad=False)
    return TimeTable(learned_ticks(world.dataset), rows)


def test_of_intervals_the_known_ends_are_learned() -> None:
    facts = [(0, 0, 1, 3, 9), (0, 0, 1, -1, 4), (0, 0, 1, 4, -1), (0, 0, 1, 20, 30)]
    assert learned_ticks(World(2, 1, facts, cuts=(3, 3)).dataset).tolist() == [3, 4, 9]


def test_a_known_time_is_its_own_row() -> None:
    table = table_of([-5, 0, 1, 3, 30, 1000, 10**9])
    assert torch.equal(table(table.ticks), table.rows)
    assert torch.equal(table(table.ticks.flip(0)), table.rows.flip(0))


def test_a_time_between_two_known_ones_is_between_their_rows() -> None:
    table = table_of([0, 10, 14, 10**6])
    found = table(torch.tensor([1, 5, 9, 11, 12, 10**6 - 1]))
    places = [(0, 0.1), (0, 0.5), (0, 0.9), (1, 0.25), (1, 0.5), (2, 1 - 1 / (10**6 - 14))]
    rows = table.rows
    expected = torch.stack([rows[n] * (1 - share) + rows[n + 1] * share for n, share in places])
    torch.testing.assert_close(found, expected)


def test_a_time_outside_the_known_ones_takes_the_nearest_row() -> None:
    table = table_of([3, 10, 14])
    before, after = torch.tensor([2, -1, -(10**12)]), torch.tensor([15, 40, 10**12])
    assert torch.equal(table(before), table.rows[:1].expand(3, -1))
    assert torch.equal(table(after), table.rows[-1:].expand(3, -1))


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_of_a_single_time_can_be_learned(name: str) -> None:
    world = World(3, 1, [(0, 0, 1, 5), (1, 0, 2, 5), (2, 0, 0, 5)], cuts=(3, 3))
    model = build(name, world, **REGULARISED)
    facts = with_reciprocals(world.facts, 1)
    loss = loss_of(model, facts)
    loss.backward()
    assert loss.isfinite()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())
    scores = scores_of(model, [(0, 0, time) for time in (-9, 5, 400)], world)
    assert torch.equal(scores, scores[:1].expand(3, -1))


ASKED = World(6, 2, [(n % 5, n % 2, n * n % 6, n * 4 % 11 * 3) for n in range(30)], cuts=(24, 27))


# --- training -------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "dim": 16,
    "factor_weight": 0.001,
    "epochs": 2,
    "batch_size": 20,
    "learning_rate": 0.1,
    "optimizer": "adagrad",
    "schedule": "constant",
    "validate_every": 1,
    "patience": 0,
    "device": "cpu",
}


@pytest.mark.parametrize("name", NAMES)
def test_what_changes_with_time_is_learned_by_who_knows_it(name: str) -> None:
    """Everyone changes partners halfway; who knows no time is right about every second time."""
    data = planted(lambda s, r, t: s ^ (1 if t < 12 else 2), 1)
    found = mrr(targcn.fit(data, name, **SMALL | OWN[name] | {"epochs": 5}))
    assert found > 0.95 if name in TEMPORAL else 0.6 < found < 0.85


# --- runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_its_rows_whatever_split_it_is_in(name: str) -> None:
    """Entity 4 and relation 2 stand in the test split alone, others in the valid one."""
    facts = [(0, 0, 1, 0), (1, 0, 2, 2), (3, 1, 0, 5), (0, 2, 4, 9)]
    world = World(5, 3, facts, cuts=(2, 3))
    run = targcn.fit(world.dataset, name, **SMALL | OWN[name] | {"dim": 4})
    model = run.model
    assert len(model.entities) == 5
    assert len(model.relations) == (3 if name == "simple" else 6)
    assert targcn.evaluate(run, device="cpu").num_queries == 2
    assert scores_of(model, [(4, 5, 9)], world).shape == (1, 5)


# --- TeLM's warm-up -------------------------------------------------------------------------


def quarters(rows: torch.Tensor) -> torch.Tensor:
    """The parts 1, e₁, e₂ and e₁₂ of each row."""
    return rows.detach().view(-1, 4, rows.shape[-1] // 4)


def warming_up(**options: Any) -> Any:
    """A model in the last epoch of its warm-up."""
    model = build("telm", warm_up=3, **options)
    model.start_epoch(2)
    return model


def test_telm_is_tcomplex_while_it_warms_up() -> None:
    model = warming_up()

    def complex_rows(rows: torch.Tensor) -> torch.Tensor:
        return quarters(rows)[:, [0, 3]].flatten(1)

    alike = SimpleNamespace(
        entities=complex_rows(model.entities),
        relations=complex_rows(model.relations),
        times=SimpleNamespace(rows=complex_rows(model.times.rows)),
    )
    expected = torch.tensor(slow_scores("tcomplex", alike, QUERIES), dtype=torch.float64)
    torch.testing.assert_close(scores_of(model, QUERIES), expected)
    model.start_epoch(3)
    expected = torch.tensor(slow_scores("telm", model, QUERIES), dtype=torch.float64)
    torch.testing.assert_close(scores_of(model, QUERIES), expected)
    assert not torch.isclose(scores_of(model, QUERIES), scores_of(warming_up(), QUERIES)).any()


@pytest.mark.parametrize("options", [{}, REGULARISED], ids=["plain", "regularised"])
def test_the_loss_of_a_warm_up_is_that_of_numbers_without_these_parts(
    options: dict[str, float],
) -> None:
    model = warming_up(**options)
    without = deepcopy(model)
    without.start_epoch(3)
    for rows in (without.relations, without.times.rows, without.step):
        quarters(rows)[:, 1:3] = 0
    torch.testing.assert_close(loss_of(model, FACTS), loss_of(without, FACTS))


# All its facts are learned, and without a valid split the last weights are kept.
LEARNED = World(ASKED.num_entities, ASKED.num_relations, ASKED.facts, cuts=(30, 30))
WARM = SMALL | REGULARISED | {"dim": 4, "init_scale": 0.3}


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_a_warm_up_leaves_alone_what_does_not_count(optimizer: str) -> None:
    options = WARM | {"optimizer": optimizer, "learning_rate": 1e-12, "warm_up": 2}
    untouched = targcn.fit(LEARNED.dataset, "telm", **options | {"epochs": 1})
    options["learning_rate"] = 0.1
    warm = targcn.fit(LEARNED.dataset, "telm", **options | {"epochs": 2})
    after = targcn.fit(LEARNED.dataset, "telm", **options | {"epochs": 3})
    tables = zip(*(run.model.named_parameters() for run in (untouched, warm, after)), strict=True)
    for (name, first), (_, second), (_, third) in tables:
        before, during, later = map(quarters, (first, second, third))
        assert torch.equal(during[:, 1:3], before[:, 1:3]), name
        assert ((during - before)[:, [0, 3]].abs() > 1e-6).all(), name
        assert ((later - during).abs() > 1e-6).all(), name


@pytest.mark.parametrize("warm_up", [1, 2, 3])
def test_a_run_stopped_around_its_warm_up_goes_on_as_if_it_had_not_been(
    warm_up: int, tmp_path: Path
) -> None:
    """It is stopped in its second epoch: just after the warm-up, at its end, and within."""
    options = WARM | {"epochs": 4, "warm_up": warm_up}
    whole = targcn.fit(LEARNED.dataset, "telm", **options)
    stop = stop_at((1, 0), signal.SIGINT)
    with pytest.raises(TrainingStopped):
        targcn.fit(LEARNED.dataset, "telm", out=tmp_path / "run", progress=stop, **options)
    tensors, position = saved_state(tmp_path / "run")
    assert (position["epoch"], position["step"]) == (1, 1)
    warm = [1, 0, 0, 1] if warm_up > 1 else [1, 1, 1, 1]
    assert tensors["model/in_use"].tolist() == warm
    assert same_weights(resume(tmp_path / "run", device="cpu"), whole)
    assert whole.model.in_use.tolist() == [1, 1, 1, 1]


# --- steps ----------------------------------------------------------------------------------


@pytest.mark.slow
@needs_a_compiler
def test_adagrad_in_kernels_that_torch_writes_is_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Mock(wraps=torch.compile)
    monkeypatch.setattr(torch, "compile", spy)
    torch.compiler.reset()
    # Its tables are of one shape, so that one kernel has to be written.
    world = World(8, 4, WORLD.facts)
    models = [build("distmult", world, **REGULARISED) for _ in range(2)]
    ours = CapturableAdagrad(models[0].parameters(), torch.tensor(0.1), compile=True)
    theirs = torch.optim.Adagrad(models[1].parameters(), lr=0.1)
    for number in range(12):
        for model, optimizer in zip(models, (ours, theirs), strict=True):
            set_learning_rate(optimizer, 0.1 / (1 + number // 3))
            optimizer.zero_grad()
            loss_of(model, FACTS[number : number + 7]).backward()
            optimizer.step()
    spy.assert_called_once()
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(ours.state[one]["sum"], theirs.state[other]["sum"])
        assert ours.state[one].keys() == theirs.state[other].keys()


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tcomplex", {"dim": 0}, "dim is 0; at least 1 was expected"),
        ("tcomplex", {"power": 1}, "power is 1; at least 2 was expected"),
        ("distmult", {"factor_weight": -0.1}, "factor_weight is -0.1; it cannot be negative"),
        ("distmult", {"time_weight": -1}, "time_weight is -1.0; it cannot be negative"),
        ("tcomplex", {"init_scale": -1}, "init_scale is -1.0; it cannot be negative"),
        ("chronor", {"dim": 1}, "dim is 1; relation and time need at least 1 number each"),
        ("telm", {"warm_up": -1}, "warm_up is -1; it cannot be negative"),
        ("telm", {"warm_up": 0.5}, "telm.warm_up is 0.5; a whole number"),
        ("telm", {"factor_wait": 1}, "factor_wait is unknown; did you mean 'factor_weight'?"),
    ],
)
def test_settings_out_of_range_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        create(name, WORLD.dataset, options)


def test_the_model_that_the_docs_add_can_be_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file, its line and its recipe as the page has them, and nothing else."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    source, file = (
        textwrap.dedent(page.split(f"```{kind}\n")[1].split("```")[0])
        for kind in ("python", "toml")
    )
    (line,) = re.findall(r"`\"mine\": (ModelEntry\(.+\)),`", page)
    module = ModuleType("targcn.models.mine")
    exec(source, module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(MODELS, "mine", eval(line, {"ModelEntry": ModelEntry}))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "default.toml").write_text(file, encoding="utf-8")
    monkeypatch.setattr("targcn.recipes.recipe.FOLDER", tmp_path)
    planted = World(6, 1, [(n % 6, 0, (n + 1) % 6, n % 4) for n in range(48)], cuts=(36, 42))
    run = targcn.fit(planted.dataset, "mine", device="cpu")
    assert (run.recipe.training.epochs, run.recipe.about) == (40, "a start for any data")
    assert targcn.evaluate(run, split="train", context="train").metrics["raw"]["both"]["mrr"] > 0.6
