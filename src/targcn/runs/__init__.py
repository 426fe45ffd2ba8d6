"""Published runs: settings in TOML files, each with the figures it must reach.

A file is found by model, run and data set: `<model>/<run>-<data set>.toml`, else that of the set
it was derived from, else `<model>/<run>.toml` for any data set. What a file leaves out keeps its
default.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.derive import origin_of
from targcn.facts.vocabulary import suggest

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class RunFile:
    """What a run file says."""

    name: str = "default"
    about: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    # Figures to reach: filter -> [MRR, Hits@1, Hits@3, Hits@10] on test, context train+valid.
    figures: Mapping[str, Any] = field(default_factory=dict)


def find_run(model: str, name: str, dataset: str) -> RunFile:
    """The run file of this name for a model and a data set.

    >>> find_run("targcn", "published-code", "icews14").settings["own_fact"]
    'kept'
    >>> find_run("targcn", "papre", "icews14")
    Traceback (most recent call last):
    targcn.errors.InputError: targcn has no run 'papre' for icews14; did you mean 'paper'?
    """
    for stem in (f"{name}-{dataset}", f"{name}-{origin_of(dataset)[0]}", name):
        path = FOLDER / model / f"{stem}.toml"
        if path.is_file():
            return read_run(path, name)
    if name == "default":
        return RunFile()
    known = sorted({run for run, of in list_runs(model) if of in (dataset, "")} | {"default"})
    nearest = suggest(name, known, limit=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {', '.join(known)}"
    raise InputError(f"{model} has no run {name!r} for {dataset}; {hint}")


def read_run(path: Path, name: str) -> RunFile:
    """Read a run file; a field it should not have is an error that names it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the run file {path}: {error}") from None
    return build(RunFile, content | {"name": name}, path.name)


def list_runs(model: str) -> list[tuple[str, str]]:
    """The runs of a model and the data set each is for, "" meaning any."""
    datasets = ("icews14", "icews05-15", "gdelt", "congress")
    runs = []
    for path in sorted((FOLDER / model).glob("*.toml")):
        of = next((one for one in datasets if path.stem.endswith(f"-{one}")), "")
        runs.append((path.stem.removesuffix(f"-{of}") if of else path.stem, of))
    return runs
