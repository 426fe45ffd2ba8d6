"""Every benchmark runs on a small graph, and its plain versions compute what the fast ones do."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.generated_data import Shape, generate
from benchmarks.measure import Result, result_table
from benchmarks.plain import PlainTARGCN, PlainTNTComplEx, plain_known_answers, plain_ranks
from benchmarks.sampler import missed_mass, window_starts
from benchmarks.untrained import make_untrained
from oracle import World
from small_runs import untrained
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.facts.dataset import OPEN, SPLITS
from targcn.graph.columns import Columns
from targcn.graph.neighbors import Sampling
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph

TINY = Shape(facts=400, entities=30, relations=3, days=20)
FACTS = [(s, (s + t) % 3, (s * 5 + t * t) % 12, t) for t in range(6) for s in range(12)]
SMALL = ("--facts", "400", "--entities", "30", "--relations", "3")
ON_CPU = ("--device", "cpu")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("sampler", *SMALL, *ON_CPU, "--queries", "40"),
        ("epoch", *SMALL, *ON_CPU, "--dim", "8", "--neighbors", "5", "--repeats", "2"),
        ("epoch", *SMALL, *ON_CPU, "--model", "tntcomplex", "--dim", "4", "--repeats", "2"),
        ("epoch", *SMALL, *ON_CPU, "--model", "de-simple", "--dim", "4", "--repeats", "1"),
        ("evaluate", *SMALL, *ON_CPU, "--model", "decayed-copy", "--repeats", "1"),
        ("predict", *SMALL, "--model", "seen", "--questions", "5", "--commands", "1"),
        ("ingest", "--rows", "50", "5e2", "--entities", "20", "--longest", "4"),
        ("scale", "--facts", "2e3", "--entities", "50", *ON_CPU, "--queries", "9", "--steps", "1"),
        ("serve", *SMALL, "--model", "seen", "--questions", "8", "--crowd", "4"),
        ("missing", *SMALL, "--top", "2"),
    ],
    ids=lambda arguments: "-".join(arguments[:1]),
)
def test_every_benchmark(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept" / "figures.json"
    main([*arguments, "--out", str(out)])
    assert capsys.readouterr().out.startswith(f"{arguments[0]}, ")
    content = json.loads(out.read_text())
    for row in content["rows"]:
        for name, value in row.items():
            # Processor time is counted in steps of 10 ms, more than a few questions take.
            if "second" in name or "bytes" in name or "ratio" in name:
                assert value > 0 or name == "server_milliseconds_per_question", name
    del content["versions"]
    table = result_table(Result(**content | {"device": None}))
    for row, cells in zip(content["rows"], table.cells(), strict=True):
        shown = {column.key for column, cell in zip(table.columns, cells, strict=True) if cell}
        assert shown == row.keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sampler", "--facts", "1"), "facts is 1"),
        (("sampler", "congress", "--days", "9"), "leave out either it or --days"),
        (("epoch", *SMALL, "--model", "seen", *ON_CPU), "nothing to learn"),
        (("scale", "--folder", "nowhere"), "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(SystemExit, match=sentence):
        main(list(arguments))


@pytest.mark.parametrize("longest", [0, 7])
def test_a_generated_set_has_the_shape_asked_for(longest: int) -> None:
    shape = Shape(facts=20_005, entities=50, relations=4, days=30, longest=longest, seed=3)
    dataset = generate(shape)
    assert [len(dataset.splits[split]) for split in SPLITS] == [16005, 2000, 2000]
    assert (len(dataset.entities), len(dataset.relations)) == (50, 4)
    counts = np.sort(np.bincount(dataset.facts.relations, minlength=4))[::-1]
    assert counts / 20_005 == pytest.approx(np.array([12, 6, 4, 3]) / 25, abs=0.02)
    if longest:
        first, last = dataset.facts.columns[3:]
        lengths = (last - first + 1)[last != OPEN]
        assert (lengths.min(), lengths.max(), last.max()) == (1, 7, 29)


def test_plain_ranks_are_the_evaluators_ranks() -> None:
    dataset = generate(TINY)
    run = untrained(dataset, "decayed-copy", scale=2)
    evaluator = Evaluator(dataset, Setting("test", "train+valid"), torch.device("cpu"))
    fast = evaluator.ranks(run.model)
    scores = run.model(evaluator.queries, evaluator.graph).numpy()
    known = plain_known_answers(dataset.facts.columns, len(dataset.relations))
    queries = evaluator.queries
    columns = (queries.subjects, queries.relations, queries.times, evaluator.targets)
    rows = zip(scores, *(column.tolist() for column in columns), strict=True)
    slow = [plain_ranks(row, query, known) for row, *query in rows]
    assert len({tuple(ranks.values()) for ranks in slow}) > 20
    for which, ranks in fast.items():
        assert ranks.tolist() == [row[which] for row in slow]


# The weights of the plain TARGCN, and what TARGCN calls them.
NAMES = {name: name for name in ("entities", "relations")}
NAMES |= {name: f"time_encoding.{name}" for name in ("frequencies", "phases")}
NAMES |= {name: f"first.{name}" for name in ("f.weight", "f.bias", "W.weight", "W.bias")}


def test_the_plain_targcn_has_the_same_loss() -> None:
    """Where all facts are sampled, both see the same."""
    dataset = World(12, 3, FACTS, cuts=(72, 72)).dataset
    run = make_untrained(dataset, "targcn", None, {"dim": 8})
    ours, plain = run.model, PlainTARGCN(dataset, run.recipe.settings)
    weights = ours.state_dict()
    plain.load_state_dict({name: weights[theirs] for name, theirs in NAMES.items()})
    queries, answers = queries_of(dataset.train, 3)
    context = TemporalGraph.of_context(dataset, "train")
    sample = ours.sample(queries, answers, context, torch.zeros(len(queries), dtype=torch.int64))
    with torch.no_grad():
        mine = float(ours.loss(queries, answers, sample))
        theirs = float(plain.loss(queries.subjects, queries.relations, queries.times, answers))
    assert theirs == pytest.approx(mine, rel=1e-4)


def test_the_plain_tntcomplex_has_the_same_loss_and_gradient() -> None:
    mixed = [FACTS[number * 7 % 72] for number in range(72)]
    facts = [(subject, relation, object_, time**2) for subject, relation, object_, time in mixed]
    dataset = World(12, 3, facts, cuts=(40, 50)).dataset
    settings = {"dim": 3, "factor_weight": 0.1, "time_weight": 0.2, "init_scale": 1.0}
    run = untrained(dataset, "tntcomplex", **settings)
    ours, plain = run.model, PlainTNTComplEx(dataset, run.recipe.settings)
    weights = ours.state_dict().items()
    plain.load_state_dict(
        {name.replace(".rows", "") + ".weight": value.clone() for name, value in weights}
    )
    queries, answers = queries_of(dataset.train, 3)
    mine = ours.loss(queries, answers, Columns())
    theirs = plain.loss(queries.subjects, queries.relations, queries.times, answers)
    assert float(theirs.detach()) == pytest.approx(float(mine.detach()), rel=1e-5)
    mine.backward()
    theirs.backward()
    for weight, other in zip(ours.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(weight.grad, other.grad.to_dense(), rtol=1e-4, atol=1e-6)


def test_the_mass_that_a_window_misses() -> None:
    facts = [(0, 0, n % 3, n % 31) for n in range(1200)]
    graph = World(3, 1, facts).graph
    entities, times = torch.tensor([0, 1, 2]), torch.tensor([3, 30, 12])
    missed = missed_mass(graph, entities, times, Sampling(decay=5.0, weight_floor=1e-3))
    for row, (entity, now) in enumerate(zip([0, 1, 2], [3, 30, 12], strict=True)):
        first, last = int(graph.offsets[entity]), int(graph.offsets[entity + 1])
        weights = [np.exp(-abs(int(time) - now) / 5) + 1e-3 for time in graph.times[first:last]]
        for window in (256, 512, 1024):
            low = int(window_starts(graph, entities, times, window)[row]) - first
            inside = sum(weights[low : low + window])
            assert float(missed[window][row]) == pytest.approx(1 - inside / sum(weights), abs=1e-12)
    assert float(missed[256][0]) > float(missed[512][0]) > 0
