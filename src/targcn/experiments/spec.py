"""The paper's experiments as TOML files, and the published figures to compare with.

An experiment has rows; a row is a model with a recipe and some changes to it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from targcn.config import build
from targcn.errors import InputError
from targcn.evaluation.filters import Filter
from targcn.evaluation.report import Setting
from targcn.facts.vocabulary import suggest

FOLDER: Final = Path(__file__).parent
# Every cell is evaluated in each of these settings.
SETTINGS: Final = (
    Setting("test", "train+valid"),
    Setting("test", "train"),
    Setting("valid", "train"),
)
# All experiments, in the order of the paper.
EXPERIMENTS: Final = (
    "main",
    "decoders",
    "unseen",
    "irregular",
    "ablation",
    "search-range",
    "efficiency",
    "budget",
    "own-fact",
    "context",
    "evidence",
)


@dataclass(frozen=True)
class Row:
    """One row of an experiment's tables."""

    name: str
    # The model to train; a row without one only has published figures.
    model: str = ""
    recipe: str = "default"
    # Settings that differ from the recipe.
    changes: Mapping[str, Any] = field(default_factory=dict)
    # Of the model "fused": the models to train and fuse, by data set. One that is named again is
    # trained with the next seed.
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The position on the axis of the plot; by default the number of parameters.
    place: float | None = None
    # What the TARGCN paper prints, by data set: figures of "test" and "valid" with their "filter",
    # "parameters", "seconds" per epoch, "megabytes" of GPU memory.
    paper: Mapping[str, Any] = field(default_factory=dict)
    # What another publication prints, by data set: figures of "test", "filter" and "source".
    published: Mapping[str, Any] = field(default_factory=dict)
    # What a reader must know about this row.
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """The content of an experiment's file."""

    name: str
    title: str
    about: str
    # NAME-unseen-seed0 and NAME-irregular-seed0 are derived from NAME (see `data derive`).
    data: tuple[str, ...]
    # The number of seeds that figures are averaged over.
    seeds: int = 1
    # The filters and the settings that tables are shown for.
    filters: tuple[Filter, ...] = ("static", "time-aware", "raw")
    shown: tuple[Setting, ...] = SETTINGS[:1]
    # Whether there is a table of parameters, seconds and memory too.
    costs: bool = False
    # The label of the axis that figures are plotted over; no plot without one.
    plot: str = ""
    rows: tuple[Row, ...] = ()


def find_experiment(name: str) -> Experiment:
    """Read the file of an experiment.

    >>> find_experiment("ablation").data
    ('icews14', 'gdelt')
    >>> find_experiment("abblation")
    Traceback (most recent call last):
    targcn.errors.InputError: there is no experiment 'abblation'; did you mean 'ablation'?
    """
    if name not in EXPERIMENTS:
        nearest = suggest(name, EXPERIMENTS, limit=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else "'targcn reproduce list' shows all"
        raise InputError(f"there is no experiment {name!r}; {hint}")
    path = FOLDER / f"{name}.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = tuple(
        build(Row, {"name": row_name} | row, f"{path.name}: {row_name}")
        for row_name, row in content.pop("rows").items()
    )
    shown = tuple(
        build(Setting, setting, f"{path.name}: shown") for setting in content.pop("shown", ())
    )
    experiment = build(Experiment, content | {"name": name}, path.name)
    return replace(experiment, shown=shown or SETTINGS[:1], rows=rows)
