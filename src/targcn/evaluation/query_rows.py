"""The queries of a split as the rows of a table, and the rows of a table as these queries.

docs/judging.md describes them. A fact that holds over an interval is one query in each direction;
under enumerate-time the query is asked at several ticks, and a table may have a row for each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.facts.dataset import OPEN, Dataset, as_intervals
from targcn.facts.export import as_frame, write_times
from targcn.facts.reading.columns import INTERVAL_ROLES, ROLES
from targcn.facts.vocabulary import Vocabulary
from targcn.graph.columns import Columns
from targcn.graph.ragged import expand_ranges

SIDES: Final = ("object", "subject")
# Where a fact holds over an interval: when the query is asked.
TIME: Final = "time"


def query_columns(dataset: Dataset) -> tuple[str, ...]:
    """The columns that say which query a row is about."""
    return (*(INTERVAL_ROLES if dataset.has_intervals else ROLES), "asked")


@dataclass(frozen=True, eq=False)
class AskedRows(Columns):
    """What is asked, in the order of the evaluator: the number of each query, and a tick.

    A query that is asked at several ticks has several rows, side by side.
    """

    queries: Tensor
    times: Tensor

    @classmethod
    def of(cls, evaluator: Evaluator) -> "AskedRows":
        times, ticks = evaluator.queries.times, evaluator.ticks
        if ticks is None:
            return cls(torch.arange(len(times), device=times.device), times)
        queries, numbers = expand_ranges(torch.zeros_like(ticks.counts), ticks.counts)
        return cls(queries, ticks.pick(queries, numbers))

    def __len__(self) -> int:
        return len(self.queries)


def distinct_queries(evaluator: Evaluator) -> Tensor:
    """The number of each query; of those that are the same, as a split repeats facts, the first."""
    rows = _expected(evaluator, None).with_row_index("query")
    once = rows.unique(rows.columns[1:], keep="first", maintain_order=True)
    return torch.from_numpy(once["query"].to_numpy().astype(np.int64))


def name_queries(evaluator: Evaluator, numbers: NDArray[np.int64]) -> pl.DataFrame:
    """Queries by their names and dates, given their numbers in the order of the evaluator."""
    dataset, facts = evaluator.dataset, evaluator.facts
    side, positions = np.divmod(numbers, len(facts))
    chosen = facts.where(positions)
    frame = as_frame(dataset, as_intervals(chosen) if dataset.has_intervals else chosen)
    return frame.with_columns(asked=pl.Series(SIDES)[side])


def name_rows(evaluator: Evaluator, rows: AskedRows) -> pl.DataFrame:
    """Queries by their names and dates; if each is asked at several ticks, with its tick too."""
    named = name_queries(evaluator, rows.queries.cpu().numpy())
    if evaluator.ticks is None:
        return named
    times = write_times(evaluator.dataset.timeline, rows.times.cpu().numpy())
    return named.with_columns(times.alias(TIME))


def find_rows(
    path: Path, asked: pl.DataFrame, evaluator: Evaluator, wanted: AskedRows | None = None
) -> NDArray[np.int64]:
    """For every query of the evaluator the row of the file that answers it.

    With `wanted`, the row for each of these ticks instead.
    """
    dataset = evaluator.dataset
    _require_values(path, asked)
    vocabularies = dataset.entities, dataset.relations, dataset.entities
    ids = {
        role: number_names(path, asked[role], names)
        for role, names in zip(ROLES[:3], vocabularies, strict=True)
    }
    others = [column for column in asked.columns if column not in (*ids, "asked")]
    ids |= {column: _ticks(path, asked[column], dataset) for column in others}
    ids["asked"] = (asked["asked"] == SIDES[1]).cast(pl.Int64)
    rows = pl.DataFrame(ids).with_row_index("row")
    expected = _expected(evaluator, wanted)
    split = f"the {evaluator.setting.split} split of {dataset.name}"
    keys = expected.columns
    strangers = rows.join(expected, on=keys, how="anti", maintain_order="left")["row"]
    if len(strangers):
        row = strangers[0]
        raise InputError(
            f"{path}, row {row + 1}: {_in_words(asked, row)} is no query of {split}; "
            f"{len(strangers):,} of {asked.height:,} rows are not"
        )
    once = rows.unique(keys, keep="first")
    if once.height < rows.height:
        row = rows.join(once, on="row", how="anti", maintain_order="left")["row"][0]
        raise InputError(
            f"{path}, row {row + 1}: {_in_words(asked, row)} is there twice; every query of "
            f"{split} must be there once"
        )
    places = expected.join(rows, on=keys, how="left", maintain_order="left")["row"]
    if places.null_count():
        first = int(places.is_null().arg_true()[0])
        if wanted is None:
            absent = name_queries(evaluator, np.array([first]))
        else:
            absent = name_rows(evaluator, wanted[first : first + 1])
        raise InputError(
            f"{path} lacks {places.null_count():,} of {expected.height:,} queries of {split}, "
            f"the first is {_in_words(absent, 0)}; give every query, in both directions"
        )
    return places.to_numpy().astype(np.int64)


def number_names(path: Path, names: pl.Series, vocabulary: Vocabulary) -> pl.Series:
    """The id of each name; one that the data do not have is refused."""
    return _number(path, names.cast(pl.String), vocabulary.id_of)


def _expected(evaluator: Evaluator, wanted: AskedRows | None) -> pl.DataFrame:
    """The numbers of every query in the order of the evaluator, or of every query at a tick."""
    dataset, facts = evaluator.dataset, evaluator.facts
    columns = (as_intervals(facts) if dataset.has_intervals else facts).columns.astype(np.int64)
    *roles, side = query_columns(dataset)
    of_facts = pl.DataFrame(dict(zip(roles, columns, strict=True)))
    both = pl.concat([of_facts.with_columns(pl.lit(one, pl.Int64).alias(side)) for one in (0, 1)])
    if wanted is None:
        return both
    times = pl.Series(TIME, wanted.times.cpu().numpy().astype(np.int64))
    return both[wanted.queries.cpu().numpy()].with_columns(times)


def _require_values(path: Path, asked: pl.DataFrame) -> None:
    for column in asked.columns:
        # A start or an end that is open is null.
        if column not in INTERVAL_ROLES[3:] and asked[column].null_count():
            row = asked[column].is_null().arg_true()[0]
            raise InputError(f"{path}, row {row + 1} has no {column}; every row needs one")
    if others := set(asked["asked"].unique()) - set(SIDES):
        raise InputError(
            f"{path}: the column asked says 'subject' or 'object', not {min(map(str, others))!r}"
        )


def _ticks(path: Path, times: pl.Series, dataset: Dataset) -> pl.Series:
    def tick_of(time: Any) -> int:
        if time is None:
            return OPEN
        tick = dataset.timeline.tick(time)
        # No fact is before the data begin, and such a tick might look like an open one.
        return tick if tick >= 0 else tick + OPEN

    return _number(path, times, tick_of)


def _number(path: Path, values: pl.Series, number: Callable[[Any], int]) -> pl.Series:
    """The number of each value; asked once for every distinct one."""
    distinct = values.unique()
    try:
        numbers = [number(value) for value in distinct]
    except InputError as error:
        raise InputError(f"{path}: {error}", error.suggestions) from None
    return values.replace_strict(distinct, numbers, return_dtype=pl.Int64)


def _in_words(asked: pl.DataFrame, row: int) -> str:
    """The query of a row; where it is asked at several ticks, its own comes last."""
    said: dict[str, Any] = asked.row(row, named=True)
    side = said.pop("asked")
    at = f" at {said.pop(TIME)}" if "start" in said and TIME in said else ""
    return f"{' | '.join(_in_word(value) for value in said.values())} (asked: {side}{at})"


def _in_word(value: object) -> str:
    return "open" if value is None else str(value)
