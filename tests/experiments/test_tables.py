"""Tables show what was measured, and published figures only where they compare."""

import re
from dataclasses import replace

import pytest

from small_results import experiment_of, results_of
from targcn.evaluation.filters import FILTERS
from targcn.experiments.spec import EXPERIMENTS, SETTINGS, Row, find_experiment
from targcn.experiments.tables import tables_of
from targcn.output.tables import Table, to_markdown

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


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_tables(name: str) -> None:
    experiment = find_experiment(name)
    for data in experiment.data:
        tables = tables_of(experiment, data, {})
        wanted = len(experiment.shown) * len(experiment.filters) + experiment.costs
        assert len(tables) == wanted
        for table in tables:
            assert {len(row) for row in table.cells()} == {len(table.labels)}
