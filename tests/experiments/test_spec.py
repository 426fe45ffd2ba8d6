"""The files of the experiments, and the figures that were published."""

from dataclasses import replace
from statistics import mean
from typing import Any

import pytest

from targcn.evaluation.filters import FILTERS
from targcn.experiments.cells import read_results
from targcn.experiments.spec import EXPERIMENTS, FOLDER, SETTINGS, find_experiment
from targcn.experiments.tables import lines_of
from targcn.facts.catalog import CATALOG
from targcn.facts.derive import origin_of
from targcn.models.registry import MODELS


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_published_figures_name_their_filter_and_are_of_known_data(name: str) -> None:
    experiment = find_experiment(name)
    assert set(experiment.shown) <= set(SETTINGS)
    for data in experiment.data:
        assert data in CATALOG or (origin_of(data).name in CATALOG and origin_of(data).seed == 0)
    of_paper = {"filter", "test", "valid", "parameters", "seconds", "megabytes"}
    for row in experiment.rows:
        assert row.model or row.note, "a row that is not built must say so"
        assert row.paper.keys() | row.published.keys() <= set(experiment.data)
        for printed in row.paper.values():
            assert printed.keys() <= of_paper
        for printed in row.published.values():
            assert printed.keys() == {"filter", "test", "source"}
        for printed in [*row.paper.values(), *row.published.values()]:
            figures = [*printed.get("test", []), *printed.get("valid", [])]
            assert all(0 < figure < 1 for figure in figures)
            assert not figures or printed["filter"] in FILTERS


def test_main_has_every_model_that_is_built() -> None:
    """The paper's rivals, two more and both rules; a model of one's own need not be in it."""
    compared = {row.model for row in find_experiment("main").rows if row.model}
    assert compared <= MODELS.keys() | {"fused"}
    assert compared >= {
        "evidence", "targcn", "complex", "simple", "distmult", "de-simple", "atise", "tcomplex",
        "tntcomplex", "chronor", "telm", "boxte", "teast", "tcompounde", "seen", "decayed-copy",
    }  # fmt: skip


def test_the_papers_figures_of_its_own_model() -> None:
    row = find_experiment("main").rows[0]
    assert (row.model, row.recipe) == ("targcn", "published-code")
    assert row.paper["icews14"]["test"] == [0.636, 0.576, 0.672, 0.746]
    assert row.paper["icews05-15"]["test"][0] == 0.702
    assert row.paper["gdelt"]["test"][0] == 0.515
    assert {printed["filter"] for printed in row.paper.values()} == {"static"}


# --- what was measured reaches what was published ------------------------------------------

# How far below a published MRR a measured one may stay, unless it is listed here.
SLACK = 0.01
LARGER_SLACK = {
    # The published figures that we do not reach; docs/experiments.md discusses them.
    ("main", "TeLM", "icews05-15"): 0.012,
    ("main", "ChronoR", "icews14"): 0.012,
    ("main", "BoxTE", "icews05-15"): 0.011,
    # The paper prints a re-run of ATiSE by others; its own paper has .550.
    ("main", "ATiSE", "icews14"): 0.032,
    # Trained too short: 250 epochs reach it.
    ("irregular", "TARGCN, as its code does it", "icews14-irregular"): 0.019,
    # Perhaps trained too short as well.
    ("irregular", "TeMP-SA, as its code does it", "icews14-irregular"): 0.013,
}
# Another publication's figure that a row may stay further below.
PUBLISHED_SLACK = {("ATiSE", "icews14"): 0.012}
# What we aim at ourselves, with the usual slack, where nothing is published or we reach more.
AIMS = {
    ("TARGCN, our default", "icews14"): {"static": 0.665, "time-aware": 0.51},
    ("TARGCN, our default", "icews05-15"): {"static": 0.73, "time-aware": 0.54},
    ("TCompoundE", "icews14"): {"time-aware": 0.64},
    ("TCompoundE", "icews05-15"): {"time-aware": 0.69},
    ("TNTComplEx", "icews14"): {"static": 0.73},
    ("TComplEx", "icews14"): {"time-aware": 0.61},
    ("TComplEx", "icews05-15"): {"time-aware": 0.66},
    ("ComplEx", "icews14"): {"time-aware": 0.46},
    ("ComplEx", "icews05-15"): {"time-aware": 0.47},
    ("DistMult", "icews14"): {"time-aware": 0.46},
    ("DistMult", "icews05-15"): {"time-aware": 0.47},
}


def wanted_mrrs() -> list[Any]:
    """Experiment, row, data set, filter, MRR and slack of every figure to reach."""
    found: list[Any] = []
    for name in EXPERIMENTS:
        for row in find_experiment(name).rows:
            for data in find_experiment(name).data if row.model else ():
                slack = LARGER_SLACK.get((name, row.name, data), SLACK)
                for printed, least in (
                    (row.paper.get(data, {}), slack),
                    (row.published.get(data, {}), PUBLISHED_SLACK.get((row.name, data), SLACK)),
                ):
                    if "test" in printed:
                        figure = printed["test"][0]
                        found.append((name, row.name, data, printed["filter"], figure, least))
                if name == "main":
                    for which, aim in AIMS.get((row.name, data), {}).items():
                        found.append((name, row.name, data, which, aim, SLACK))
    return found


@pytest.mark.parametrize(("name", "row", "data", "which", "wanted", "slack"), wanted_mrrs())
def test_what_was_measured_reaches_what_was_published(
    name: str, row: str, data: str, which: Any, wanted: float, slack: float, kept_results: Any
) -> None:
    experiment = replace(find_experiment(name), seeds=3)
    lines = lines_of(experiment, data, kept_results)
    (line,) = (line for line in lines if line.row.name == row)
    if not line.results:
        pytest.skip("no result is kept")
    assert mean(line.measured(SETTINGS[0], which, "mrr")) >= wanted - slack


@pytest.fixture(scope="module")
def kept_results(pytestconfig: pytest.Config) -> Any:
    return read_results(pytestconfig.rootpath / "results")


def test_every_file_is_listed() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == {*EXPERIMENTS}
