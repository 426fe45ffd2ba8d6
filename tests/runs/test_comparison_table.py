"""A comparison as a table, in files and as a plot: one list of columns for all of them."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from small_runs import world_runs
from targcn.evaluation import metrics
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.metrics import METRICS, Metric
from targcn.output.tables import to_text, write_table
from targcn.runs import comparison_table as module
from targcn.runs.compare import Comparison, compare
from targcn.runs.comparison_table import comparison_table, plot_comparison
from targcn.runs.evaluate import evaluate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(world_runs(), device="cpu")


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


def test_markdown_names_filter_context_and_ties(found: Comparison, tmp_path: Path) -> None:
    write_table(comparison_table(found), tmp_path / "all.md")
    text = (tmp_path / "all.md").read_text()
    assert text.startswith(
        "4 runs on world: 80 queries, test split, context train+valid, mean rank on ties:"
    )
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    table = comparison_table(found)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == [label.replace("\n", ", ") for label in table.labels]
    assert cells[1:] == table.cells()
    assert "MRR, raw | MRR, static | MRR, time-aware | Hits@1, time-aware" in text


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


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize("parameters", [(0, 0, 0, 0), (0, 500, 500, 10**7)])
@pytest.mark.filterwarnings("error")
def test_plot_writes_a_picture(
    found: Comparison, tmp_path: Path, ending: str, parameters: tuple[int, ...]
) -> None:
    pytest.importorskip("matplotlib")
    runs = [
        replace(run, num_parameters=number, name=f"${run.name}")
        for run, number in zip(found.runs, parameters, strict=True)
    ]
    plot_comparison(Comparison(tuple(runs)), tmp_path / f"all.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert (tmp_path / f"all.{ending}").read_bytes().startswith(start)


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
