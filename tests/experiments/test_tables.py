"""Tables show what was measured, and published figures only where they compare."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_results import experiment_of, results_of, write_results
from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS
from targcn.experiments.results import read_results
from targcn.experiments.spec import EXPERIMENTS, SETTINGS, Row, find_experiment
from targcn.experiments.tables import fill, mrr_table, tables_of
from targcn.output.tables import Table, to_markdown

ROOT = Path(__file__).parents[2]

LEARNED = Row("DistMult", model="distmult")
COPY = Row("copy", model="decayed-copy", place=2)
SEEN = Row("seen", model="seen", place=1)
STATIC = {"icews14": {"filter": "static", "test": [0.636, 0.576, 0.672, 0.746], "valid": [0.647]}}
TIME_AWARE = {"icews14": {"filter": "time-aware", "test": [0.607], "parameters": 1264640}}


def test_a_table_as_markdown() -> None:
    rows = (replace(SEEN, paper=STATIC), COPY, replace(LEARNED, note="a word on it"))
    experiment = experiment_of(*rows, filters=("static",), seeds=2)
    results = results_of(experiment, {"seen": [0.4356], "DistMult": [0.5]})
    (table,) = tables_of(experiment, "icews14", results)
    assert (
        to_markdown(table)
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


@pytest.mark.parametrize(
    ("num_shared", "times", "notes"),
    [
        (0, ["13.35", "1,234"], ()),
        (2, ["12.35", "1,234"], ("DistMult: times of the seeds that did not share the machine",)),
        (3, ["–", "–"], ("DistMult: shared the machine, so no times",)),
    ],
)
def test_no_times_are_shown_of_runs_that_shared_the_machine(
    num_shared: int, times: list[str], notes: tuple[str, ...]
) -> None:
    experiment = experiment_of(LEARNED, COPY, seeds=3, costs=True, filters=())
    results = dict(results_of(experiment, {"DistMult": [0.5] * 3, "copy": [0.4]}))
    trained = [key for key, result in results.items() if result.trained]
    shared = {key: replace(results[key], jobs=2) for key in trained[3 - num_shared :]}
    (table,) = tables_of(experiment, "icews14", results | shared)
    assert table.cells()[0][2:4] == times
    assert table.notes == notes


def test_the_papers_figures_are_shown_only_under_their_filter_and_split() -> None:
    rival = Row("rival", paper=TIME_AWARE, note="not built here")
    experiment = experiment_of(replace(SEEN, paper=STATIC), rival, filters=FILTERS, shown=SETTINGS)
    tables = tables_of(experiment, "icews14", results_of(experiment, {"seen": [0.4]}))
    assert len(tables) == 9
    found = {}
    for table in tables:
        where = re.findall(r"(test|valid) split, (.+), (\S+) filter", table.title)[0]
        rows = [table.labels, *table.cells()]
        found[where] = ([(row[0], *row[5:]) for row in rows], table.notes)
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


def test_figures_are_those_of_the_setting_and_filter() -> None:
    experiment = experiment_of(SEEN, filters=FILTERS, shown=SETTINGS)
    tables = tables_of(experiment, "icews14", results_of(experiment, {"seen": [0.4]}))
    assert [table.cells()[0][1] for table in tables] == [
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
    assert table == Table.of_text(
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
        "Tiny, icews14: what it cost, mean of 2 seeds",
    )


def test_a_quick_run_is_called_one() -> None:
    experiment = experiment_of(LEARNED)
    results = results_of(experiment, {"DistMult": [0.4]}, "congress")
    tables = tables_of(experiment, "congress", results)
    assert [table.cells()[0][1] for table in tables] == [".600", ".500", ".400"]
    assert all("a quick run, whose figures mean nothing" in table.title for table in tables)
    # The same cell is another one where it is meant in earnest.
    assert tables_of(experiment, "icews14", results)[0].cells()[0][1] == "not run"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_tables(name: str) -> None:
    experiment = find_experiment(name)
    for data in experiment.data:
        tables = tables_of(experiment, data, {})
        wanted = len(experiment.shown) * len(experiment.filters) + experiment.costs
        assert len(tables) == wanted
        for table in tables:
            assert {len(row) for row in table.cells()} == {len(table.labels)}


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
    write_results(folder, "context", "icews14", {"seen, no training": [0.4]})
    write_results(folder, "unseen", "congress-unseen-seed0", {"seen, no training": [0.3]})
    return read_results(folder)


@pytest.mark.parametrize(
    ("place", "title", "row"),
    [
        ("context icews14 static", "test split, context train+valid, static", "| .600 |"),
        ("context icews14 static 1", "test split, context train, static", "| .590 |"),
        ("context icews14 costs", "what it cost", "| 0 |"),
        ("unseen congress-unseen-seed0 raw", "(a quick run, whose", "| .300 |"),
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
