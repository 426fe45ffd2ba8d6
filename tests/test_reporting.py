"""Tables say what was measured, and the paper's figures only where they compare."""

import json
import re
import shutil
import statistics
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from targcn import pages, reporting
from targcn.cells import Cell, cells_of
from targcn.cli import main
from targcn.errors import InputError
from targcn.experiments import JUDGEMENTS, Experiment, Row, find_experiment, list_experiments
from targcn.filtering import FILTERS
from targcn.pages import write_report
from targcn.reporting import Table, fill, markdown, results_in, table_of_mrr, tables_of

ROOT = Path(__file__).parent.parent
ADDED = {"raw": 0.0, "static": 0.2, "time-aware": 0.1}

LEARNED = Row("DistMult", model="distmult")
COPY = Row("copy", model="decayed-copy", place=2)
SEEN = Row("seen", model="seen", place=1)
STATIC = {"icews14": {"filter": "static", "test": [0.636, 0.576, 0.672, 0.746], "valid": [0.647]}}
TIME_AWARE = {"icews14": {"filter": "time-aware", "test": [0.607], "parameters": 1264640}}


def experiment_of(*rows: Row, **changes: Any) -> Experiment:
    made = Experiment("tiny", "Tiny", "what is asked", data=("icews14",), rows=rows)
    return replace(made, **changes)


def result_of(cell: Cell, mrr: float) -> dict[str, Any]:
    """What a cell's file says that reached this raw MRR on test with train and valid in sight."""
    figures = {}
    for less, judgement in enumerate(JUDGEMENTS):
        at = {which: mrr + added - less / 100 for which, added in ADDED.items()}
        figures[judgement] = {
            which: {"mrr": best, "hits@1": best - 0.05, "hits@3": best, "hits@10": best + 0.05}
            for which, best in at.items()
        }
    trained = (
        {"seconds": 1234.5, "seconds_per_epoch": 12.345 + cell.seed} if cell.training else None
    )
    return {
        "cell": asdict(cell),
        "figures": figures,
        "parameters": 7_600_000 if cell.training else 0,
        "trained": trained,
        "settings": {},
        "training": {},
        "jobs": 1,
        "peak_megabytes": 1500 + cell.seed if cell.training else None,
        "seconds": 1500.4,
        "device": "NVIDIA H200",
        "commit": "0123456789ab",
    }


def results_of(
    experiment: Experiment, reached: Mapping[str, list[float]], data: str = "icews14"
) -> dict[str, dict[str, Any]]:
    """Results of an experiment: the name of a row -> the raw MRR of each seed."""
    return {
        cell.key: result_of(cell, mrr)
        for row, cells in cells_of(experiment, data, 3, quick=data.startswith("congress"))
        for cell, mrr in zip(cells, reached.get(row.name, []), strict=False)
    }


def keep(results: Mapping[str, Mapping[str, Any]], folder: Path) -> Path:
    for result in results.values():
        path = Cell(**result["cell"]).path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result))
    return folder


def kept(folder: Path, name: str, data: str, reached: Mapping[str, list[float]]) -> Path:
    return keep(results_of(find_experiment(name), reached, data), folder)


# --- tables --------------------------------------------------------------------------------


def test_a_table_as_markdown() -> None:
    rows = (replace(SEEN, paper=STATIC), COPY, replace(LEARNED, note="a word on it"))
    experiment = experiment_of(*rows, filters=("static",), seeds=2)
    results = results_of(experiment, {"seen": [0.4356], "DistMult": [0.5]})
    (table,) = tables_of(experiment, "icews14", results)
    assert (
        markdown(table)
        == """\
Tiny, icews14: test split, context train+valid, static filter, mean rank on ties, \
both directions, mean ± standard deviation of 2 seeds:

| run | MRR | Hits@1 | Hits@3 | Hits@10 | paper |
|---|---|---|---|---|---|
| seen | .636 | .586 | .636 | .686 | .636/.576/.672/.746 |
| copy | not run |  |  |  |  |
| DistMult | .700 | .650 | .700 | .750 |  |

- paper: MRR/Hits@1/Hits@3/Hits@10 as it prints them
- only 1 of 2 seeds finished
- DistMult: a word on it"""
    )


def test_the_mrr_of_all_data_sets_at_a_glance() -> None:
    rows = (
        replace(LEARNED, paper=TIME_AWARE),
        COPY,
        replace(SEEN, paper=STATIC),
        Row("elsewhere", note="not built here", paper=TIME_AWARE),
        Row("nowhere", note="no filter", paper={"icews14": {"filter": "raw", "test": [0.6]}}),
    )
    sets = ("icews14", "icews05-15", "gdelt")
    experiment = experiment_of(*rows, data=sets, seeds=2)
    results = results_of(experiment, {"seen": [0.4356], "DistMult": [0.5, 0.52]})
    results |= results_of(experiment, {"DistMult": [0.6]}, "icews05-15")
    table = table_of_mrr(experiment, results)
    assert "in brackets what the paper prints, under the filter of that figure" in table.title
    assert table.heads == (
        "run",
        "icews14, static",
        "icews14, time-aware",
        "icews05-15, static",
        "icews05-15, time-aware",
    )
    assert table.rows == (
        ("DistMult", ".710 ± .014", ".610 ± .014 (.607)", ".800", ".700"),
        ("copy", "not run", "", "not run", ""),
        ("seen", ".636 (.636)", ".536", "not run", ""),
        ("elsewhere", "", "(.607)", "", ""),
    )
    assert table.notes == (
        "icews05-15: only 1 of 2 seeds finished",
        "elsewhere: not built here",
        "nowhere: left out, without a figure under these filters",
    )


def test_several_seeds_are_a_mean_and_a_sample_standard_deviation() -> None:
    reached = [0.41, 0.42, 0.45]
    experiment = experiment_of(LEARNED, seeds=3, filters=("raw",))
    results = results_of(experiment, {"DistMult": reached})
    (table,) = tables_of(experiment, "icews14", results)
    middle, spread = statistics.mean(reached), statistics.stdev(reached)
    assert table.rows[0][1] == f"{middle:.3f} ± {spread:.3f}".replace("0.", ".")
    assert table.notes == ()
    (table,) = tables_of(experiment, "icews14", results, num_seeds=2)
    assert table.rows[0][1] == ".415 ± .007"
    (table,) = tables_of(experiment, "icews14", results, num_seeds=1)
    assert table.rows[0][1] == ".410"
    assert table.title.endswith(", both directions, 1 seed")


def test_those_that_lack_seeds_are_named_unless_all_do() -> None:
    rows = (LEARNED, replace(LEARNED, name="ComplEx", model="complex"), SEEN)
    experiment = experiment_of(*rows, seeds=3, filters=("raw",))
    reached = {"DistMult": [0.4], "ComplEx": [0.4, 0.5, 0.6], "seen": [0.3]}
    for seeds, note in (
        (3, "DistMult: only 1 of 3 seeds finished"),
        (1, "only 1 of 3 seeds finished"),
    ):
        found = reached | {"ComplEx": reached["ComplEx"][:seeds]}
        (table,) = tables_of(experiment, "icews14", results_of(experiment, found))
        assert table.notes == (note,)


def test_times_taken_beside_other_runs_say_so() -> None:
    experiment = experiment_of(LEARNED, COPY, costs=True, filters=())
    results = results_of(experiment, {"DistMult": [0.5], "copy": [0.4]})
    (alone,) = tables_of(experiment, "icews14", results)
    assert alone.notes == ()
    results = {
        key: result | {"jobs": 2 if result["trained"] else 1} for key, result in results.items()
    }
    (shared,) = tables_of(experiment, "icews14", results)
    assert shared.rows[0][2:4] == ("–", "–")
    assert shared.notes == ("DistMult: shared the machine, so no times",)


def test_times_are_those_of_runs_that_had_the_machine_to_themselves() -> None:
    experiment = experiment_of(LEARNED, seeds=3, costs=True, filters=())
    results = dict(results_of(experiment, {"DistMult": [0.5, 0.5, 0.5]}))
    first, *others = results
    took = {"trained": results[first]["trained"] | {"seconds_per_epoch": 99.0}, "jobs": 2}
    results |= {key: results[key] | took for key in others}
    (table,) = tables_of(experiment, "icews14", results)
    assert table.rows[0][2] == f"{results[first]['trained']['seconds_per_epoch']:.2f}"
    assert table.notes == ("DistMult: times of the seeds that did not share the machine",)


def test_the_papers_figures_stand_only_under_their_filter_and_split() -> None:
    rival = Row("rival", paper=TIME_AWARE, note="not built here")
    experiment = experiment_of(
        replace(SEEN, paper=STATIC), rival, filters=FILTERS, judged=JUDGEMENTS
    )
    tables = tables_of(experiment, "icews14", results_of(experiment, {"seen": [0.4]}))
    assert len(tables) == 9
    found = {}
    for table in tables:
        where = re.findall(r"(test|valid) split, (.+), (\S+) filter", table.title)[0]
        found[where] = ([(row[0], *row[5:]) for row in (table.heads, *table.rows)], table.notes)
    alone = ([("run",), ("seen",)], ())
    for context in ("context train", "context train+valid"):
        assert found["test", context, "static"] == (
            [("run", "paper"), ("seen", ".636/.576/.672/.746")],
            ("paper: MRR/Hits@1/Hits@3/Hits@10 as it prints them",),
        )
        assert found["test", context, "time-aware"] == (
            [("run", "paper"), ("seen", ""), ("rival", ".607")],
            ("paper: MRR as it prints them", "rival: not built here"),
        )
        assert found["test", context, "raw"] == alone
    assert found["valid", "context train", "static"] == (
        [("run", "paper"), ("seen", ".647")],
        ("paper: MRR as it prints them",),
    )
    assert found["valid", "context train", "time-aware"] == alone
    assert found["valid", "context train", "raw"] == alone


def test_figures_are_those_of_the_judgement_and_filter() -> None:
    experiment = experiment_of(SEEN, filters=FILTERS, judged=JUDGEMENTS)
    tables = tables_of(experiment, "icews14", results_of(experiment, {"seen": [0.4]}))
    assert [table.rows[0][1] for table in tables] == [
        *(".400", ".600", ".500"),
        *(".390", ".590", ".490"),
        *(".380", ".580", ".480"),
    ]


def test_costs_are_a_table_of_their_own() -> None:
    printed = {"icews14": {"parameters": 2638200, "seconds": 405}}
    rows = (
        replace(LEARNED, paper=printed),
        SEEN,
        COPY,
        Row("rival", paper=TIME_AWARE),
        Row("none"),
    )
    experiment = experiment_of(*rows, seeds=2, filters=(), costs=True)
    results = results_of(experiment, {"DistMult": [0.4, 0.5], "seen": [0.4]})
    (table,) = tables_of(experiment, "icews14", results)
    assert table == Table(
        "Tiny, icews14: what it cost, mean of 2 seeds",
        (
            *("run", "parameters", "seconds per epoch", "training (s)", "peak GPU memory (MB)"),
            *("device", "paper's parameters", "paper's seconds per epoch"),
        ),
        (
            ("DistMult", "7,600,000", "12.85", "1,234", "1,501", "NVIDIA H200", "2,638,200", "405"),
            ("seen", "0", "–", "–", "–", "NVIDIA H200", "", ""),
            ("copy", "not run", "", "", "", "", "", ""),
            ("rival", "", "", "", "", "", "1,264,640", ""),
        ),
    )


def test_a_quick_look_is_called_one() -> None:
    experiment = experiment_of(LEARNED)
    results = results_of(experiment, {"DistMult": [0.4]}, "congress")
    tables = tables_of(experiment, "congress", results, quick=True)
    assert [table.rows[0][1] for table in tables] == [".600", ".500", ".400"]
    assert all("a quick look, whose figures mean nothing" in table.title for table in tables)
    # The same cell is another one where it is meant in earnest.
    assert tables_of(experiment, "icews14", results)[0].rows[0][1] == "not run"


def test_a_name_cannot_break_a_markdown_table() -> None:
    table = Table("a_b", ("run",), (("x|y *z* <i> `c`",),), ("see [1]",))
    assert markdown(table) == (
        "a\\_b:\n\n| run |\n|---|\n| x\\|y \\*z\\* \\<i> \\`c\\` |\n\n- see \\[1\\]"
    )


@pytest.mark.parametrize("name", list_experiments())
def test_every_experiment_has_its_tables(name: str) -> None:
    experiment = find_experiment(name)
    for data in experiment.data:
        tables = tables_of(experiment, data, {})
        wanted = len(experiment.judged) * len(experiment.filters) + experiment.costs
        assert len(tables) == wanted
        for table in tables:
            assert {len(row) for row in table.rows} == {len(table.heads)}


# --- tables in a text ----------------------------------------------------------------------

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
    kept(folder, "context", "icews14", {"seen, no training": [0.4]})
    kept(folder, "unseen", "congress-unseen", {"seen, no training": [0.3]})
    return results_in(folder)


@pytest.mark.parametrize(
    ("place", "title", "row"),
    [
        ("context icews14 static", "test split, context train+valid, static", "| .600 |"),
        ("context icews14 static 1", "test split, context train, static", "| .590 |"),
        ("context icews14 raw valid", "valid split, context train, raw", "| .380 |"),
        ("context icews14 costs", "what it cost", "| 0 |"),
        ("unseen congress-unseen raw", "(a quick look, whose", "| .300 |"),
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


def test_a_text_without_a_place_stays_as_it_is(results: Any) -> None:
    for text in ("", "no\r\nend", TEXT.split("<!--")[0]):
        assert fill(text, results) == text


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("contxt icews14 raw", "there is no experiment 'contxt'; did you mean 'context'?"),
        (
            "context icews41 raw",
            "'context icews41 raw': context has the data sets icews14, icews05",
        ),
        ("context icews14 filtered", "the filters are raw, static, time-aware, or costs"),
        ("context icews14 raw 2", "the judgements are 0, 1 and valid"),
        ("context all mrr valid", "nothing can stand after 'all mrr'"),
        ("context icews14", "'context icews14' is unclear; write EXPERIMENT DATA FILTER"),
    ],
)
def test_a_place_for_what_is_not_there(results: Any, place: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        fill(TEXT.format(place), results)


def test_a_place_without_an_end(results: Any) -> None:
    place = "<!-- table: context icews14 raw -->"
    for text in (f"{place}\nwords", f"{place}\n{TEXT.format('context icews14 raw')}"):
        with pytest.raises(InputError, match=f"nothing ends the table of '{place}'; add a line"):
            fill(text, results)


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_the_documentation_holds_the_kept_results(path: Path) -> None:
    if not (ROOT / "results").exists():
        pytest.skip("no results are kept here")
    text = path.read_text(encoding="utf-8")
    assert fill(text, results_in(ROOT / "results")) == text


def test_the_documentation_has_a_place_for_every_experiment() -> None:
    text = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/filters.md", "docs/experiments.md")
    }
    for each in text.values():
        assert "<!-- table: main all mrr -->" in each
    places = re.findall(r"<!-- table: (\S+) (\S+)", text["docs/experiments.md"])
    assert {name for name, _ in places} == {*list_experiments()}
    assert {"icews14", "icews05-15", "icews14-unseen", "icews14-irregular"} < {
        of for _, of in places
    }


def test_the_kept_report_is_that_of_the_kept_results(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    if not (ROOT / "docs" / "report").exists():
        pytest.skip("no report is kept here")
    write_report(ROOT / "results", tmp_path / "report")
    written = {path.name: path for path in (tmp_path / "report").iterdir()}
    kept_files = {path.name: path for path in (ROOT / "docs" / "report").iterdir()}
    assert kept_files.keys() == written.keys() - {"index.html"}
    for name, path in kept_files.items():
        text = path.read_text(encoding="utf-8")
        # Another matplotlib draws the same in other words.
        if name == "report.md" or f"Matplotlib v{matplotlib.__version__}," in text:
            assert text == written[name].read_text(encoding="utf-8"), name


# --- pages ---------------------------------------------------------------------------------


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
    folder = kept(tmp_path / "results", "search-range", "icews14", {"15 days": [0.3]})
    kept(folder, "main", "icews14", {"TeAST": [0.4, 0.5], "seen, no training": [0.3]})
    write_report(folder, tmp_path / "out")
    page = read_page(tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for words in (
        "At a glance",
        "How many days around the query's are looked at.",
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
    assert "quick look" not in text
    assert "reproduce decoders" not in text
    drawn = ["main-icews14.svg", "search-range-icews14.svg"]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["index.html", *drawn[:1], "report.md", *drawn[1:]]
    assert re.findall(r"\]\((.+\.svg)\)", text) == drawn


def test_a_report_of_a_quick_look_says_so_first(tmp_path: Path) -> None:
    reached = {"seen, no training": [0.3]}
    folder = kept(tmp_path / "results", "unseen", "congress-unseen", reached)
    write_report(folder, tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "its figures mean nothing" in text.split("\n\n")[1]
    assert "$ targcn reproduce unseen --quick\n" in text
    assert text.count("targcn reproduce") == 1
    assert "At a glance" not in text
    page = read_page(tmp_path / "out")
    assert page.said.index("mean nothing") < page.said.index("Times never seen: congress-unseen")


def only(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no other experiment."""
    monkeypatch.setattr(pages, "list_experiments", lambda: [experiment.name])
    for module in (pages, reporting):
        monkeypatch.setattr(module, "find_experiment", lambda name: experiment)


def test_odd_names_are_shown_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = 'a<b> & "c" | $d$ _e_'
    rows = (replace(SEEN, name=odd, note=odd), replace(COPY, name="<!-- copy -->"))
    experiment = experiment_of(*rows, title=odd, about=odd, plot=odd)
    only(experiment, monkeypatch)
    folder = keep(
        results_of(experiment, {odd: [0.4], "<!-- copy -->": [0.3]}), tmp_path / "results"
    )
    write_report(folder, tmp_path / "out")
    said = read_page(tmp_path / "out").said
    # At a glance, and under three filters.
    assert said.count(f"{odd}: {odd}") == 4
    assert "<!-- copy -->" in said
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    escaped = 'a\\<b> \\& "c" \\| $d$ \\_e\\_'
    assert f"\n| {escaped} | .600 |" in text
    assert odd not in text


def test_plots_have_a_line_for_what_was_measured_and_for_each_of_the_papers_filters(
    tmp_path: Path,
) -> None:
    experiment = find_experiment("efficiency")
    results = results_of(experiment, {"TARGCN, size 100": [0.3], "TARGCN, size 300": [0.4]})
    lines = reporting.lines_of(experiment, "icews14", results, 1, quick=False)
    drawn = pages._lines_over_parameters(lines)
    assert {line.name: (line.dashed, len(line.points)) for line in drawn} == {
        "TARGCN, measured, static filter": (False, 2),
        "TARGCN, paper, static filter": (True, 4),
        "T-GAP, paper, raw filter": (True, 3),
        "TeMP-SA, paper, time-aware filter": (True, 3),
    }
    assert drawn[0].points == [(7.6e6, 0.5), (7.6e6, pytest.approx(0.6))]
    assert drawn[2].points[0] == (928675, 0.582)
    lines = reporting.lines_of(find_experiment("search-range"), "icews14", results, 1, quick=False)
    drawn = pages._lines_over_places(lines)
    assert [line.name for line in drawn[:2]] == [
        "MRR, measured, static filter",
        "MRR, paper, static filter",
    ]
    assert len(drawn) == 8
    assert drawn[0].points == [(365, pytest.approx(0.6))]
    assert drawn[7].points[0] == (15, 0.498)


def test_a_report_is_a_function_of_its_results(tmp_path: Path) -> None:
    folder = kept(tmp_path / "results", "main", "icews14", {"TeAST": [0.4, 0.5]})
    for name in ("one", "two"):
        write_report(folder, tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_report_without_matplotlib_says_why_it_has_no_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    folder = kept(tmp_path / "results", "main", "icews14", {"TeAST": [0.4]})
    write_report(folder, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["index.html", "report.md"]
    assert "no plots here: plots need matplotlib; install it" in read_page(tmp_path / "out").said


# --- the command ---------------------------------------------------------------------------


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as leaving:
        main(["report", *map(str, arguments)])
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


def test_the_command_writes_pages_and_fills_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    texts = [tmp_path / name for name in ("one.md", "two.md")]
    for path in texts:
        path.write_text(TEXT.format("context icews14 static"))
    out = tmp_path / "deep" / "out"
    with pytest.raises(SystemExit) as leaving:
        main(["report", str(folder), "--fill", *map(str, texts), "--out", str(out)])
    assert leaving.value.code == 0
    printed = capsys.readouterr().out
    assert (out / "index.html").exists()
    for path in texts:
        assert f"{path}: 1 table filled" in printed
        assert path.read_text() == fill(TEXT.format("context icews14 static"), results_in(folder))


def test_a_text_is_filled_where_it_lies_and_with_its_own_line_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    text = TEXT.format("context icews14 static") + TEXT.format("context icews14 raw")
    windows, linked, placeless = (tmp_path / name for name in ("win.md", "link.md", "plain.md"))
    windows.write_text(text, newline="\r\n")
    linked.symlink_to(windows.name)
    mixed = b"no place\r\nhere\n"
    placeless.write_bytes(mixed)
    with pytest.raises(SystemExit) as leaving:
        main(["report", str(folder), "--fill", str(linked), str(placeless)])
    assert leaving.value.code == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{linked}: 2 tables filled",
        f"{placeless} has no place for a table; nothing was filled",
    ]
    assert linked.is_symlink()
    filled = fill(text, results_in(folder))
    assert windows.read_bytes().decode() == filled.replace("\n", "\r\n")
    assert placeless.read_bytes() == mixed


def test_what_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = kept(tmp_path / "results", "context", "icews14", {"seen, no training": [0.4]})
    cut, unjudged, taken, good, bad = (
        tmp_path / name for name in ("cut", "unjudged", "taken", "good.md", "bad.md")
    )
    for broken in (cut, unjudged):
        shutil.copytree(folder, broken)
    (of_cut,) = cut.glob("*/*.json")
    of_cut.write_text(of_cut.read_text()[:-9])
    (of_unjudged,) = unjudged.glob("*/*.json")
    of_unjudged.write_text(json.dumps(json.loads(of_unjudged.read_text()) | {"figures": {}}))
    taken.mkdir()
    good.write_text(TEXT.format("context icews14 static"))
    bad.write_text(TEXT.format("contxt icews14 static"))
    out = tmp_path / "out"
    for arguments, sentence in (
        ([folder], "what to write? --out DIR makes pages, --fill FILE"),
        ([tmp_path / "gone", "--out", out], f"there is no result in {tmp_path / 'gone'}; 'targcn"),
        ([taken, "--out", out], f"there is no result in {taken}; 'targcn reproduce NAME'"),
        ([folder, "--out", taken], f"{taken} already exists; choose another name"),
        ([cut, "--out", out], f"{of_cut} is not the result of a cell ("),
        ([unjudged, "--out", out], f"{of_unjudged} is not the result of a cell ("),
        ([folder, "--fill", good, bad, "--out", out], f"{bad}: there is no experiment 'contxt'"),
        (
            [folder, "--fill", good, tmp_path / "no.md"],
            f"cannot read {tmp_path / 'no.md'}: No such",
        ),
        ([folder, "--fill", good, taken], f"cannot read {taken}: Is a directory"),
    ):
        assert sentence in complaint(capsys, *arguments)
    assert not out.exists()
    assert good.read_text() == TEXT.format("context icews14 static")
