"""Files of ranks and scores: judged as a literal ranking does it, written and read back."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
import targcn
from fake_model import FakeModel, few_values, write_scores
from oracle import World, checked, interval_worlds, worlds
from targcn.errors import InputError
from targcn.evaluation import ranks_file
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.ranking import TIES
from targcn.evaluation.ranks_file import query_columns, read_ranks, write_ranks
from targcn.evaluation.report import PROTOCOLS, Setting
from targcn.facts.dataset import OPEN
from targcn.facts.export import export_dataset
from targcn.graph.queries import Queries

WORLD = World(5, 2, [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)], cuts=(20, 24))
CPU = torch.device("cpu")


@pytest.fixture(autouse=True, scope="module")
def _read_at_once():
    """Leave out the process that reads a file first, since some tests read hundreds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks_file, "scan_parquet", pl.scan_parquet)
        yield


def evaluator_of(world: World = WORLD, ties: Any = "mean", intervals: Any = None) -> Evaluator:
    return Evaluator(world.dataset, Setting("test", "train", ties, intervals), CPU)


def queries(world: World = WORLD) -> list[dict[str, Any]]:
    """Every query of the test split in words, those for objects first."""
    names, dates = [f"e{number}" for number in range(9)], [f"1970-01-0{day}" for day in range(1, 8)]
    return [
        {"subject": names[s], "relation": f"r{r}", "object": names[o], "time": dates[t], "asked": a}
        for a in ("object", "subject")
        for s, r, o, t in world.test
    ]


def scored(position: int) -> dict[str, list[Any]]:
    """Some of the entities, none to five of them, in any order, with ties."""
    names = [f"e{(position + 2 * step) % 5}" for step in range((position + 1) % 6)]
    return {"candidates": names, "scores": [float(step // 2) for step in range(len(names))]}


def with_scores() -> list[dict[str, Any]]:
    return [query | scored(position) for position, query in enumerate(queries())]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path / "a.parquet", row_group_size=5)
    return path / "a.parquet"


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("at_once", [1, 6, 1000])
def test_candidates_that_are_not_listed_are_level_below_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ties: Any, at_once: int
) -> None:
    monkeypatch.setattr(ranks_file, "rows_at_once", lambda *_: at_once)
    path = write(tmp_path, with_scores()[::-1])
    steps: list[tuple[int, int]] = []
    found, is_ranked_here = read_ranks(path, evaluator_of(ties=ties), lambda *at: steps.append(at))
    asked = [(s, r, o, t) for s, r, o, t in WORLD.test]
    asked += [(o, r + 2, s, t) for s, r, o, t in WORLD.test]
    for which in FILTERS:
        known = oracle.known_answers(WORLD.facts, 2, which)
        for position, (s, r, target, t) in enumerate(asked):
            row = scored(position)
            scores = [-1.0] * 5
            for name, score in zip(row["candidates"], row["scores"], strict=True):
                scores[int(name[1:])] = score
            others = known.get((s, r, t if which == "time-aware" else 0), set())
            assert found[which][position] == oracle.rank(scores, target, others, ties)
    assert is_ranked_here
    assert steps[-1] == (12, 12)


def read_back(evaluator: Evaluator) -> None:
    """What a model scored and what it ranked, written and read, are the ranks of the evaluator."""
    model: Any = FakeModel(few_values)
    expected = evaluator.ranks(model)
    with tempfile.TemporaryDirectory() as folder:
        scores, ranks = Path(folder) / "scores.parquet", Path(folder) / "ranks.parquet"
        write_scores(model, evaluator, scores)
        write_ranks(expected, evaluator, ranks)
        for path in (scores, ranks):
            found, is_ranked_here = read_ranks(path, evaluator)
            assert is_ranked_here == (path == scores)
            assert all(torch.equal(found[which], expected[which]) for which in FILTERS)


@pytest.mark.parametrize("ties", TIES)
def test_scores_and_ranks_that_are_written_have_the_figures_of_the_model(
    monkeypatch: pytest.MonkeyPatch, ties: Any
) -> None:
    monkeypatch.setattr(ranks_file, "rows_at_once", lambda *_: 10)
    read_back(evaluator_of(ties=ties))


@checked
@given(worlds(min_facts=1))
def test_any_points_that_are_written_are_read_back(world: World) -> None:
    read_back(evaluator_of(world))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@checked
@given(interval_worlds(), st.sampled_from(TIES))
def test_any_intervals_that_are_written_are_read_back(
    protocol: Any, world: World, ties: Any
) -> None:
    read_back(evaluator_of(world, ties, protocol))


def test_candidates_of_the_first_row_are_those_of_rows_without_any(tmp_path: Path) -> None:
    names = ["e3", "e1", "e0", "e2", "e4"]
    rows: list[dict[str, Any]] = [
        query | {"candidates": names, "scores": [position % 3, 1, 2, 0, 4]}
        for position, query in enumerate(queries())
    ]
    expected, _ = read_ranks(write(tmp_path, rows), evaluator_of())
    short = [rows[0], *(row | {"candidates": None} for row in rows[1:])]
    found, _ = read_ranks(write(tmp_path, short), evaluator_of())
    assert found["raw"].tolist() == expected["raw"].tolist()
    with pytest.raises(InputError, match="row 1 names no candidates"):
        read_ranks(write(tmp_path, short[::-1]), evaluator_of())


def test_ranks_are_taken_under_the_filters_they_name(tmp_path: Path) -> None:
    rows = [query | {"static": 1 + n % 3} for n, query in enumerate(queries())]
    found, is_ranked_here = read_ranks(write(tmp_path, rows[::-1]), evaluator_of())
    assert not is_ranked_here
    assert {which: ranks.tolist() for which, ranks in found.items()} == {
        "static": [1.0, 2.0, 3.0] * 4
    }


def change(**columns: Any) -> Any:
    """The second row with other values, or without a column where the value is ..."""

    def changed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for name, value in columns.items():
            if value is ...:
                rows = [{key: row[key] for key in row if key != name} for row in rows]
        filled = {name: value for name, value in columns.items() if value is not ...}
        return [rows[0], rows[1] | filled, *rows[2:]]

    return changed


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (change(subject=...), "has no column 'subject'; every row needs subject, relation"),
        (change(scores=...), "needs either the columns candidates and scores, .* or ranks"),
        (change(raw=1.0), "needs either the columns candidates and scores, .* or ranks"),
        (change(relation=None), "relation '' is not in this graph"),
        (change(subject="e11"), "entity 'e11' is not in this graph; did you mean"),
        (change(time="1970-01-20"), r"row 2: e0 \| r1 \| e0 \| 1970-01-20 .asked: object. is no"),
        (change(time="1970-01-20"), "is no query of the test split of world; 1 of 12 rows are not"),
        (change(time="soon"), "'soon' is not a date"),
        (change(asked="whom"), "the column asked says 'subject' or 'object', not 'whom'"),
        (lambda rows: [*rows, rows[2]], "row 13: .* is there twice; every query of the test split"),
        (
            lambda rows: rows[:-2],
            "lacks 2 of 12 queries .* the first is e3 .* .asked: subject.; give",
        ),
        (change(scores=[1.0]), "row 2 has not as many scores as candidates"),
        (change(scores=[1.0, float("nan")]), "row 2 has scores that are not numbers"),
        (change(scores=[1.0, None]), "row 2 has scores that are not numbers"),
        (change(scores=[]), "row 2 has not as many scores as candidates"),
        (change(scores=None), "row 2 has not as many scores as candidates"),
        (change(candidates=["e1", "e1"]), "row 2 names a candidate twice"),
        (change(candidates=["e1", None]), "entity '' is not in this graph"),
        (change(candidates=["e1", "e"]), "entity 'e' is not in this graph"),
    ],
)
def test_scores_that_cannot_be_judged(tmp_path: Path, changed: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_ranks(write(tmp_path, changed(with_scores())), evaluator_of())


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (change(raw=0.5), "row 2: the raw rank is 0.5; 1 up to the 5 entities was expected"),
        (change(raw=6.0), "row 2: the raw rank is 6.0; 1 up to"),
        (change(raw=None), "row 2: the raw rank is None; 1 up to"),
        (change(raw=float("nan")), "row 2: the raw rank is nan; 1 up to"),
        (lambda rows: [row | {"raw": "best"} for row in rows], "row 1: the raw rank is None"),
        (change(static=3.0), "row 2: the static rank 3.0 is worse than the raw rank 2.0"),
    ],
)
def test_ranks_that_cannot_be(tmp_path: Path, changed: Any, sentence: str) -> None:
    rows = [query | {"raw": 2.0, "static": 1.5} for query in queries()]
    with pytest.raises(InputError, match=sentence):
        read_ranks(write(tmp_path, changed(rows)), evaluator_of())


def timeless(queries: Queries, num_entities: int) -> Tensor:
    return few_values(replace(queries, times=torch.zeros_like(queries.times)), num_entities)


@checked
@given(interval_worlds(), st.sampled_from([1, 6, 1000]))
def test_scores_without_a_time_are_those_at_every_tick(world: World, at_once: int) -> None:
    evaluator, model = evaluator_of(world), cast(Any, FakeModel(timeless))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks_file, "rows_at_once", lambda *_: at_once)
        path = Path(folder) / "scores.parquet"
        write_scores(model, evaluator, path)
        each = pl.read_parquet(path).drop("time")
        query = query_columns(world.dataset)
        each.unique(query, keep="first", maintain_order=True).write_parquet(path)
        found, _ = read_ranks(path, evaluator)
    expected = evaluator.ranks(model)
    assert all(torch.equal(found[which], expected[which]) for which in FILTERS)


# In test are two facts: e1, r0, e3 until day 9, and e0, r0, e3 on the days 1 to 4.
LASTING = World(
    4, 1, [(0, 0, 1, 0, 5), (0, 0, 2, 3, OPEN), (1, 0, 3, OPEN, 9), (0, 0, 3, 1, 4)], cuts=(1, 2)
)


def lasting_rows(evaluator: Evaluator, kind: str, path: Path) -> list[dict[str, Any]]:
    """The rows of a file of our own."""
    model: Any = FakeModel(few_values)
    if kind == "scores":
        write_scores(model, evaluator, path)
    else:
        write_ranks(evaluator.ranks(model), evaluator, path)
    return pl.read_parquet(path).to_dicts()


@pytest.mark.parametrize(
    ("kind", "protocol", "changed", "sentence"),
    [
        ("scores", "enumerate-time", change(end=...), "has no column 'end'; every row needs"),
        ("scores", "enumerate-time", change(time=None), "row 2: .* is no query of the test split"),
        (
            "scores",
            "enumerate-time",
            change(start="1970-01-04"),
            r"\| 1970-01-04 \| .* is no query",
        ),
        # The day before the data begin is not an open start.
        (
            "scores",
            "identical",
            change(start="1969-12-31"),
            "1969-12-31 .* is no query of the test",
        ),
        ("scores", "enumerate-time", change(time="1970-01-08"), "at 1970-01-08. is no query"),
        (
            "scores",
            "enumerate-time",
            lambda rows: rows[:-1],
            r"lacks 1 of 18 queries .* first is e1 \| r0 \| e3 \| open \| 1970-01-10 \(asked: "
            r"subject at 1970-01-10\)",
        ),
        ("scores", "enumerate-time", lambda rows: [*rows, rows[3]], "row 19: .* is there twice"),
        ("ranks", "identical", change(intervals=...), "has no column 'intervals'; ranks of facts"),
        (
            "ranks",
            "identical",
            change(intervals="enumerate-time"),
            "was ranked with intervals enumerate-time, the others are with identical",
        ),
    ],
)
def test_files_about_intervals_that_cannot_be_judged(
    tmp_path: Path, kind: str, protocol: Any, changed: Any, sentence: str
) -> None:
    evaluator = evaluator_of(LASTING, intervals=protocol)
    rows = lasting_rows(evaluator, kind, tmp_path / "own.parquet")
    with pytest.raises(InputError, match=sentence):
        read_ranks(write(tmp_path, changed(rows)), evaluator)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no Parquet")
    whole = write(tmp_path, with_scores()).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    for name, world, sentence in (
        ("gone.parquet", WORLD, "cannot read .*gone.parquet: No such file"),
        ("text.parquet", WORLD, "cannot read .*text.parquet: "),
        ("cut.parquet", WORLD, "cannot read .*cut.parquet: "),
        ("a.csv", WORLD, "a.csv should end in .parquet"),
        (
            "a.parquet",
            LASTING,
            "has no column 'start'; every row needs .* object, start, end, asked",
        ),
    ):
        with pytest.raises(InputError, match=sentence):
            read_ranks(tmp_path / name, evaluator_of(world))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_model_of_the_docs_that_is_trained_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pykeen")
    text = (Path(__file__).parents[2] / "docs" / "judging.md").read_text(encoding="utf-8")
    (program,) = [block for block in text.split("```python\n") if "pykeen" in block[:200]]
    monkeypatch.chdir(tmp_path)
    congress = targcn.open_dataset("congress")
    export_dataset(congress, tmp_path / "congress")
    exec(program.partition("```")[0].replace("num_epochs=20", "num_epochs=1"), {})
    found = targcn.compare({"seen": targcn.fit(congress, "seen")}, ranks=["pykeen-complex.parquet"])
    # A single epoch is enough to be better than chance, whose MRR is about 0.002.
    assert found.runs[1].mrr("static") > 0.02
