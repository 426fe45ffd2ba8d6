"""Several runs, given as folders or by name, and held to the same data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Context, Dataset, Split
from targcn.runs.run import Run

# What two timelines of the same facts have in common.
TIMES: Final = ("unit", "start", "dated")


def name_runs(runs: Mapping[str, Run] | Sequence[Path | str]) -> Mapping[str, Run | Path]:
    """Runs by name; folders by their own names if these differ, else by their paths as given."""
    if isinstance(runs, Mapping):
        return runs
    if not all(isinstance(folder, str | Path) for folder in runs):
        raise InputError('give runs by name, such as {"a": run, "b": other}, or their folders')
    folders = [Path(folder) for folder in runs]
    for position, folder in enumerate(folders):
        if any(folder.resolve() == other.resolve() for other in folders[:position]):
            raise InputError(f"{folder} is given twice; name each run once")
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    return dict(zip(names, folders, strict=True))


def name_files(
    files: Mapping[str, Path | str] | Sequence[Path | str], runs: Mapping[str, Run | Path]
) -> Mapping[str, Path]:
    """Files by name; by their names without the ending if no other has it, else by their paths."""
    if isinstance(files, Mapping):
        return {name: Path(file) for name, file in files.items()}
    paths = [Path(file) for file in files]
    taken = [*runs, *(path.stem for path in paths)]
    return {path.stem if taken.count(path.stem) == 1 else str(path): path for path in paths}


def common_dataset(runs: Mapping[str, Run]) -> Dataset:
    """The data set of all these runs; an error names two whose data differ."""
    (name, first), *others = runs.items()
    for other, run in others:
        if what := _difference_of_data(first.dataset, run.dataset):
            raise InputError(
                f"{name} and {other} have different data: their {what} differ; take runs of the "
                "same facts and splits"
            )
    return first.dataset


def common_context(runs: Mapping[str, Run], split: Split) -> Context:
    """The context that all these runs see of a split; an error names two that differ."""
    (name, first), *others = ((name, run.default_context(split)) for name, run in runs.items())
    for other, second in others:
        if second != first:
            raise InputError(
                f"{name} is evaluated with the context {first}, {other} with {second}; take runs "
                "of one context, or choose one where that can be chosen"
            )
    return first


def _difference_of_data(first: Dataset, second: Dataset) -> str:
    """What differs between two data sets, apart from their names and the order of their facts."""
    for what in ("entities", "relations"):
        if getattr(first, what) != getattr(second, what):
            return what
    if any(getattr(first.timeline, of) != getattr(second.timeline, of) for of in TIMES):
        return "times"
    for split in SPLITS:
        columns, others = first.splits[split].columns, second.splits[split].columns
        if not np.array_equal(columns, others) and not np.array_equal(
            columns[:, np.lexsort(columns)], others[:, np.lexsort(others)]
        ):
            return f"{split} facts"
    return ""
