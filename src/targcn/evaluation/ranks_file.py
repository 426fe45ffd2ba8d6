"""Ranks or scores of any system, one row per query of a split: a Parquet form, read and written.

docs/judging.md describes it. What a query asks is read first, for all rows; scores then come a
batch at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.query_rows import (
    TIME,
    AskedRows,
    distinct_queries,
    find_rows,
    name_queries,
    name_rows,
    number_names,
    query_columns,
)
from targcn.evaluation.ranking import Progress, in_batches, ranks_of, rows_at_once
from targcn.facts.dataset import Dataset
from targcn.facts.sources.parquet_pages import scan_parquet
from targcn.facts.sources.table_source import first_line
from targcn.files import atomic_file
from targcn.graph.queries import Queries, time_order
from targcn.models.base import Model

# Of facts that hold over intervals: how they were asked about when they were ranked.
PROTOCOL: Final = "intervals"
# Where a filter removes more rivals, a rank is no worse.
BEST_FIRST: Final[tuple[Filter, ...]] = ("static", "time-aware", "raw")


def read_ranks(
    path: Path, evaluator: Evaluator, progress: Progress | None = None
) -> tuple[dict[Filter, Tensor], bool]:
    """The ranks in a file, in the order of `Evaluator.ranks`, and whether they were found here.

    Scores are ranked here, under every filter; ranks are taken as they are, under the filters that
    their columns name.
    """
    require_ranks_file(path)
    query = query_columns(evaluator.dataset)
    with _explained(path):
        table = scan_parquet(path, glob=False)
        columns = table.collect_schema().names()
        given = [which for which in FILTERS if which in columns]
        _require_columns(path, columns, given, evaluator)
        if given:
            if evaluator.setting.intervals is not None:
                _require_protocol(path, table.select(PROTOCOL).unique().collect(), evaluator)
            places = find_rows(path, table.select(query).collect(), evaluator)
            return _check_ranks(path, table.select(given).collect(), places, evaluator), False
        asked = AskedRows.of(evaluator)
        if evaluator.ticks is not None and TIME in columns:
            places = find_rows(path, table.select(*query, TIME).collect(), evaluator, asked)
        else:
            # The scores of a query are those at each of its ticks.
            places = find_rows(path, table.select(query).collect(), evaluator)
            places = places[asked.queries.cpu().numpy()]
        return _rank_scores(path, table, places, asked, evaluator, progress), True


def write_ranks(ranks: Mapping[Filter, Tensor], evaluator: Evaluator, path: Path) -> None:
    """Write the ranks of every query, as `Evaluator.ranks` gives them."""
    queries = distinct_queries(evaluator)
    asked = name_queries(evaluator, queries.numpy())
    columns = [pl.Series(which, found[queries].numpy()) for which, found in ranks.items()]
    if evaluator.setting.intervals is not None:
        asked = asked.with_columns(pl.lit(evaluator.setting.intervals).alias(PROTOCOL))
    with atomic_file(path) as draft:
        asked.with_columns(columns).write_parquet(draft)


def write_scores(
    model: Model, evaluator: Evaluator, path: Path, progress: Progress | None = None
) -> None:
    """Write the score of every entity for every query, a batch at a time.

    A query that is asked at several ticks has a row for each. The candidates stand in the first row
    alone: they are those of all rows.
    """
    from polars.io.plugins import register_io_source

    names = list(evaluator.dataset.entities)
    model = model.to(evaluator.device).eval()
    asked = AskedRows.of(evaluator)
    asked = asked[torch.isin(asked.queries, distinct_queries(evaluator).to(evaluator.device))]
    asked = asked[time_order(asked.times)]

    def score(rows: slice) -> Tensor:
        scores: Tensor = model(_queries(evaluator, asked[rows]), evaluator.graph)
        return scores.cpu()

    # What is written beside the scores takes as much memory again.
    size = max(rows_at_once(len(names), evaluator.device) // 2, 1)
    batches = in_batches(score, len(asked), size, progress)
    first = next(batches)
    scores = pl.Series("scores", first.numpy()).arr.to_list().dtype

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        start = 0
        for batch in chain([first], batches):
            rows = asked[start : start + len(batch)]
            candidates = [names if start + row == 0 else None for row in range(len(batch))]
            yield name_rows(evaluator, rows).with_columns(
                pl.Series("candidates", candidates, dtype=pl.List(pl.String)),
                pl.Series("scores", batch.numpy()).arr.to_list(),
            )
            start += len(batch)

    schema = dict.fromkeys(name_rows(evaluator, asked[:0]).columns, pl.String()) | {
        "candidates": pl.List(pl.String()),
        "scores": scores,
    }
    with atomic_file(path) as draft:
        register_io_source(frames, schema=schema).sink_parquet(draft, row_group_size=size)


def require_ranks_file(path: Path) -> None:
    """Refuse, before any work is done, what could not be written or read."""
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path} should end in .parquet")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what polars says about a file that it cannot read into one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or first_line(str(error)).split(" (os error")[0]
        raise InputError(f"cannot read {path}: {reason}") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(
            f"{path} is no Parquet file, or damaged: {first_line(str(error))}"
        ) from None


def _require_columns(
    path: Path, columns: Sequence[str], given: Sequence[Filter], evaluator: Evaluator
) -> None:
    query, protocol = query_columns(evaluator.dataset), evaluator.setting.intervals
    scored = [name for name in ("candidates", "scores") if name in columns]
    if missing := [name for name in query if name not in columns]:
        raise InputError(
            f"{path} has no column {missing[0]!r}; every row needs {', '.join(query)} "
            "(docs/judging.md)"
        )
    if given and scored:
        raise InputError(
            f"{path} has both ranks ({given[0]}) and {scored[0]}; leave one out: scores are ranked "
            "here, ranks are taken as they are"
        )
    if not given and len(scored) < 2:
        raise InputError(
            f"{path} has neither ranks nor scores; it needs the columns candidates and scores, or "
            f"one or more of {', '.join(FILTERS)} (docs/judging.md)"
        )
    if protocol is None:
        return
    if given and PROTOCOL not in columns:
        raise InputError(
            f"{path} has no column {PROTOCOL!r}; ranks of facts that hold over intervals say how "
            f"these were asked about, here {protocol} (docs/judging.md)"
        )
    if TIME in columns and (given or evaluator.ticks is None):
        once = f"with intervals {protocol} a query is asked once"
        reason = "a rank is the mean over all ticks of its query" if given else once
        raise InputError(f"{path} has a column {TIME!r}, but {reason}; leave the column out")


def _require_protocol(path: Path, named: pl.DataFrame, evaluator: Evaluator) -> None:
    """Refuse ranks of another task."""
    protocol = evaluator.setting.intervals
    for one in named[PROTOCOL]:
        if one != protocol:
            raise InputError(
                f"{path} was ranked with intervals {one}, the others are with {protocol}; these "
                f"are different tasks: choose --intervals {one}, or give scores"
            )


def _queries(evaluator: Evaluator, asked: AskedRows) -> Queries:
    return replace(evaluator.queries[asked.queries], times=asked.times)


def _check_ranks(
    path: Path, given: pl.DataFrame, places: NDArray[np.int64], evaluator: Evaluator
) -> dict[Filter, Tensor]:
    num_entities = len(evaluator.dataset.entities)
    for name in given.columns:
        if not given[name].dtype.is_numeric():
            raise InputError(
                f"{path}: the column {name} holds {given[name].dtype}; ranks are numbers"
            )
        good = given[name].cast(pl.Float64).is_between(1, num_entities).fill_null(False)
        if not good.all():
            row = (~good).arg_true()[0]
            raise InputError(
                f"{path}, row {row + 1}: the {name} rank is {given[name][row]}; 1 up to the "
                f"{num_entities:,} entities was expected"
            )
    ordered = [which for which in BEST_FIRST if which in given.columns]
    for better, worse in pairwise(ordered):
        if (wrong := given[better] > given[worse]).any():
            row = wrong.arg_true()[0]
            raise InputError(
                f"{path}, row {row + 1}: the {better} rank {given[better][row]} is worse than the "
                f"{worse} rank {given[worse][row]}, but its filter only removes more rivals; give "
                "scores instead, which are ranked here"
            )
    return {
        which: torch.from_numpy(given[which].cast(pl.Float64).to_numpy()[places])
        for which in FILTERS
        if which in given.columns
    }


def _rank_scores(
    path: Path,
    table: pl.LazyFrame,
    places: NDArray[np.int64],
    asked: AskedRows,
    evaluator: Evaluator,
    progress: Progress | None,
) -> dict[Filter, Tensor]:
    """Rank the scores of a file, one batch of its rows after the other.

    The rank of a query is the mean over the ticks that it is asked at.
    """
    num_queries, dataset = evaluator.num_queries, evaluator.dataset
    ranks = {which: torch.zeros(num_queries, dtype=torch.float64) for which in FILTERS}
    # What is asked in the order of the file; several have the same row if the split has a fact
    # twice, or if its scores are those at every tick.
    rows, order = torch.from_numpy(places).sort(stable=True)
    lists = table.select(
        pl.col("candidates").cast(pl.List(pl.String)), pl.col("scores").cast(pl.List(pl.Float64))
    )
    usual = _usual_candidates(path, lists.head(1).collect(), dataset)
    start = 0
    size = max(rows_at_once(len(dataset.entities), evaluator.device) // 2, 1)
    for frame in lists.collect_batches(chunk_size=size):
        scores = _score_rows(path, frame, start, usual, dataset)
        first, last = torch.searchsorted(rows, torch.tensor([start, start + len(scores)])).tolist()
        for part in torch.split(torch.arange(first, last), size):
            mine = asked[order[part].to(evaluator.device)]
            found = ranks_of(
                scores[rows[part] - start].to(evaluator.device),
                evaluator.targets[mine.queries],
                _queries(evaluator, mine),
                evaluator.known,
                evaluator.setting.ties,
            )
            for which in FILTERS:
                ranks[which].index_add_(0, mine.queries.cpu(), found[which].cpu())
        start += len(scores)
        if progress is not None:
            progress(last, len(places))
    counts = torch.bincount(asked.queries, minlength=num_queries).cpu()
    return {which: sums / counts for which, sums in ranks.items()}


def _usual_candidates(path: Path, first: pl.DataFrame, dataset: Dataset) -> NDArray[np.int64]:
    """The entities of the first row, which are those of every row that names none."""
    if first["candidates"].null_count():
        raise InputError(f"{path}, row 1 names no candidates; they may be left out below it alone")
    names = first["candidates"].filter(first["candidates"].list.len() > 0).explode()
    return number_names(path, names, dataset.entities).to_numpy()


def _score_rows(
    path: Path, frame: pl.DataFrame, start: int, usual: NDArray[np.int64], dataset: Dataset
) -> Tensor:
    """One column per entity; an entity that a row does not name is below all that it names."""

    def refuse(rows: NDArray[np.int64], what: str) -> None:
        if len(rows):
            raise InputError(f"{path}, row {start + rows[0] + 1} {what}")

    candidates, scores = frame["candidates"], frame["scores"]
    refuse(np.flatnonzero(scores.is_null()), "has no scores; where there are none, give []")
    lengths = scores.list.len().to_numpy()
    wanted = candidates.list.len().fill_null(len(usual)).to_numpy()
    refuse(np.flatnonzero(lengths != wanted), "has not as many scores as candidates")
    # An empty list would become one value that is missing.
    filled, named = lengths > 0, candidates.is_not_null().to_numpy()
    values = scores.filter(filled).explode().to_numpy()
    rows = np.repeat(np.arange(len(lengths)), lengths)
    refuse(rows[np.isnan(values)], "has scores that are not numbers, which have no rank")
    names, own = candidates.filter(filled & named).explode(), named[rows]
    refuse(rows[own][names.is_null().to_numpy()], "has a candidate without a name")
    columns = np.empty(len(values), dtype=np.int64)
    columns[own] = number_names(path, names, dataset.entities).to_numpy()
    columns[~own] = np.tile(usual, np.count_nonzero(~named))
    matrix = torch.full((len(lengths), len(dataset.entities)), torch.nan, dtype=torch.float64)
    matrix[torch.from_numpy(rows), torch.from_numpy(columns)] = torch.tensor(values)
    is_unnamed = matrix.isnan()
    refuse(np.flatnonzero((~is_unnamed).sum(1).numpy() != lengths), "names a candidate twice")
    return matrix.masked_fill_(is_unnamed, -torch.inf)
