"""The paper's experiments: TOML files, each a table of runs with the paper's figures beside.

A row is a run (model, run file, what is set differently); a cell is a row on one data set with
one seed. Nothing here is special to an experiment: what a file says is all there is. Next room:
reproduction.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.vocabulary import suggest

FOLDER: Final = Path(__file__).parent
Judgement = Literal["test, context train+valid", "test, context train", "valid, context train"]
JUDGEMENTS: Final[tuple[Judgement, ...]] = (
    "test, context train+valid",
    "test, context train",
    "valid, context train",
)


@dataclass(frozen=True)
class Row:
    """One line of an experiment's tables."""

    name: str
    model: str = ""
    """What is trained; left out, the row holds the paper's figures alone."""

    run: str = "default"
    """The run file it stands on."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """What is set differently."""

    place: float | None = None
    """Where it stands on the plot's axis; left out, its number of parameters."""

    paper: Mapping[str, Any] = field(default_factory=dict)
    """Data set -> what the paper prints: figures of "test" and "valid" and their "filter",
    "parameters", "seconds" of an epoch, "megabytes" on the GPU."""

    note: str = ""
    """What a reader has to know of the paper's figures."""


@dataclass(frozen=True)
class Experiment:
    """What an experiment's file says."""

    name: str
    title: str
    about: str
    data: tuple[str, ...]
    """Data sets; NAME-unseen and NAME-irregular are made of NAME (see `data derive`)."""

    seeds: int = 1
    """How many seeds the figures are the mean of."""

    filters: tuple[Literal["raw", "static", "time-aware"], ...] = ("static", "time-aware", "raw")
    """The filters that tables are shown for."""

    judged: tuple[Judgement, ...] = ("test, context train+valid",)
    """What tables are shown of; every cell is judged in all three ways."""

    costs: bool = False
    """Whether a table of parameters, seconds and memory is shown too."""

    plot: str = ""
    """The label of the axis over which figures are plotted; left out, nothing is."""

    rows: tuple[Row, ...] = ()


def list_experiments() -> list[str]:
    """The names of all experiments, in the order of the paper."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=_ORDER.index)


_ORDER: Final = [
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
]


def find_experiment(name: str) -> Experiment:
    """Read the file of an experiment.

    >>> find_experiment("ablation").data
    ('icews14', 'gdelt')
    >>> find_experiment("abblation")
    Traceback (most recent call last):
    targcn.errors.InputError: there is no experiment 'abblation'; did you mean 'ablation'?
    """
    path = FOLDER / f"{name}.toml"
    if name not in list_experiments():
        nearest = suggest(name, list_experiments(), limit=1)
        hint = f"did you mean {nearest[0]!r}?" if nearest else "'targcn reproduce list' shows all"
        raise InputError(f"there is no experiment {name!r}; {hint}")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = tuple(
        build(Row, {"name": written} | row, f"{path.name}: {written}")
        for written, row in content.pop("rows").items()
    )
    return replace(build(Experiment, content | {"name": name}, path.name), rows=rows)
