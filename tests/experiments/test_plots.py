"""Plots of experiments: a line for what was measured beside each of the paper's."""

from pathlib import Path

import pytest

from small_results import results_of, write_results
from targcn.experiments.plots import lines_over_parameters, lines_over_places, plot_experiments
from targcn.experiments.results import read_results
from targcn.experiments.spec import find_experiment
from targcn.experiments.tables import lines_of

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_kept_plots_are_those_of_the_kept_results(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    if not (ROOT / "results").exists():
        pytest.skip("no results are kept here")
    for path in plot_experiments(read_results(ROOT / "results"), tmp_path):
        kept = ROOT / "docs" / "pictures" / path.name
        # Another matplotlib draws the same in other words.
        if f"Matplotlib v{matplotlib.__version__}," in kept.read_text(encoding="utf-8"):
            assert path.read_bytes() == kept.read_bytes(), path.name


def test_experiments_with_results_are_plotted(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write_results(tmp_path / "results", "search-range", "icews14", {"15 days": [0.3]})
    write_results(folder, "main", "icews14", {"TeAST": [0.4, 0.5], "seen, no training": [0.3]})
    written = plot_experiments(read_results(folder), tmp_path / "out")
    assert [path.name for path in written] == ["main-icews14.svg", "search-range-icews14.svg"]
    assert all("<svg" in path.read_text(encoding="utf-8") for path in written)


def test_lines_over_parameters_are_of_one_filter_each() -> None:
    given = {"TARGCN, dim 100": [0.3], "TARGCN, dim 300": [0.4], "T-GAP, dim 50": [0.5]}
    experiment = find_experiment("efficiency")
    lines = lines_of(experiment, "icews14", results_of(experiment, given), 1)
    plotted = list(lines_over_parameters(lines))
    assert {line.name: (line.dashed, len(line.points)) for line in plotted} == {
        "TARGCN, measured, static filter": (False, 2),
        "TARGCN, paper, static filter": (True, 4),
        "T-GAP, measured, raw filter": (False, 1),
        "T-GAP, paper, raw filter": (True, 3),
        "T-GAP, measured, static filter": (False, 1),
        "TeMP-SA, paper, time-aware filter": (True, 3),
    }
    assert plotted[0].points == [(7.6e6, 0.5), (7.6e6, pytest.approx(0.6))]
    raw, paper, static = plotted[2:5]
    assert paper.points[0] == (928675, 0.582)
    # What may be compared has one color.
    assert raw.color == paper.color != static.color


def test_lines_over_places_are_of_one_metric_each() -> None:
    experiment = find_experiment("search-range")
    lines = lines_of(experiment, "icews14", results_of(experiment, {"365 days": [0.4]}), 1)
    plotted = list(lines_over_places(lines))
    assert len(plotted) == 8
    assert plotted[0].name == "MRR, measured, static filter"
    assert plotted[0].points == [(365, pytest.approx(0.6))]
    assert plotted[7].points[0] == (15, 0.498)
