"""A comparison has the figures of evaluate and the intervals of a literal bootstrap."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import oracle
from fake_model import write_scores
from oracle import World
from small_runs import FACTS, WORLD, world_runs
from targcn.errors import InputError
from targcn.evaluation import metrics
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.metrics import METRICS, Metric
from targcn.evaluation.report import Setting
from targcn.facts.dataset import Dataset, Facts
from targcn.output.tables import to_text, write_table
from targcn.runs import compare as module
from targcn.runs.compare import (
    Comparison,
    compare,
    comparison_table,
    resampled_means,
)
from targcn.runs.evaluate import evaluate
from targcn.training.fit import fit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(world_runs(), device="cpu")


def test_figures_are_those_of_evaluate(found: Comparison) -> None:
    expected = {name: evaluate(run, device="cpu") for name, run in world_runs().items()}
    assert {run.name: run.report for run in found.runs} == expected


@pytest.mark.parametrize("which", FILTERS)
def test_the_chosen_filter_orders_and_subtracts(which: Any) -> None:
    found = compare(world_runs(), filter=which, device="cpu")
    figures = [run.report.metrics[which]["both"]["mrr"] for run in found.ranked]
    assert figures == sorted(figures, reverse=True)
    assert found.reference is found.ranked[0]
    for run in found.ranked:
        assert found.differences[run.name].mrr == pytest.approx(run.mrr(which) - figures[0])


def test_every_choice_of_evaluate_is_passed_on() -> None:
    found = compare(world_runs(), split="valid", context="train", ties="pessimistic", device="cpu")
    run = world_runs()["seen"]
    expected = evaluate(run, split="valid", context="train", ties="pessimistic", device="cpu")
    assert found.runs[-1].report == expected


def test_runs_of_different_contexts_are_compared_in_a_chosen_one() -> None:
    runs = {"ever": fit(WORLD.dataset, "seen"), "past": fit(WORLD.dataset, "seen", past_only=True)}
    sentence = (
        "ever is evaluated with the context train.valid, past with past; take runs of one context"
    )
    with pytest.raises(InputError, match=sentence):
        compare(runs, device="cpu")
    found = compare(runs, context="past", device="cpu")
    assert [run.report.setting.context for run in found.runs] == ["past", "past"]
    assert found.runs[0].report.metrics == found.runs[1].report.metrics
    alike = {"one": runs["past"], "other": runs["past"]}
    assert compare(alike, device="cpu").common.setting.context == "past"


# --- how certain a difference is -----------------------------------------------------------


def test_interval_equals_a_literal_bootstrap() -> None:
    found = compare(world_runs(), to="seen", resamples=150, seed=4, device="cpu")
    positions = np.random.default_rng(4).integers(40, size=(150, 40)).tolist()
    base = found.reference.ranks["time-aware"].tolist()
    for run in found.runs:
        differences = oracle.resampled_differences(
            run.ranks["time-aware"].tolist(), base, positions
        )
        low, high = np.quantile(differences, [0.025, 0.975])
        difference = found.differences[run.name]
        assert (difference.low, difference.high) == pytest.approx((low, high), abs=1e-12)
        assert difference.zero_inside == (run.name == "seen" or low <= 0 <= high)


@pytest.mark.parametrize("most_at_once", [1, 100])
def test_resampling_in_parts_changes_nothing(most_at_once: int) -> None:
    values = np.random.default_rng(1).normal(size=(2, 40))
    parts = resampled_means(values, 150, 4, most_at_once)
    np.testing.assert_allclose(parts, resampled_means(values, 150, 4))


def test_resamples_are_paired_and_a_function_of_the_seed() -> None:
    values = np.random.default_rng(1).normal(size=50)
    both = resampled_means(np.stack([values, values + 0.5]), 200, seed=0)
    assert both[1] - both[0] == pytest.approx(np.full(200, 0.5))
    again, other = (resampled_means(values[None], 200, seed=seed)[0] for seed in (0, 1))
    assert again == pytest.approx(both[0])
    assert other != pytest.approx(both[0])


def test_two_queries_of_a_fact_are_resampled_together() -> None:
    # Where one query of each fact is as much better as the other is worse, no resample differs.
    two_runs = compare(world_runs(), device="cpu").runs[:2]
    ranks = torch.tensor([1.0, 2.0]).repeat_interleave(40), torch.tensor([2.0, 1.0])
    mirrored = (ranks[0], ranks[1].repeat_interleave(40))
    runs = [
        replace(run, ranks=dict.fromkeys(FILTERS, of))
        for run, of in zip(two_runs, mirrored, strict=True)
    ]
    for difference in Comparison(tuple(runs)).differences.values():
        assert (difference.low, difference.high) == (0, 0)


# --- what is refused -----------------------------------------------------------------------


def with_split(dataset: Dataset, split: str, change: Callable[[Any], Any]) -> Dataset:
    splits: Any = dict(dataset.splits)
    splits[split] = Facts.of(*change(splits[split].columns))
    return replace(dataset, splits=splits)


def test_runs_of_different_data_are_refused_by_content() -> None:
    dataset = WORLD.dataset
    for other, what in (
        (World(10, 2, FACTS, cuts=(100, 120)).dataset, "entities"),
        (World(9, 3, FACTS, cuts=(100, 120)).dataset, "relations"),
        (replace(dataset, timeline=replace(dataset.timeline, start=1)), "times"),
        (with_split(dataset, "test", lambda columns: columns[:, :-1]), "test facts"),
        (World(9, 2, FACTS, cuts=(101, 120)).dataset, "train facts"),
    ):
        sentence = f"one and two have different data: their {what} differ"
        with pytest.raises(InputError, match=sentence):
            compare({"one": fit(dataset, "seen"), "two": fit(other, "seen")}, device="cpu")


def test_another_name_and_another_order_are_the_same_data() -> None:
    other = replace(WORLD.dataset, name="other")
    for split in ("train", "test"):
        other = with_split(other, split, lambda columns: columns[:, ::-1])
    twins = compare({"one": fit(WORLD.dataset, "seen"), "two": fit(other, "seen")}, device="cpu")
    for twin in twins.differences.values():
        assert (twin.mrr, twin.low, twin.high, twin.zero_inside) == (0, 0, 0, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"filter": "timeaware"}, "filter 'timeaware' is unknown; choose one of raw, static"),
        ({"to": "sean"}, "sean is not one of the runs compared; choose one of copy-0.5"),
        ({"resamples": 10}, "resamples is 10; at least 100 was"),
        ({"seed": -1}, "seed is -1; it cannot be negative"),
        ({"split": "tset"}, "split 'tset' is unknown"),
        ({"ties": "random"}, "ties 'random' is unknown"),
        ({"context": "test"}, "context 'test' is unknown"),
    ],
)
def test_choices_that_are_not_there(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        compare(world_runs(), device="cpu", **options)


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(InputError, match="takes two runs or more"):
        compare({"seen": world_runs()["seen"]})


def test_a_comparison_shows_who_is_best_and_how_certain_that_is(found: Comparison) -> None:
    lines = repr(found).splitlines()
    assert len(lines) == 3 + len(found.runs)
    assert lines[0].startswith("4 runs on world: 80 queries, test split")
    assert [line.split()[0] for line in lines[2:-1]] == [run.name for run in found.ranked]
    difference = found.differences[found.ranked[-1].name]
    assert f"{difference.low:+z.4f}" in lines[-2]
    assert f"<td>{found.ranked[0].name}</td>" in found._repr_html_()


def test_runs_without_names_are_refused() -> None:
    with pytest.raises(InputError, match="give runs by name"):
        compare(list(world_runs().values()))  # type: ignore[arg-type]


# --- systems from outside ------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scores and the ranks of `seen`, and its ranks under the static filter alone."""
    folder = tmp_path_factory.mktemp("files")
    scores, ranks = folder / "scores.parquet", folder / "ranks.parquet"
    seen = world_runs()["seen"]
    evaluate(seen, device="cpu", ranks_out=ranks)
    evaluator = Evaluator(seen.dataset, Setting("test", "train+valid"), torch.device("cpu"))
    write_scores(seen.model, evaluator, scores)
    pl.read_parquet(ranks).drop("raw", "time-aware").write_parquet(folder / "static.parquet")
    return folder


@pytest.mark.parametrize("name", ["scores", "ranks"])
def test_a_system_from_outside_has_its_own_figures(files: Path, name: str) -> None:
    runs = {"copy": world_runs()["copy-3"], "seen": world_runs()["seen"]}
    found = compare(runs, ranks=[files / f"{name}.parquet"], to="seen", device="cpu")
    ours, theirs = found.runs[1:]
    assert (ours.report.metrics, ours.report.mrr_interval, ours.report.by_relation) == (
        theirs.report.metrics,
        theirs.report.mrr_interval,
        theirs.report.by_relation,
    )
    assert theirs.report.model == f"{name} from outside"
    assert (theirs.num_parameters, theirs.queries_per_second) == (None, None)
    difference = found.differences[name]
    assert (difference.mrr, difference.low, difference.high) == (0, 0, 0)


@pytest.mark.parametrize("protocol", ["enumerate-time", "identical"])
def test_a_system_from_outside_is_judged_over_intervals(tmp_path: Path, protocol: Any) -> None:
    facts = [(*fact, fact[3] + number % 4) for number, fact in enumerate(FACTS)]
    lasting = replace(WORLD, facts=facts)
    run = fit(lasting.dataset, "decayed-copy", scale=2)
    files = {name: tmp_path / f"{name}.parquet" for name in ("scores", "ranks")}
    options: dict[str, Any] = {"intervals": protocol, "context": "train", "device": "cpu"}
    report = evaluate(run, ranks_out=files["ranks"], **options)
    evaluator = Evaluator(lasting.dataset, report.setting, torch.device("cpu"))
    write_scores(run.model, evaluator, files["scores"])
    found = compare({"ours": run}, ranks=files, **options)
    assert [run.report.metrics for run in found.runs] == [report.metrics] * 3
    other = {"enumerate-time": "identical", "identical": "enumerate-time"}[protocol]
    with pytest.raises(InputError, match=f"was ranked with intervals {protocol}, the others are"):
        compare({"ours": run}, ranks=[files["ranks"]], **options | {"intervals": other})


def test_a_file_that_is_called_like_a_run_is_told_from_it_by_its_path(files: Path) -> None:
    runs = {name: world_runs()["seen"] for name in ("seen", "ranks")}
    found = compare(runs, ranks=[files / "ranks.parquet"], device="cpu")
    assert [run.name for run in found.runs] == ["seen", "ranks", str(files / "ranks.parquet")]


def test_ties_of_scores_from_outside_are_chosen_here(files: Path) -> None:
    options: dict[str, Any] = {"ties": "pessimistic", "device": "cpu"}
    found = compare({"seen": world_runs()["seen"]}, ranks=[files / "scores.parquet"], **options)
    ours, theirs = found.runs
    assert ours.report.metrics == theirs.report.metrics
    assert ours.report.metrics != evaluate(world_runs()["seen"], device="cpu").metrics


def test_ranks_are_compared_under_the_filters_they_have(files: Path) -> None:
    runs, ranks = {"seen": world_runs()["seen"]}, {"theirs": files / "static.parquet"}
    found = compare(runs, ranks=ranks, filter="static", device="cpu")
    assert list(found.runs[1].report.metrics) == ["static"]
    assert found.differences["theirs"].mrr == 0
    sentence = "theirs has no ranks under the raw filter; choose the filter static, or give its"
    with pytest.raises(InputError, match=sentence):
        compare(runs, ranks=ranks, filter="raw", device="cpu")


def test_what_is_refused_of_files(files: Path) -> None:
    runs, scores = {"seen": world_runs()["seen"]}, files / "scores.parquet"
    with pytest.raises(InputError, match="is no query of the valid split of world; 80 of 80"):
        compare(runs, ranks=[scores], split="valid", device="cpu")
    with pytest.raises(InputError, match="or one beside files of ranks"):
        compare({}, ranks=[scores, files / "ranks.parquet"], device="cpu")
    with pytest.raises(InputError, match="a run and a file of ranks have the same name"):
        compare(runs, ranks={"seen": scores}, device="cpu")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_json_holds_everything(found: Comparison, tmp_path: Path) -> None:
    write_table(comparison_table(found), tmp_path / "all.json")
    rows = json.loads((tmp_path / "all.json").read_text())
    for run, row in zip(found.ranked, rows, strict=True):
        assert [row[key] for key in ("run", "dataset", "split", "context", "ties", "filter")] == [
            run.name,
            "world",
            "test",
            "train+valid",
            "mean",
            "time-aware",
        ]
        bootstrap = {"compared to": found.reference.name, "resamples": 2000, "seed": 0}
        assert row.items() >= (bootstrap | {"level": 0.95, "num_queries": 80}).items()
        for which, sides in run.report.metrics.items():
            for side, figures in sides.items():
                prefix = which if side == "both" else f"{which} {side}"
                assert {key: row[f"{prefix} {key}"] for key in figures} == figures
                low, high = run.report.mrr_interval[which][side]
                assert (row[f"{prefix} mrr low"], row[f"{prefix} mrr high"]) == (low, high)
        difference = found.differences[run.name]
        keys = ("mrr difference", "mrr difference low", "mrr difference high", "zero inside")
        values = [difference.mrr, difference.low, difference.high, difference.zero_inside]
        is_reference = run is found.reference
        assert [row[f"time-aware {key}"] for key in keys] == (
            [None] * 4 if is_reference else values
        )
        assert row["training seconds"] is None


def test_every_figure_names_its_filter(found: Comparison) -> None:
    for column in comparison_table(found).columns:
        if any(metric.key in column.key.split() for metric in METRICS):
            assert column.key.split()[0] in FILTERS
            assert not column.shown or column.label.endswith(f"\n{column.key.split()[0]}")


def test_a_new_metric_is_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs one line in the table of metrics, and nothing here."""
    new = Metric("hits@5", "Hits@5", lambda ranks: (ranks <= 5).double(), ".4f")
    for holder in (metrics, module):
        monkeypatch.setattr(holder, "METRICS", (*METRICS, new))
    found = compare(world_runs(), device="cpu")
    best = found.ranked[0]
    value = float((best.ranks["time-aware"] <= 5).double().mean())
    table = comparison_table(found)
    assert table.cells()[0][table.labels.index("Hits@5\ntime-aware")] == f"{value:.4f}"
    for ending in ("csv", "json", "md"):
        write_table(comparison_table(found), tmp_path / f"all.{ending}")
    assert float(read_csv(tmp_path / "all.csv")[0]["time-aware hits@5"]) == value
    assert json.loads((tmp_path / "all.json").read_text())[0]["time-aware hits@5"] == value
    assert "| Hits@5, time-aware |" in (tmp_path / "all.md").read_text()


def test_the_reference_is_not_compared_with_itself(found: Comparison) -> None:
    table = comparison_table(found)
    first = table.labels.index("difference\ntime-aware")
    assert table.cells()[0][first : first + 4] == ["–"] * 4
    assert table.cells()[-1][first + 3] in ("yes", "no")


def test_what_is_not_known_of_systems_from_outside(tmp_path: Path) -> None:
    runs, ranks = {"seen": world_runs()["seen"]}, tmp_path / "a.parquet"
    evaluate(runs["seen"], device="cpu", ranks_out=ranks)
    pl.read_parquet(ranks).drop("raw").write_parquet(tmp_path / "theirs.parquet")
    found = compare(runs, ranks=[tmp_path / "theirs.parquet"], to="seen", device="cpu")
    table = comparison_table(found)
    _, theirs = table.records()
    assert theirs["static mrr"] == found.runs[0].mrr("static")
    for key in ("context", "ties", "raw mrr", "num_parameters", "queries per second"):
        assert theirs[key] is None
    assert to_text(table).count("–") == 7 + 4
    assert table.notes[1] == (
        "theirs: ranks from outside; their filters and ties are those of whoever ranked them, and "
        "which facts it saw is not known here"
    )
