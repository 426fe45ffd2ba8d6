"""The benchmarks run at any size, say what they measured, and compare with what is the same."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oracle import World
from targcn.batches import Batch, Batches
from targcn.bench import (
    Result,
    Shape,
    generate,
    measure_epoch,
    measure_evaluate,
    measure_ingest,
    measure_predict,
    measure_sampler,
    measure_scale,
)
from targcn.bench.comparing import load_plain
from targcn.bench.epoch import WatchedBatches
from targcn.bench.measuring import check_at_least, run_apart
from targcn.bench.sampler import missed_mass, window_starts
from targcn.bench.untrained import make_untrained
from targcn.checkpoint import Run
from targcn.cli import main
from targcn.cli.figures import COLUMNS
from targcn.errors import InputError
from targcn.evaluation import Judge, rank
from targcn.facts.dataset import SPLITS, Dataset
from targcn.facts.graph import TemporalGraph
from targcn.models.contract import queries_of
from targcn.sampling import Sampling, sample

PLAIN_FILE = Path(__file__).parents[1] / "benchmarks" / "plain.py"
TINY = Shape(facts=400, entities=30, relations=3, days=20)
SMALL = {"size": 8, "neighbors": 5, "batch_size": 64}
FACTS = [(s, (s + t) % 3, (s * 5 + t * t) % 12, t) for t in range(6) for s in range(12)]


@pytest.fixture(scope="module")
def plain() -> Any:
    return load_plain(PLAIN_FILE)


def sane(result: Result) -> list[dict[str, Any]]:
    """The rows, after a way through JSON; every figure a number, every rate and time above 0."""
    content = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(content) == {
        *("bench", "arguments", "data", "device", "versions", "rows", "summary", "notes")
    }
    assert set(content["versions"]) == {"targcn", "python", "torch", "numpy"}
    assert content["device"]
    for row in content["rows"]:
        for name, value in row.items():
            if "second" in name or "bytes" in name or "ratio" in name:
                assert value > 0, name
    rows: list[dict[str, Any]] = content["rows"]
    return rows


def run_here(module: str, function: str, **arguments: Any) -> Any:
    """What a process apart would give, without the time it takes to start one."""
    given = json.loads(json.dumps(arguments))
    return json.loads(json.dumps(getattr(import_module(module), function)(**given)))


# --- generated data ------------------------------------------------------------------------


def test_a_generated_set_has_the_shape_asked_for() -> None:
    dataset = generate(Shape(facts=1005, entities=50, relations=4, days=30, seed=3))
    assert [len(dataset.splits[split]) for split in SPLITS] == [805, 100, 100]
    assert (len(dataset.entities), len(dataset.relations)) == (50, 4)
    assert dataset.timeline.first == "2000-01-01"
    assert dataset.timeline.ticks.tolist() == list(range(30))
    for column, limit in zip(dataset.facts.columns, (50, 4, 50, 30), strict=True):
        assert column.min() >= 0
        assert column.max() < limit
    assert len(generate(TINY, split=False).train) == 400


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 2.0])
def test_frequencies_follow_the_skew_asked_for(skew: float) -> None:
    dataset = generate(Shape(facts=200_000, entities=100, relations=9, days=5, skew=skew))
    for ids, number in ((dataset.facts.subjects, 100), (dataset.facts.relations, 9)):
        counts = np.sort(np.bincount(ids, minlength=number))[::-1]
        expected = np.arange(1, number + 1) ** -skew
        expected *= 200_000 / expected.sum()
        # Ranks trade places by chance, so 5 standard deviations and a little.
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 20)


def test_the_same_shape_gives_the_same_facts(tmp_path: Path) -> None:
    generate(TINY).save(tmp_path / "one")
    again = Dataset.load(tmp_path / "one")
    assert np.array_equal(again.facts.columns, generate(TINY).facts.columns)
    other = generate(Shape(facts=400, entities=30, relations=3, days=20, seed=1))
    assert not np.array_equal(again.facts.columns, other.facts.columns)


@pytest.mark.parametrize(
    "wrong",
    [
        {"facts": 9},
        {"facts": 2**31},
        {"entities": 1},
        {"relations": 0},
        {"days": 0},
        {"skew": -0.1},
        {"skew": float("inf")},
        {"skew": float("nan")},
        {"seed": -1},
    ],
)
def test_impossible_shapes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .* was expected"):
        Shape(**wrong)


# --- the benchmarks at a tiny size ---------------------------------------------------------


def test_sampler() -> None:
    result = measure_sampler(TINY, queries=40, device="cpu", plain=PLAIN_FILE)
    rows = sane(result)
    assert result.data["shape"]["facts"] == 400
    assert [row["window"] for row in rows if row["what"] == "sampler"] == [256, 512, 1024, 0] * 3
    assert len(rows) == 15
    assert all("ratio_to_plain" in row for row in rows if row["what"] == "sampler")
    assert {row["missed_worst"] for row in rows if row.get("window") == 0} == {0.0}


def test_the_mass_that_a_window_misses() -> None:
    facts = [(0, 0, n % 3, n % 31) for n in range(1200)]
    graph = World(3, 1, facts).graph
    entities, times = torch.tensor([0, 1, 2]), torch.tensor([3, 30, 12])
    missed = missed_mass(graph, entities, times, decay=5.0, floor=1e-3)
    for row, (entity, now) in enumerate(zip([0, 1, 2], [3, 30, 12], strict=True)):
        first, last = int(graph.offsets[entity]), int(graph.offsets[entity + 1])
        weights = [np.exp(-abs(int(time) - now) / 5) + 1e-3 for time in graph.times[first:last]]
        for window in (256, 512, 1024):
            low = int(window_starts(graph, entities, times, window)[row]) - first
            inside = sum(weights[low : low + window])
            assert float(missed[window][row]) == pytest.approx(1 - inside / sum(weights), abs=1e-12)
    assert float(missed[256][0]) > float(missed[512][0]) > 0


def test_the_window_is_where_the_sampler_lays_it() -> None:
    graph = World(2, 1, [(0, 0, 1, n % 40) for n in range(600)]).graph
    entities, times = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 39, 20, 7])
    # All but one of the window's facts are drawn; each has its relation and time in common with
    # others, so what is compared is how often each time is met.
    drawn = sample(graph, entities, times, Sampling(255, decay=50.0, window=256), seed=0)
    firsts = window_starts(graph, entities, times, 256)
    for row, first in enumerate(firsts.tolist()):
        inside = torch.bincount(graph.times[first : first + 256].long(), minlength=40)
        met = torch.bincount((drawn.deltas[row] + times[row]).long(), minlength=40)
        assert int((inside - met).min()) >= 0
        assert int((inside - met).sum()) == 1


def test_epoch() -> None:
    result = measure_epoch(TINY, settings=SMALL, repeats=2, device="cpu", plain=PLAIN_FILE)
    training, products, loop = sane(result)
    assert result.arguments["model"] == "targcn"
    assert training["what"] == "training"
    assert training["peak_bytes"] > 10**7
    assert training["seconds_per_epoch"] == pytest.approx(
        training["milliseconds_per_step"] / 1e3 * 2 * 320 / 64
    )
    assert products["ratio_to_products"] == 1
    assert loop["ratio_to_plain"] == 1
    assert result.arguments["settings"]["own_fact"] == "kept"
    assert result.arguments["batch_size"] == 64


def test_an_epoch_of_tntcomplex() -> None:
    settings = {"rank": 4, "batch_size": 64}
    result = measure_epoch(
        TINY, model="tntcomplex", settings=settings, repeats=2, device="cpu", plain=PLAIN_FILE
    )
    training, _, loop = sane(result)
    assert training["ratio_to_plain"] > 0
    assert loop["ratio_to_plain"] == 1
    assert result.arguments["model"] == "tntcomplex"
    assert result.arguments["run"] == "default"
    assert result.notes == ()


def test_an_epoch_of_a_model_without_a_plain_version() -> None:
    settings = {"rank": 4, "batch_size": 64}
    result = measure_epoch(
        TINY, model="de-simple", settings=settings, repeats=1, device="cpu", plain=PLAIN_FILE
    )
    (training,) = sane(result)
    assert not {"ratio_to_products", "ratio_to_plain"} & training.keys()
    assert "there is none of de-simple" in result.notes[0]


def test_an_epoch_of_one_small_step_and_of_settings_the_plain_loop_lacks() -> None:
    settings = SMALL | {"batch_size": 5000, "dropout": 0.5}
    result = measure_epoch(TINY, settings=settings, repeats=2, device="cpu", plain=PLAIN_FILE)
    assert len(sane(result)) == 2
    assert "it lacks one of the settings" in result.notes[0]


def test_whole_epochs_are_watched_as_on_a_gpu() -> None:
    dataset = generate(TINY)
    made, _ = make_untrained(dataset, "targcn", None, SMALL)
    batches = Batches(made.model, dataset, 64, 0, torch.device("cpu"))
    taken: list[Batch] = []
    watched = WatchedBatches(
        batches, 2, lambda: {"scoring products and loss alone": taken.append}, None
    )
    watched.on_gpu, watched.num_before = True, 1
    for epoch in range(3):
        sizes = [len(batch) for batch in watched.of_epoch(epoch)]
        assert sizes == [64] * 10
    assert [len(seconds) for seconds in watched.seconds.values()] == [2, 2]
    assert len(taken) == 5 + 2 * 200


@pytest.mark.parametrize(
    ("model", "settings"),
    [("targcn", {"size": 8}), ("tntcomplex", {"rank": 4}), ("decayed-copy", {})],
)
def test_evaluate(model: str, settings: dict[str, Any]) -> None:
    result = measure_evaluate(TINY, model=model, settings=settings, device="cpu", plain=PLAIN_FILE)
    index, ranking, *others = sane(result)
    assert index["ratio_to_plain"] > 0
    assert ranking["queries_per_second"] == pytest.approx(80 / ranking["seconds"])
    assert ranking["ratio_to_plain"] > 0
    assert [row["what"] for row in others] == [
        "figures of those ranks",
        "scoring alone",
        "scoring and plain ranks",
        "plain index",
    ]
    assert "scaled" in result.notes[0]


def test_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targcn.bench.predict.COMMANDS", 1)
    result = measure_predict(TINY, model="decayed-copy", questions=5)
    first, loaded, whole = sane(result)
    assert loaded["p50_milliseconds"] <= loaded["p95_milliseconds"]
    assert whole["seconds"] > first["seconds"]


def test_ingest() -> None:
    result = measure_ingest([50, 500], Shape(entities=20, relations=2, days=9, skew=0.0))
    small, large = sane(result)
    assert (small["rows"], large["rows"]) == (50, 500)
    assert 0 < small["facts"] <= 50
    assert large["file_bytes"] > small["file_bytes"]
    assert result.summary["rate_of_largest_to_smallest"] > 0


def test_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("targcn.bench.scale.run_apart", run_here)
    shape = Shape(entities=50, relations=2, days=9)
    result = measure_scale([2000, 100], shape, queries=10, device="cpu", folder=tmp_path)
    large, small = sane(result)
    assert large["bytes_per_fact"] == pytest.approx(40, abs=1)
    ratio = large["microseconds_per_query"] / small["microseconds_per_query"]
    assert result.summary["growth_of_microseconds_per_query"] == pytest.approx(ratio)
    assert list(tmp_path.iterdir()) == []


# --- the plain versions do the same --------------------------------------------------------


def test_plain_ranks_are_the_judges_ranks(plain: Any) -> None:
    dataset = generate(TINY)
    made, _ = make_untrained(dataset, "decayed-copy", None, {"scale": 2})
    judge = Judge(dataset, "test", "train+valid", torch.device("cpu"))
    fast = rank(made.model, judge.queries, judge.targets, judge.graph, judge.known, "mean")
    scores = made.model(judge.queries, judge.graph).numpy()
    known = plain.known_answers(dataset.facts.columns, len(dataset.relations))
    queries = judge.queries
    columns = (queries.subjects, queries.relations, queries.times, judge.targets)
    rows = zip(scores, *(column.tolist() for column in columns), strict=True)
    slow = [plain.ranks(*row, known) for row in rows]
    assert len({tuple(ranks.values()) for ranks in slow}) > 20
    for which, ranks in fast.items():
        assert ranks.tolist() == [row[which] for row in slow]


def test_the_plain_loop_has_the_same_loss(plain: Any) -> None:
    """Where all facts are drawn, both see the same."""
    dataset = World(12, 3, FACTS, cuts=(72, 72)).dataset
    made, _ = make_untrained(dataset, "targcn", None, {"size": 8})
    ours, facts = made.model, dataset.train
    loop = plain.PlainTARGCN(dataset, made.settings)
    weights = {name.replace("first.", ""): value for name, value in ours.state_dict().items()}
    loop.load_state_dict(weights)
    queries, answers = queries_of(facts, 3)
    context = TemporalGraph.of_context(dataset, "train")
    drawn = ours.draw(queries, answers, context, torch.zeros(len(queries), dtype=torch.int64))
    with torch.no_grad():
        mine = float(ours.loss(queries, answers, drawn))
        theirs = float(loop.loss(queries.subjects, queries.relations, queries.times, answers))
    assert theirs == pytest.approx(mine, rel=1e-4)


@pytest.fixture
def tntcomplex(plain: Any) -> tuple[Run, Any]:
    """A run over times that leave gaps, and the plain version with its weights."""
    mixed = [FACTS[number * 7 % 72] for number in range(72)]
    facts = [(subject, relation, object_, time**2) for subject, relation, object_, time in mixed]
    dataset = World(12, 3, facts, cuts=(40, 50)).dataset
    settings = {"rank": 3, "factor_weight": 0.1, "time_weight": 0.2, "init_scale": 1.0}
    made, _ = make_untrained(dataset, "tntcomplex", None, settings)
    simple = plain.PlainTNTComplEx(dataset, made.settings)
    weights = made.model.state_dict()
    simple.load_state_dict(
        {name.replace(".rows", "") + ".weight": value.clone() for name, value in weights.items()}
    )
    return made, simple


def test_the_plain_tntcomplex_has_the_same_loss_and_gradient(tntcomplex: tuple[Run, Any]) -> None:
    ours, simple = tntcomplex[0].model, tntcomplex[1]
    queries, answers = queries_of(tntcomplex[0].dataset.train, 3)
    mine = ours.loss(queries, answers, ())
    theirs = simple.loss(queries.subjects, queries.relations, queries.times, answers)
    assert float(theirs.detach()) == pytest.approx(float(mine.detach()), rel=1e-5)
    mine.backward()
    theirs.backward()
    for weight, other in zip(ours.parameters(), simple.parameters(), strict=True):
        assert torch.allclose(weight.grad, other.grad.to_dense(), rtol=1e-4, atol=1e-6)


def test_the_plain_tntcomplex_has_the_same_scores_and_mrr(
    plain: Any, tntcomplex: tuple[Run, Any]
) -> None:
    made, simple = tntcomplex
    judge = Judge(made.dataset, "test", "train+valid", torch.device("cpu"))
    queries, known = judge.queries, plain.known_answers(made.dataset.facts.columns, 3)
    columns = (queries.subjects, queries.relations, queries.times, judge.targets)
    with torch.no_grad():
        scores = simple.scores(*columns[:3])
        assert torch.allclose(scores, made.model(queries, judge.graph), rtol=1e-4, atol=1e-5)
    rows = zip(scores.numpy(), *(column.tolist() for column in columns), strict=True)
    ranks = [plain.ranks(*row, known) for row in rows]
    for which, sides in judge.report(made).metrics.items():
        mrr = np.mean([1 / row[which] for row in ranks])
        assert sides["both"]["mrr"] == pytest.approx(mrr)


def test_what_the_plain_versions_cover(plain: Any) -> None:
    dataset = generate(TINY)
    for model, settings, covered in (
        ("targcn", {"size": 4}, True),
        ("targcn", {"decoder": "complex", "size": 4}, False),
        ("tntcomplex", {"rank": 4}, True),
        ("tntcomplex", {"rank": 4, "power": 4}, False),
    ):
        made, _ = make_untrained(dataset, model, None, settings)
        assert plain.MODELS[model].covers(made.settings) is covered


def test_the_plain_draw_is_of_the_near(plain: Any) -> None:
    random = np.random.default_rng(0)
    times = np.array([0] * 10 + [1000] * 10)
    for floor in (0.0, 1e-9):
        assert set(plain.draw_near(times, 1, 5, 1.0, floor, random)) <= set(range(10))
    assert sorted(plain.draw_near(times, 1, 50, 1.0, 0.0, random)) == list(range(20))


# --- what is left out or refused -----------------------------------------------------------


def test_without_a_plain_version_the_ratio_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = measure_sampler(TINY, queries=8, device="cpu")
    assert not any("ratio_to_plain" in row for row in sane(result))
    assert "name such a file with --plain" in result.notes[-1]
    assert load_plain("none") is None


def test_plain_files_that_will_not_do(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    for content, sentence in (
        (None, "there is no file"),
        ("def draw_near(: pass", "cannot be run: SyntaxError"),
        ("def draw_near(): pass", "has no MODELS"),
    ):
        if content is not None:
            file.write_text(content)
        with pytest.raises(InputError, match=sentence):
            load_plain(file)
    (tmp_path / "notes.txt").write_text("plain")
    with pytest.raises(InputError, match="no Python file"):
        load_plain(tmp_path / "notes.txt")


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    empty = World(3, 1, []).dataset
    for attempt, sentence in (
        (lambda: measure_sampler(empty, device="cpu"), "nothing to sample"),
        (lambda: measure_sampler(TINY, queries=0), "queries is 0"),
        (lambda: measure_epoch(empty, device="cpu"), "nothing to learn from"),
        (lambda: measure_epoch(TINY, repeats=0, device="cpu"), "repeats is 0"),
        (lambda: measure_epoch(TINY, settings={"sise": 3}, device="cpu"), "did you mean 'size'"),
        (lambda: measure_epoch(TINY, model="seen", device="cpu"), "nothing to learn, so"),
        (lambda: measure_epoch(TINY, run="papre", device="cpu"), "has no run 'papre'"),
        (lambda: measure_evaluate(empty, device="cpu"), "nothing to judge"),
        (lambda: measure_evaluate(TINY, repeats=0, device="cpu"), "repeats is 0"),
        (lambda: measure_predict(empty), "too few facts"),
        (lambda: measure_ingest([]), "rows is empty"),
        (lambda: measure_ingest([5]), "facts is 5"),
        (lambda: measure_scale([]), "facts is empty"),
        (lambda: measure_scale([100], folder=tmp_path / "gone"), "there is no folder"),
        (lambda: check_at_least(2, things=1), "things is 1; at least 2"),
    ):
        with pytest.raises(InputError, match=sentence):
            attempt()


def test_a_process_apart_says_what_was_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="facts is 1;"):
        run_apart("targcn.bench.generation", "generate_into", folder="x", shape={"facts": 1})
    with pytest.raises(InputError, match="ended with 1"):
        run_apart("targcn.bench.generation", "generate_into", folder="x", shape={"fact": 1})
    assert "TypeError" in capfd.readouterr().err


# --- through the command line --------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The command in this process, in a folder without a plain version."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> None:
        try:
            main(["bench", *map(str, arguments)])
        except SystemExit as leaving:
            if leaving.code:
                raise

    return run


def test_the_command_prints_a_table_and_keeps_json(
    command: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept" / "sampler.json"
    shape = ("--facts", "1e3", "--entities", 40, "--skew", 0, "--queries", 8, "--device", "cpu")
    command("sampler", *shape, "--out", out)
    shown = capsys.readouterr().out
    assert "µs/query" in shown
    assert "no plain version to compare with" in shown
    kept = json.loads(out.read_text())
    assert kept["data"]["shape"] == {
        "facts": 1000,
        "entities": 40,
        "relations": 200,
        "days": 365,
        "skew": 0.0,
        "seed": 0,
    }
    command("sampler", *shape, "--json")
    printed = json.loads(capsys.readouterr().out)
    assert [row["window"] for row in printed["rows"]] == [row["window"] for row in kept["rows"]]


def test_settings_are_flags(
    command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--facts", 400, "--size", 8, "--batch-size", 64, "--repeats", 1, "--device", "cpu")
    command("epoch", *flags, "--plain", PLAIN_FILE, "--json")
    content = json.loads(capsys.readouterr().out)
    assert content["arguments"]["settings"]["size"] == 8
    assert content["rows"][0]["ratio_to_plain"] > 0


def test_every_figure_has_a_column(
    command: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in ("ingest", "scale"):
        monkeypatch.setattr(f"targcn.bench.{module}.run_apart", run_here)
    monkeypatch.setattr("targcn.bench.predict.COMMANDS", 1)
    monkeypatch.setattr("targcn.bench.predict._time_command", lambda arguments: 1.0)
    small, plain = ("--facts", 100, "--entities", 20), ("--plain", PLAIN_FILE, "--device", "cpu")
    for arguments in (
        ("sampler", *small, *plain, "--queries", 4),
        ("epoch", *small, *plain, "--size", 4, "--repeats", 1),
        ("epoch", *small, *plain, "--model", "tntcomplex", "--repeats", 1),
        ("evaluate", *small, *plain, "--model", "seen", "--repeats", 1),
        ("predict", *small, "--model", "seen", "--questions", 3),
        ("ingest", "--rows", 50, 60, "--entities", 20),
        ("scale", *small, "--queries", 4, "--device", "cpu"),
    ):
        command(*arguments, "--json")
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert {name for row in rows for name in row} <= COLUMNS.keys()
        command(*arguments)
        assert capsys.readouterr().out.startswith(f"{arguments[0]}, generated, ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sampler", "--facts", "many"], "'many' is not a whole number"),
        (["sampler", "--facts", "1"], "facts is 1"),
        (["sampler", "congress", "--days", "9"], "leave either it or --days out"),
        (["scale", "--facts", "1e3", "0.5"], "'0.5' is not a whole number"),
        (["epoch", "--facts", "100", "--device", "abacus"], "is not to be had here"),
    ],
)
def test_wrong_words_get_one_sentence(
    command: Callable[..., None],
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as leaving:
        command(*arguments)
    assert leaving.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1


ON_A_BARE_NODE = """
import sys
for absent in ("polars", "pandas", "cyclopts"):
    sys.modules[absent] = None
import targcn
from targcn.bench import measure_epoch, measure_evaluate, measure_sampler
dataset = targcn.open_dataset(sys.argv[1])
small = {"size": 4, "batch_size": 64}
print(measure_sampler(dataset, queries=9, device="cpu").to_json()["bench"])
print(measure_epoch(dataset, settings=small, repeats=1, device="cpu").to_json()["bench"])
print(measure_evaluate(dataset, settings=small, device="cpu").to_json()["bench"])
"""


def test_torch_and_numpy_are_enough(tmp_path: Path) -> None:
    generate(TINY).save(tmp_path / "data")
    code = [sys.executable, "-c", ON_A_BARE_NODE, tmp_path / "data"]
    ended = subprocess.run(code, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.stdout.split() == ["sampler", "epoch", "evaluate"], ended.stderr
