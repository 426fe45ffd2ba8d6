"""Figures in the texts: tables of what was measured, and plots beside each of the paper's."""

import re
from pathlib import Path
from typing import Any

import pytest

from figures import (
    fill,
    lines_over_parameters,
    lines_over_places,
    main,
    mrr_table,
    plot_experiments,
)
from small_results import experiment_of, results_of, write_results
from targcn.errors import InputError
from targcn.experiments.cells import read_results
from targcn.experiments.spec import EXPERIMENTS, Row, find_experiment
from targcn.experiments.tables import lines_of

ROOT = Path(__file__).parents[1]
TEXT = """# Title

<!-- table: {} -->
old words
<!-- end of table -->

`<!-- table: nothing -->` is no place for one.
"""


@pytest.fixture
def results(tmp_path: Path) -> Any:
    """A few results of real experiments, read from files."""
    folder = tmp_path / "results"
    write_results(folder, "context", "icews14", {"seen, no training": [0.4]})
    write_results(folder, "unseen", "icews14-unseen", {"seen, no training": [0.3]})
    return read_results(folder)


@pytest.mark.parametrize(
    ("place", "title", "row"),
    [
        ("context icews14 static", "test split, context train+valid, static", "| .600 |"),
        ("context icews14 static 1", "test split, context train, static", "| .590 |"),
        ("context icews14 costs", "what it cost", "| 0 |"),
        ("unseen icews14-unseen raw", "Times never seen, icews14-unseen", "| .300 |"),
        ("context all mrr", "MRR, test split, context train+valid", "| .600 | .500 |\n"),
    ],
)
def test_a_place_is_filled_and_all_else_left_alone(
    results: Any, place: str, title: str, row: str
) -> None:
    text = TEXT.format(place)
    filled = fill(text, results)
    assert fill(filled, results) == filled
    before, after = text.split("old words")
    assert filled.startswith(f"{before}\n")
    assert filled.endswith(f"\n{after}")
    assert title in filled
    assert f"\n| seen, no training {row}" in filled
    assert "old words" not in filled


def test_the_mrr_of_all_data_sets_at_a_glance() -> None:
    printed = {"icews14": {"filter": "time-aware", "test": [0.607]}}
    common = {"icews14": {"filter": "static", "test": [0.636, 0.576]}}
    rows = (
        Row("DistMult", model="distmult", paper=printed),
        Row("copy", model="decayed-copy"),
        Row("seen", model="seen", paper=common),
        Row("elsewhere", note="not built here", paper=printed),
        Row("nowhere", note="no filter", paper={"icews14": {"filter": "raw", "test": [0.6]}}),
    )
    sets = ("icews14", "icews05-15", "gdelt")
    experiment = experiment_of(*rows, data=sets, seeds=2)
    results = results_of(experiment, {"seen": [0.4356], "DistMult": [0.5, 0.52]})
    results |= results_of(experiment, {"DistMult": [0.6]}, "icews05-15")
    table = mrr_table(experiment, results)
    assert "in brackets what the paper prints, under the filter of that figure" in table.title
    assert table.labels == [
        "run",
        "icews14, static",
        "icews14, time-aware",
        "icews05-15, static",
        "icews05-15, time-aware",
    ]
    assert table.cells() == [
        ["DistMult", ".710 ± .014", ".610 ± .014 (.607)", ".800", ".700"],
        ["copy", "not run", "", "not run", ""],
        ["seen", ".636 (.636)", ".536", "not run", ""],
        ["elsewhere", "", "(.607)", "", ""],
    ]
    assert table.notes == (
        "icews05-15: only 1 of 2 seeds finished",
        "elsewhere: not built here",
        "nowhere: left out, without a figure under these filters",
    )


def test_a_text_without_a_place_stays_as_it_is(results: Any) -> None:
    for text in ("", "no\r\nend", TEXT.split("<!--")[0]):
        assert fill(text, results) == text


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("contxt icews14 raw", "there is no experiment 'contxt'; did you mean 'context'?"),
        ("context icews41 raw", "'context icews41 raw' is unclear; write context DATA FILTER"),
        ("context icews14 filtered", "the filters raw, static, time-aware or costs"),
        ("context icews14 raw 2", "the settings 0, 1"),
        ("context all mrr 0", "the data sets are icews14, icews05"),
        ("context icews14", "'context icews14' is unclear; write context DATA FILTER [SETTING]"),
        ("context icews14 raw 0 0", "'context icews14 raw 0 0' is unclear"),
    ],
)
def test_a_place_for_what_is_not_there(results: Any, place: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        fill(TEXT.format(place), results)


def test_a_place_without_an_end(results: Any) -> None:
    place = "context icews14 raw"
    for after in ("words", TEXT.format("context icews14 static")):
        with pytest.raises(InputError, match=f"nothing ends the table '{place}'; add a line"):
            fill(f"<!-- table: {place} -->\n{after}", results)


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_the_documentation_holds_the_kept_results(path: Path) -> None:
    if not (ROOT / "results").exists():
        pytest.skip("no results are kept here")
    text = path.read_text(encoding="utf-8")
    assert fill(text, read_results(ROOT / "results")) == text


def test_the_documentation_has_a_place_for_every_experiment() -> None:
    text = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/filters.md", "docs/experiments.md")
    }
    for each in text.values():
        assert "<!-- table: main all mrr -->" in each
    places = re.findall(r"<!-- table: (\S+) (\S+)", text["docs/experiments.md"])
    assert {name for name, _ in places} == {*EXPERIMENTS}
    assert {"icews14", "icews05-15", "icews14-unseen", "icews14-irregular"} < {
        of for _, of in places
    }


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


def test_the_program_fills_texts_and_plots_what_has_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    folder = write_results(tmp_path / "results", "search-range", "icews14", {"15 days": [0.3]})
    write_results(folder, "main", "icews14", {"TeAST": [0.4, 0.5], "seen, no training": [0.3]})
    texts, out = [tmp_path / "one.md", tmp_path / "two.md"], tmp_path / "out"
    for path in texts:
        path.write_text(TEXT.format("main icews14 static"))
    monkeypatch.setattr(
        "sys.argv", ["figures.py", *map(str, (folder, "--fill", *texts)), "--plots", str(out)]
    )
    main()
    expected = fill(TEXT.format("main icews14 static"), read_results(folder))
    assert [path.read_text() for path in texts] == [expected] * 2
    plots = sorted(out.iterdir())
    assert [path.name for path in plots] == ["main-icews14.svg", "search-range-icews14.svg"]
    assert all("<svg" in path.read_text(encoding="utf-8") for path in plots)


def test_lines_over_parameters_are_of_one_filter_each() -> None:
    given = {"TARGCN, dim 100": [0.3], "TARGCN, dim 300": [0.4], "T-GAP, dim 50": [0.5]}
    experiment = find_experiment("efficiency")
    lines = lines_of(experiment, "icews14", results_of(experiment, given))
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
    lines = lines_of(experiment, "icews14", results_of(experiment, {"365 days": [0.4]}))
    plotted = list(lines_over_places(lines))
    assert len(plotted) == 8
    assert plotted[0].name == "MRR, measured, static filter"
    assert plotted[0].points == [(365, pytest.approx(0.6))]
    assert plotted[7].points[0] == (15, 0.498)
