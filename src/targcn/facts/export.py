"""Write a data set as tables of names and dates, which every program reads, and this one too."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from targcn.errors import InputError
from targcn.facts.dataset import OPEN, Dataset, Facts
from targcn.facts.reading.columns import INTERVAL_ROLES, ROLES
from targcn.facts.reading.rows import MISSING
from targcn.facts.times.timeline import Timeline
from targcn.files import atomic_file, atomic_folder, require_ending
from targcn.output.tables import defused

WRITERS: Final[dict[str, Callable[..., object]]] = {
    ".csv": pl.DataFrame.write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
}
# The years that are seen to be years; others are written as dates without a month.
PLAIN_YEARS: Final = range(1000, 3000)


def export_dataset(dataset: Dataset, out: Path) -> list[str]:
    """Write all facts as one table if `out` ends like one, or a folder with one for each split.

    Gives back the options that are needed to read the tables again as they were.
    """
    if out.suffix.lower() in WRITERS:
        write_frame(as_frame(dataset, dataset.facts), out)
        return _how_to_read(dataset)
    for split, facts in dataset.splits.items():
        if not len(facts):
            raise InputError(f"{split} has no facts; write one table of all facts: --out {out}.csv")
    with atomic_folder(out) as draft:
        for split, facts in dataset.splits.items():
            write_frame(as_frame(dataset, facts), draft / f"{split}.csv")
    return _how_to_read(dataset)


def as_frame(dataset: Dataset, facts: Facts) -> pl.DataFrame:
    """Facts by their names and dates; a start or an end that is open is null."""
    entities, relations = (
        pl.Series(list(names)) for names in (dataset.entities, dataset.relations)
    )
    columns = [entities[facts.subjects], relations[facts.relations], entities[facts.objects]]
    columns += [write_times(dataset.timeline, ticks) for ticks in facts.columns[3:]]
    roles = INTERVAL_ROLES if facts.has_intervals else ROLES
    return pl.DataFrame(dict(zip(roles, columns, strict=True)))


def write_times(timeline: Timeline, ticks: NDArray[Any]) -> pl.Series:
    """Ticks as dates that are read again as these ticks; an open one is null."""
    distinct, positions = np.unique(ticks, return_inverse=True)
    labels = [None if tick == OPEN else timeline.label(tick) for tick in distinct.tolist()]
    if timeline.dated and timeline.unit == "year":
        years = timeline.ticks[[0, -1]] + timeline.start + 1970
        if not all(year in PLAIN_YEARS for year in years.tolist()):
            labels = [label and f"{label}-##-##" for label in labels]
    return pl.Series(labels, dtype=pl.String)[positions]


def _how_to_read(dataset: Dataset) -> list[str]:
    timeline = dataset.timeline
    options = [f"--unit {timeline.unit}"]
    if not timeline.dated:
        options.append(f"--tick {timeline.step}")
    if not set(MISSING).isdisjoint({*dataset.entities, *dataset.relations}):
        options.append("--missing keep")
    return options


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame in the format that the ending of the file names, whole or not at all."""
    require_ending(path, *WRITERS)
    if path.suffix.lower() == ".csv":
        _warn_of_formulas(frame, path)
    with atomic_file(path) as draft:
        WRITERS[path.suffix.lower()](frame, draft)


def _warn_of_formulas(frame: pl.DataFrame, path: Path) -> None:
    """Say so if a spreadsheet would run names of a table, which are kept as they are."""
    for column in frame.select(pl.col(pl.String)):
        for text in column.filter(column.str.contains(r"^[=+\-@\t\r]")).unique():
            if defused(text) != text:
                warnings.warn(
                    f"{path.name} holds names that a spreadsheet takes for formulas, such as "
                    f"{text!r}; open it there as text, or write .parquet",
                    stacklevel=3,
                )
                return
