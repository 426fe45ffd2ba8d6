"""Tables sharded over processes: what one process holds, and the same weights as one has."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import World
from process_groups import FAILING, Start
from small_training import FACTS, NEXT, same_weights, saved_state, trace_of
from targcn.bench.generated_data import Shape, generate
from targcn.errors import InputError
from targcn.models.registry import MODELS
from targcn.recipes.recipe import find_recipe
from targcn.runs.store import load_run

pytestmark = pytest.mark.slow


# --- rows and products ----------------------------------------------------------------------

# What every process works out from all that each of them asks, with the whole table.
COMPARED = """
import torch
from targcn.distributed import join_process_group, own_rows, rows_here
from targcn.models.layers import sharded_tables as tables
from targcn.models.layers.sharded_tables import *

with join_process_group("cpu") as (processes, device):
    tables.ROWS_AT_ONCE = 16
    for number, (num_entities, dim, seed, asked, counts) in enumerate({cases}):
        torch.manual_seed(seed)
        whole, whole_bias = torch.randn(num_entities, dim), torch.randn(num_entities)
        torch.manual_seed(seed)
        with sharded_tables(processes, device):
            table = entity_table(num_entities, lambda count: torch.randn(count, dim))
            bias = entity_table(num_entities, lambda count: torch.randn(count))
        here = rows_here(table)
        assert torch.equal(own_rows(table), whole[here.start : here.stop])
        assert torch.equal(own_rows(bias), whole_bias[here.start : here.stop])
        assert len(own_rows(table)) <= -(-num_entities // processes.size)
        whole, whole_bias = whole.requires_grad_(), whole_bias.requires_grad_()
        torch.manual_seed(seed)
        vectors = [torch.randn(counts[one], dim, requires_grad=True) for one in range({size})]
        ids = [torch.tensor(asked[one], dtype=torch.int64) for one in range({size})]
        of_rows = [torch.randn(len(one), dim) for one in ids]
        of_bias = [torch.randn(len(one)) for one in ids]
        of_products = [torch.randn(len(one), num_entities) for one in vectors]

        def total(one, vectors, table, bias):
            places, rows, row_bias = needed_rows(ids[one], table, bias)
            products = products_with_all(vectors, table, bias)
            plain = products_with_all(vectors, table)
            seen = rows[places], row_bias[places], products, plain
            weights = of_rows[one], of_bias[one], of_products[one], of_products[one].flip(0)
            return seen, sum((a * b).sum() for a, b in zip(seen, weights))

        expected = [total(one, vectors[one], whole, whole_bias) for one in range({size})]
        sum(loss for _, loss in expected).backward()
        own = vectors[rank].detach().requires_grad_()
        seen, loss = total(rank, own, table, bias)
        loss.backward()
        for ours, theirs in zip(seen, expected[rank][0]):
            torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(own.grad, vectors[rank].grad)
        for ours, theirs in ((table, whole), (bias, whole_bias)):
            assert ours.grad.shape == theirs.shape
            mine = theirs.grad[here.start : here.stop]
            torch.testing.assert_close(own_rows(ours.grad), mine, rtol=1e-4, atol=1e-5)
"""


@st.composite
def sharded_cases(draw: st.DrawFn, size: int) -> Any:
    num_entities = draw(st.integers(1, 40))
    ids = st.lists(st.integers(0, num_entities - 1), max_size=6)
    asked = draw(st.lists(ids, min_size=size, max_size=size))
    counts = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    return num_entities, draw(st.integers(0, 5)), draw(st.integers(0, 99)), asked, counts


@pytest.mark.parametrize("size", [2, 3])
def test_rows_and_products_are_those_of_the_whole_table(size: int, start: Start) -> None:
    @settings(max_examples=10)
    @given(st.lists(sharded_cases(size), min_size=1, max_size=10))
    def compare(cases: list[Any]) -> None:
        # Fewer entities than processes, nobody asks, everybody the same.
        none, same = [[] for _ in range(size)], [[1, 0, 1]] * size
        given = [(1, 3, 0, [[0]] * size, [1] * size), (2, 1, 0, none, [0] * size), *cases]
        given += [(31, 2, 0, same, range(size))]
        code = COMPARED.replace("{cases}", repr(given)).replace("{size}", str(size))
        codes, _, complaints = start(size, before=code)
        assert codes == [0] * size, complaints

    compare()


# --- training -------------------------------------------------------------------------------

HOW: dict[str, Any] = {
    "epochs": 3,
    "batch_size": 64,
    "learning_rate": 0.02,
    "validate_every": 1,
    "device": "cpu",
    "shard_tables": True,
}
EVIDENCE = HOW | {"model": "evidence", "dim": 4, "prior_dim": 5, "prior_dropout": 0.1}
TARGCN = HOW | {"model": "targcn", "dim": 8, "neighbors": 6}
SAMPLED = EVIDENCE | {"candidates": 8}
# Of tiny vectors the first gradients are tiny too, and Adagrad's first step is their sign.
FACTORS = HOW | {"model": "tntcomplex", "dim": 6, "optimizer": "adagrad", "init_scale": 0.3}


def flags(options: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4 processes hold 8, 8, 8 and 6 of its entities and validate 22, 22, 21 and 21 queries."""
    folder = tmp_path_factory.mktemp("data") / "world"
    World(30, 3, FACTS[:270] + NEXT + FACTS[270:], cuts=(405, 448)).dataset.save(folder)
    return folder


def train(
    start: Start, size: int, data: Path, out: Path, options: dict[str, Any], **how: Any
) -> Path:
    codes, printed, complaints = start(size, "train", data, *flags(options | {"out": out}), **how)
    assert codes == [0] * size, complaints
    assert "queries, valid split" in printed[0]
    assert printed[1:] == [""] * (size - 1)
    return out


def assert_close(one: Path, other: Path) -> None:
    """Equal but for the order in which floating point numbers were added up."""
    ours, theirs = (load_run(folder).model.state_dict() for folder in (one, other))
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=0, atol=1e-5)
    for here, there in zip(trace_of(one), trace_of(other), strict=True):
        if "valid" in here:
            ours, theirs = (line["valid"]["time-aware"]["both"] for line in (here, there))
            assert ours == pytest.approx(theirs, abs=1e-3)
        else:
            assert here["loss"] == pytest.approx(there["loss"], rel=1e-5)


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        (EVIDENCE, [4]),
        (SAMPLED | {"clip": 0.05}, [2, 4]),
        (SAMPLED | {"prior_dim": 0, "filtered_loss": True}, [2]),
        (EVIDENCE | {"prior_dim": 0, "against": True}, [2]),
        (FACTORS, [2, 4]),
        (FACTORS | {"model": "telm", "warm_up": 1, "clip": 0.1}, [2]),
        (FACTORS | {"model": "distmult", "optimizer": "adam", "weight_decay": 0.01}, [2]),
        (TARGCN, [4]),
        (TARGCN | {"steps": 2, "neighbors": 3, "decoder": "complex"}, [2]),
    ],
)
def test_any_number_of_processes_trains_like_one(
    options: dict[str, Any], sizes: list[int], start: Start, data: Path, tmp_path: Path
) -> None:
    for size in (1, *sizes):
        train(start, size, data, tmp_path / str(size), options | {"epochs": 2})
        assert_close(tmp_path / "1", tmp_path / str(size))


def test_processes_may_have_to_ask_at_different_numbers_of_times(
    start: Start, tmp_path: Path
) -> None:
    """Facts that hold over intervals are asked about at each of their ticks, or at some of them."""
    generate(Shape(300, 20, 2, 30, longest=9)).save(tmp_path / "data")
    options = SAMPLED | {"epochs": 1, "batch_size": 63}
    for size in (1, 3):
        train(start, size, tmp_path / "data", tmp_path / str(size), options)
    assert_close(tmp_path / "1", tmp_path / "3")


# 810 queries are 13 steps an epoch. At one of them some process is signalled, or killed.
AT_A_STEP = """
rate_of = training.learning_rate

def signalled(settings, step, num_steps):
    if (rank, step) == {moment}:
        os.kill(os.getpid(), {signal})
    return rate_of(settings, step, num_steps)

training.learning_rate = signalled
"""


@pytest.fixture(scope="module")
def two(start: Start, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training by two processes, never stopped."""
    return train(start, 2, data, tmp_path_factory.mktemp("two") / "run", SAMPLED)


@pytest.mark.parametrize(
    ("moment", "number", "stopped_at"),
    [((1, 17), signal.SIGTERM, (1, 7)), ((1, 28), signal.SIGKILL, (2, 0))],
)
def test_what_is_stopped_and_resumed_equals_what_was_not(
    moment: tuple[int, int],
    number: signal.Signals,
    stopped_at: tuple[int, int],
    start: Start,
    data: Path,
    two: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    before = "training.STEPS_BETWEEN_AGREEMENTS = 4\n"
    before += AT_A_STEP.format(moment=moment, signal=int(number))
    codes, _, _ = start(2, "train", data, *flags(SAMPLED | {"out": run}), before=before)
    assert codes == [130, 130] if number == signal.SIGTERM else codes[1] == -number
    _, position = saved_state(run)
    assert (position["epoch"], position["step"]) == stopped_at
    assert start(2, "train", "--resume", run, "--device=cpu")[0] == [0, 0]
    assert same_weights(load_run(run), load_run(two))
    (ours, here), (theirs, there) = saved_state(run), saved_state(two)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours | theirs)
    assert here | {"seconds": 0} == there | {"seconds": 0}
    assert trace_of(run) == trace_of(two)


@pytest.mark.parametrize("size", [1, 3])
def test_another_number_of_processes_can_go_on(
    size: int, start: Start, data: Path, two: Path, tmp_path: Path
) -> None:
    run, options = tmp_path / "run", SAMPLED | {"batch_size": 66, "out": tmp_path / "run"}
    before = AT_A_STEP.format(moment=(1, 17), signal=int(signal.SIGTERM))
    assert start(2, "train", data, *flags(options), before=before)[0] == [130, 130]
    assert start(size, "train", "--resume", run, "--device=cpu")[0] == [0] * size
    whole = train(start, 1, data, tmp_path / "one", options | {"out": tmp_path / "one"})
    assert_close(run, whole)


def test_the_folder_is_that_of_any_run(start: Start, data: Path, two: Path) -> None:
    """The same files, whole tables in them, and the same figures, whoever evaluates."""
    [one] = start(1, "evaluate", two, "--json")[1]
    of_several, nothing = start(2, "evaluate", two, "--json", before=IS_SHARED)[1]
    expected, found = (json.loads(text)["metrics"]["static"] for text in (one, of_several))
    for side in expected:
        assert found[side] == pytest.approx(expected[side], abs=1e-3)
    assert nothing == ""
    asked = ("evaluate", two, "--json", "--ask=relation", "--queries=5")
    assert start(2, *asked)[1] == [start(1, *asked)[1][0], ""]
    restarted = "os.environ['TORCHELASTIC_RESTART_COUNT'] = '1'"
    begun_again = ("train", data, *flags(SAMPLED | {"out": two}))
    for command in (("train", "--resume", two, "--device=cpu"), begun_again):
        codes, shown, _ = start(2, *command, before=restarted)
        assert codes == [0, 0]
        assert "86 queries, valid split" in shown[0]
    tensors, _ = saved_state(two)
    assert tensors["model/prior_objects"].shape == (30, 5)
    kept = [value for name, value in tensors.items() if name.endswith("exp_avg")]
    assert sum(value.shape[:1] == (30,) for value in kept) == 3


IS_SHARED = """
ranks = evaluation.Evaluator.ranks

def checked(self, model, progress):
    assert model.sharded_over.size == 2
    return ranks(self, model, progress)

evaluation.Evaluator.ranks = checked
"""
HELD = """
finish = training.Trainer._finish

def held(self):
    of_optimizer = [one for state in self.optimizer.state.values() for one in state.values()]
    of_model = [*self.model.weights_here().values(), *self.best_weights.values()]
    rows = [len(one) for one in (*of_optimizer, *of_model) if one.dim()]
    assert max(rows) == 13, rows
    return finish(self)

training.Trainer._finish = held
"""


def test_no_process_holds_a_whole_table(start: Start, tmp_path: Path) -> None:
    """26 entities, of which each of two holds 13; there is less of anything else."""
    facts = [(s, 0, (s + 1 + t) % 26, t) for t in range(6) for s in range(26)]
    World(26, 1, facts, cuts=(110, 130)).dataset.save(tmp_path / "data")
    options = FACTORS | {"epochs": 1, "validate_every": 1}
    train(start, 2, tmp_path / "data", tmp_path / "run", options, before=HELD)


# --- what goes wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rank", "what"),
    [
        (0, "fitting.save_run"),
        (0, "training.write_state"),
        (0, "training.write_result"),
        (1, "evaluation.rank_targets.__globals__['require_numbers']"),
    ],
)
def test_what_one_cannot_do_ends_all(
    rank: int, what: str, start: Start, data: Path, tmp_path: Path
) -> None:
    """Also while the others send their rows, or score together with it."""
    before = FAILING.format(rank, what)
    command = ["train", data, *flags(SAMPLED | {"epochs": 1, "out": tmp_path / "run"})]
    codes, _, complaints = start(2, *command, before=before)
    assert codes == [2, 2], complaints
    assert complaints == ["targcn: no space left\n", ""]


def test_tables_that_are_shared_are_not_asked_by_one_alone(
    start: Start, data: Path, tmp_path: Path
) -> None:
    before = """
from targcn.inference.predictor import Predictor
finish = training.Trainer._finish
training.Trainer._finish = lambda self: Predictor(finish(self))
"""
    command = ["train", data, *flags(SAMPLED | {"epochs": 1, "out": tmp_path / "run"})]
    codes, _, complaints = start(2, *command, before=before)
    assert codes == [2, 2]
    assert complaints[0].startswith("targcn: 2 processes hold the tables of this run together")


def test_not_every_setting_lets_a_table_be_sharded(
    start: Start, data: Path, tmp_path: Path
) -> None:
    options = TARGCN | {"activation_inside": True, "out": tmp_path / "run"}
    codes, _, complaints = start(2, "train", data, *flags(options))
    assert codes == [2, 2]
    assert complaints[0].startswith("targcn: activation_inside changes every row of the table")
    assert complaints[0].count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_says_so() -> None:
    factors = ("tntcomplex", "tcomplex", "complex", "simple", "distmult", "telm", "teast")
    able = {"evidence", "targcn", *factors, "chronor", "tcompounde"}
    for name in MODELS:
        if name in able:
            assert find_recipe(name, changes={"shard_tables": True}).training.shard_tables
        else:
            with pytest.raises(InputError, match=f"{name} needs its tables whole"):
                find_recipe(name, changes={"shard_tables": True})
