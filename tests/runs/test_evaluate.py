"""Evaluating a run: the split, the context and the ties that were asked for."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

from fake_model import WORLD, FakeModel, fake_run, few_values, report_of
from oracle import World
from small_training import DATA
from targcn.distributed import ProcessGroup
from targcn.errors import InputError
from targcn.evaluation import ranking
from targcn.evaluation.report import report_table
from targcn.facts.dataset import Context
from targcn.inference.predictor import Predictor
from targcn.models.boxte import BoxTE
from targcn.recipes.recipe import find_recipe
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import load_run, save_run
from targcn.training.fit import fit, initialize


@pytest.mark.parametrize(
    ("context", "facts"),
    [
        ("train", WORLD.train),
        ("train+valid", WORLD.train + WORLD.valid),
        ("all", WORLD.facts),
        ("past", WORLD.facts),
    ],
)
def test_a_model_sees_the_facts_of_the_context_alone(context: Context, facts: list[Any]) -> None:
    model = FakeModel(few_values)
    report = evaluate(fake_run(WORLD.dataset, model), context=context, device="cpu")
    assert report.setting.context == context
    (seen,) = model.contexts
    assert seen.past_only == (context == "past")
    expected = World(4, 1, facts).graph
    for column in ("subjects", "relations", "objects", "times", "offsets"):
        assert torch.equal(getattr(seen, column), getattr(expected, column))


def test_the_split_asked_for_is_evaluated() -> None:
    report = report_of(WORLD, few_values, split="valid", context="train")
    assert (report.setting.split, report.num_queries) == ("valid", 2)


def test_a_model_that_samples_has_the_same_figures_again() -> None:
    """TARGCN samples 2 of a dozen facts, whatever random numbers were drawn in between."""
    run = fit(DATA, "targcn", dim=8, neighbors=2, epochs=1, device="cpu")
    reports = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        reports.append(evaluate(run, device="cpu").metrics)
    assert reports[0] == reports[1]


def test_progress_ends_at_the_number_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "rows_at_once", lambda width, device: 3)
    steps: list[tuple[int, int]] = []
    report_of(WORLD, few_values, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "world has no facts in its train split; nothing to"),
        ({"split": "tset"}, "split 'tset' is unknown; choose one of train, valid, test"),
        ({"ties": "random"}, "ties 'random' is unknown; choose one of optimistic, mean, pessi"),
        (
            {"context": "test"},
            "context 'test' is unknown; choose train, train\\+valid, all or past",
        ),
        ({"device": "tpu9"}, "device 'tpu9' is not to be had here"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(options: dict[str, str], message: str) -> None:
    run = fake_run(World(2, 1, [(0, 0, 1, 0)]).dataset, FakeModel(few_values))
    with pytest.raises(InputError, match=message):
        evaluate(run, **options)  # type: ignore[arg-type]


def test_a_folder_is_evaluated_like_its_run(tmp_path: Path) -> None:
    run = fit(WORLD.dataset, "seen")
    save_run(run, tmp_path / "run")
    assert evaluate(tmp_path / "run", device="cpu") == evaluate(run, device="cpu")


def test_scores_are_compiled_for_an_evaluation_and_not_for_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(BoxTE, "compile_scores", lambda self: compiled.append("boxte"))
    recipe = find_recipe("boxte", changes={"dim": 4, "compile": True})
    run = Run(recipe, 0, WORLD.dataset, initialize(recipe, WORLD.dataset, seed=0))
    save_run(run, tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    Predictor(loaded, device="cpu").predict("e0", "r0", None, WORLD.dataset.timeline.first)
    assert compiled == []
    evaluate(loaded, device="cpu")
    assert compiled == ["boxte"]


def test_added_facts_are_seen_and_known_but_never_those_asked_about() -> None:
    """As if train had held them from the beginning, in context and filters."""
    world = World(5, 1, [(0, 0, 1, 0), (0, 0, 2, 5), (0, 0, 3, 0), (2, 0, 1, 5)], cuts=(1, 2))
    model = FakeModel(few_values)
    model.reads_context = True
    rows = [("e0", "r0", "e4", "1970-01-01"), ("e2", "r0", "e1", "1970-01-06")]
    more = pl.DataFrame(rows, schema=["subject", "relation", "object", "time"], orient="row")
    report = evaluate(fake_run(world.dataset, model), facts=more, device="cpu")
    beginning = World(5, 1, [(0, 0, 1, 0), (0, 0, 4, 0), *world.facts[1:]], cuts=(2, 3))
    assert report.metrics == report_of(beginning, few_values).metrics
    assert report.metrics != report_of(world, few_values).metrics
    assert report.dataset == "world with 1 added fact"
    assert report.notes == (
        "facts of the frame: 1 added to the context, 1 left out since the test split asks about "
        "them",
    )
    assert report.to_json()["notes"] == list(report.notes)
    assert report_table(report).notes == report.notes


def test_files_that_are_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    run, ranks = fit(World(2, 1, [(0, 0, 1, 0)]).dataset, "seen"), tmp_path / "a.parquet"
    two = ProcessGroup(index=0, size=2)
    options: list[tuple[dict[str, Any], str]] = [
        ({"ranks_out": tmp_path / "a.csv"}, "a.csv should end in .parquet"),
        ({"ranks_out": ranks, "ask": "time"}, "ranks_out means nothing where ask is 'time'"),
        ({"ranks_out": ranks, "processes": two}, "is written by one process"),
    ]
    for given, sentence in options:
        with pytest.raises(InputError, match=sentence):
            evaluate(run, device="cpu", **given)
    assert not ranks.exists()
