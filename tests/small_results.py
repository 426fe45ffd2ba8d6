"""Small cells, made-up results and the folders that hold them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_runs import WORLD as SMALL_WORLD
from targcn.evaluation.filters import FILTERS
from targcn.experiments import spec
from targcn.experiments.cells import Cell, Result, cells_of
from targcn.experiments.spec import SETTINGS, Experiment, Row, find_experiment

WORLD = SMALL_WORLD.dataset
SMALL = {
    "tntcomplex": {"dim": 4, "epochs": 4, "batch_size": 80},
    "targcn": {"dim": 8, "neighbors": 5, "window": 16, "epochs": 4, "batch_size": 80},
}
# How far each filter's made-up MRR is above the raw one.
ABOVE_RAW = {"raw": 0.0, "static": 0.2, "time-aware": 0.1}


def cell(model: str = "tntcomplex", seed: int = 0, **changes: Any) -> Cell:
    """A cell of a small model."""
    row = Row("a row", model, changes=SMALL.get(model, {}) | changes)
    return cells_of(row, "small", seed + 1)[seed]


def experiment_of(*rows: Row, **changes: Any) -> Experiment:
    made = Experiment("tiny", "Tiny", "what is asked", data=("icews14",), rows=rows)
    return replace(made, **changes)


def result_of(cell: Cell, mrr: float) -> Result:
    """A result with this raw MRR on test in the context train+valid; .01 less in the next."""
    figures = {}
    for number, setting in enumerate(SETTINGS):
        best = {which: mrr + ABOVE_RAW[which] - number / 100 for which in FILTERS}
        figures[setting] = {
            which: {"mrr": x, "hits@1": x - 0.05, "hits@3": x, "hits@10": x + 0.05}
            for which, x in best.items()
        }
    learned = cell.recipe.model not in ("seen", "decayed-copy")
    return Result(
        cell=cell,
        figures=figures,
        settings={},
        training={},
        parameters=7_600_000 if learned else 0,
        trained={"seconds": 1234.5, "seconds_per_epoch": 12.345 + cell.seed} if learned else None,
        peak_megabytes=1500 + cell.seed if learned else None,
        seconds=1500.4,
        device="NVIDIA H200",
        commit="0123456789ab",
        targcn="0",
        torch="0",
        python="0",
    )


def results_of(
    experiment: Experiment, reached: Mapping[str, list[float]], data: str = "icews14"
) -> dict[str, Result]:
    """Results of an experiment: the name of a row -> the raw MRR of each seed."""
    return {
        cell.key: result_of(cell, mrr)
        for row in experiment.rows
        for cell, mrr in zip(cells_of(row, data, 3), reached.get(row.name, []), strict=False)
    }


def write_all(results: Mapping[str, Result], folder: Path) -> Path:
    for result in results.values():
        result.write(folder)
    return folder


def write_results(folder: Path, name: str, data: str, reached: Mapping[str, list[float]]) -> Path:
    """Write results of a real experiment."""
    return write_all(results_of(find_experiment(name), reached, data), folder)


def find_small_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a small experiment, on the embedded data, in the place of the paper's."""
    monkeypatch.setattr(spec, "FOLDER", Path(__file__).parent / "experiments")
    monkeypatch.setattr(spec, "EXPERIMENTS", ("small",))
