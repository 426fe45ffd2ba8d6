"""The report on a folder of results: complete, self-contained, and a function of the results."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from small_results import experiment_of, results_of, write_all, write_results
from targcn.experiments import pages, tables
from targcn.experiments.pages import write_report
from targcn.experiments.results import read_results
from targcn.experiments.spec import Experiment, Row, find_experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COPY = Row("copy", model="decayed-copy", place=2)
SEEN = Row("seen", model="seen", place=1)


def test_the_kept_report_is_that_of_the_kept_results(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    if not (ROOT / "docs" / "report").exists():
        pytest.skip("no report is kept here")
    write_report(read_results(ROOT / "results"), tmp_path / "report")
    written = {path.name: path for path in (tmp_path / "report").iterdir()}
    kept_files = {path.name: path for path in (ROOT / "docs" / "report").iterdir()}
    assert kept_files.keys() == written.keys() - {"index.html"}
    for name, path in kept_files.items():
        text = path.read_text(encoding="utf-8")
        # Another matplotlib draws the same in other words.
        if name == "report.md" or f"Matplotlib v{matplotlib.__version__}," in text:
            assert text == written[name].read_text(encoding="utf-8"), name


class Balance(HTMLParser):
    """Fails where a tag is not closed in its turn, or where something from elsewhere is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.said = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag != "meta":
            self.open.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("href", "xlink:href", "src") if name in found]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said += data


def read_page(folder: Path) -> Balance:
    page = Balance()
    page.feed((folder / "index.html").read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert {f"#{name}" for name in page.ids} >= set(page.links)
    return page


def test_a_report_holds_what_was_measured_and_names_what_was_not(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write_results(tmp_path / "results", "search-range", "icews14", {"15 days": [0.3]})
    write_results(folder, "main", "icews14", {"TeAST": [0.4, 0.5], "seen, no training": [0.3]})
    write_report(read_results(folder), tmp_path / "out")
    page = read_page(tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for words in (
        "At a glance",
        "How many days around the query's day are searched for facts.",
        "targcn reproduce search-range --data icews14",
        "targcn reproduce main --data icews14",
        "only 2 of 3 seeds finished",
        "Main results, icews05-15: not measured",
        "Main results, gdelt: not measured",
        "0123456789ab",
        "icews14/teast-default-seed1-",
    ):
        assert words in text
        assert words in page.said
    assert "quick run" not in text
    assert "reproduce decoders" not in text
    plotted = ["main-icews14.svg", "search-range-icews14.svg"]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["index.html", *plotted[:1], "report.md", *plotted[1:]]
    assert re.findall(r"\]\((.+\.svg)\)", text) == plotted


def test_a_report_of_a_quick_run_says_so_first(tmp_path: Path) -> None:
    reached = {"seen, no training": [0.3]}
    folder = write_results(tmp_path / "results", "unseen", "congress-unseen-seed0", reached)
    write_report(read_results(folder), tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "its figures mean nothing" in text.split("\n\n")[1]
    assert "$ targcn reproduce unseen --quick\n" in text
    assert text.count("targcn reproduce") == 1
    assert "At a glance" not in text
    page = read_page(tmp_path / "out")
    assert page.said.index("mean nothing") < page.said.index(
        "Times never seen: congress-unseen-seed0"
    )


def only(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no other experiment."""
    monkeypatch.setattr(pages, "EXPERIMENTS", [experiment.name])
    for module in (pages, tables):
        monkeypatch.setattr(module, "find_experiment", lambda name: experiment)


def test_odd_names_are_shown_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = 'a<b> & "c" | $d$ _e_'
    rows = (replace(SEEN, name=odd, note=odd), replace(COPY, name="<!-- copy -->"))
    experiment = experiment_of(*rows, title=odd, about=odd, plot=odd)
    only(experiment, monkeypatch)
    folder = write_all(
        results_of(experiment, {odd: [0.4], "<!-- copy -->": [0.3]}), tmp_path / "results"
    )
    write_report(read_results(folder), tmp_path / "out")
    said = read_page(tmp_path / "out").said
    # At a glance, and under three filters.
    assert said.count(f"{odd}: {odd}") == 4
    assert "<!-- copy -->" in said
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    escaped = 'a\\<b> \\& "c" \\| $d$ \\_e\\_'
    assert f"\n| {escaped} | .600 |" in text
    assert odd not in text


def test_plots_have_a_line_for_what_was_measured_beside_each_of_the_papers(
    tmp_path: Path,
) -> None:
    experiment = find_experiment("efficiency")
    given = {"TARGCN, dim 100": [0.3], "TARGCN, dim 300": [0.4], "T-GAP, dim 50": [0.5]}
    results = results_of(experiment, given)
    lines = tables.lines_of(experiment, "icews14", results, 1)
    plotted = list(pages._lines_over_parameters(lines))
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
    assert raw.points != static.points
    lines = tables.lines_of(find_experiment("search-range"), "icews14", results, 1)
    plotted = list(pages._lines_over_places(lines))
    assert [line.name for line in plotted[:2]] == [
        "MRR, measured, static filter",
        "MRR, paper, static filter",
    ]
    assert len(plotted) == 8
    assert plotted[0].points == [(365, pytest.approx(0.6))]
    assert plotted[7].points[0] == (15, 0.498)


def test_a_report_is_a_function_of_its_results(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "results", "main", "icews14", {"TeAST": [0.4, 0.5]})
    for name in ("one", "two"):
        write_report(read_results(folder), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_report_without_matplotlib_says_why_it_has_no_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    folder = write_results(tmp_path / "results", "main", "icews14", {"TeAST": [0.4]})
    write_report(read_results(folder), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["index.html", "report.md"]
    assert "no plots here: plots need matplotlib; install it" in read_page(tmp_path / "out").said
