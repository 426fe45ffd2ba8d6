"""Ranks or scores of any system, one row per query of a split: a Parquet form, read and written.

docs/judging.md describes it. What a query asks is read first, for all rows; scores then come a
batch at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.ranking import Progress, in_batches, ranks_of, rows_at_once
from targcn.facts.columns import ROLES
from targcn.facts.dataset import Dataset
from targcn.facts.export import as_frame
from targcn.facts.sources.parquet_pages import scan_parquet
from targcn.facts.sources.table_source import first_line
from targcn.facts.vocabulary import Vocabulary
from targcn.files import atomic_file
from targcn.models.base import Model

QUERY: Final = (*ROLES, "asked")
SIDES: Final = ("object", "subject")
# Where a filter removes more rivals, a rank is no worse.
BEST_FIRST: Final[tuple[Filter, ...]] = ("static", "time-aware", "raw")


def read_ranks(
    path: Path, evaluator: Evaluator, progress: Progress | None = None
) -> tuple[dict[Filter, Tensor], bool]:
    """The ranks in a file, in the order of `Evaluator.ranks`, and whether they were found here.

    Scores are ranked here, under every filter; ranks are taken as they are, under the filters that
    their columns name.
    """
    require_ranks_file(path, evaluator.dataset)
    with _explained(path):
        table = scan_parquet(path, glob=False)
        columns = table.collect_schema().names()
        given = [which for which in FILTERS if which in columns]
        _require_columns(path, columns, given)
        places = _find_queries(path, table.select(QUERY).collect(), evaluator)
        if given:
            return _check_ranks(path, table.select(given).collect(), places, evaluator), False
        return _rank_scores(path, table, places, evaluator, progress), True


def write_ranks(ranks: Mapping[Filter, Tensor], evaluator: Evaluator, path: Path) -> None:
    """Write the ranks of every query, as `Evaluator.ranks` gives them."""
    asked = name_queries(evaluator, np.arange(evaluator.num_queries))
    columns = [pl.Series(which, found.numpy()) for which, found in ranks.items()]
    with atomic_file(path) as draft:
        asked.with_columns(columns).write_parquet(draft)


def write_scores(
    model: Model, evaluator: Evaluator, path: Path, progress: Progress | None = None
) -> None:
    """Write the score of every entity for every query, a batch at a time.

    The candidates stand in the first row alone: they are those of all rows.
    """
    from polars.io.plugins import register_io_source

    names = list(evaluator.dataset.entities)
    model = model.to(evaluator.device).eval()
    # Queries of one time are asked together, since some models share work among them.
    order = torch.argsort(evaluator.queries.times, stable=True)

    def score(rows: slice) -> Tensor:
        scores: Tensor = model(evaluator.queries[order[rows]], evaluator.graph)
        return scores.cpu()

    # What is written beside the scores takes as much memory again.
    size = max(rows_at_once(len(names), evaluator.device) // 2, 1)
    batches = in_batches(score, len(order), size, progress)
    first = next(batches)
    scores = pl.Series("scores", first.numpy()).arr.to_list().dtype

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        start = 0
        for batch in chain([first], batches):
            rows = order[start : start + len(batch)].cpu().numpy()
            candidates = [names if start + row == 0 else None for row in range(len(batch))]
            yield name_queries(evaluator, rows).with_columns(
                pl.Series("candidates", candidates, dtype=pl.List(pl.String)),
                pl.Series("scores", batch.numpy()).arr.to_list(),
            )
            start += len(batch)

    schema = dict.fromkeys(QUERY, pl.String()) | {
        "candidates": pl.List(pl.String()),
        "scores": scores,
    }
    with atomic_file(path) as draft:
        register_io_source(frames, schema=schema).sink_parquet(draft, row_group_size=size)


def require_ranks_file(path: Path, dataset: Dataset) -> None:
    """Refuse, before any work is done, what could not be written or read."""
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path} should end in .parquet")
    require_points(dataset)


def require_points(dataset: Dataset) -> None:
    """Refuse facts whose queries are not about one time each."""
    if dataset.has_intervals:
        raise InputError(
            f"{dataset.name} has facts with a beginning and an end; files with a row per query are "
            "for facts with one time"
        )


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


def _require_columns(path: Path, columns: Sequence[str], given: Sequence[Filter]) -> None:
    scored = [name for name in ("candidates", "scores") if name in columns]
    if missing := [name for name in QUERY if name not in columns]:
        raise InputError(
            f"{path} has no column {missing[0]!r}; every row needs {', '.join(QUERY)} "
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


def name_queries(evaluator: Evaluator, numbers: NDArray[np.int64]) -> pl.DataFrame:
    """Queries by their names and dates, given their numbers in the order of the evaluator."""
    side, facts = np.divmod(numbers, len(evaluator.facts))
    frame = as_frame(evaluator.dataset, evaluator.facts.where(facts))
    return frame.with_columns(asked=pl.Series(SIDES)[side])


def _find_queries(path: Path, asked: pl.DataFrame, evaluator: Evaluator) -> NDArray[np.int64]:
    """For every query of the evaluator the row of the file that answers it."""
    dataset, facts = evaluator.dataset, evaluator.facts
    for column in QUERY:
        if asked[column].null_count():
            row = asked[column].is_null().arg_true()[0]
            raise InputError(f"{path}, row {row + 1} has no {column}; every row needs one")
    if others := set(asked["asked"].unique()) - set(SIDES):
        raise InputError(
            f"{path}: the column asked says 'subject' or 'object', not {min(map(str, others))!r}"
        )
    ids = {
        "subject": _ids(path, asked["subject"], dataset.entities),
        "relation": _ids(path, asked["relation"], dataset.relations),
        "object": _ids(path, asked["object"], dataset.entities),
        "time": _number(path, asked["time"], dataset.timeline.tick),
        "asked": (asked["asked"] == "subject").cast(pl.Int64),
    }
    rows = pl.DataFrame(ids).with_row_index("row")
    columns = dict(zip(ROLES, facts.columns.astype(np.int64), strict=True))
    wanted = pl.concat(
        [pl.DataFrame(columns).with_columns(asked=pl.lit(side, pl.Int64)) for side in (0, 1)]
    ).with_row_index("query")
    split = f"the {evaluator.setting.split} split of {dataset.name}"
    strangers = rows.join(wanted, on=QUERY, how="anti", maintain_order="left")["row"]
    if len(strangers):
        row = strangers[0]
        raise InputError(
            f"{path}, row {row + 1}: {_in_words(asked, row)} is no query of {split}; "
            f"{len(strangers):,} of {asked.height:,} rows are not"
        )
    once = rows.unique(QUERY, keep="first")
    if once.height < rows.height:
        row = rows.join(once, on="row", how="anti", maintain_order="left")["row"][0]
        raise InputError(
            f"{path}, row {row + 1}: {_in_words(asked, row)} is there twice; every query of "
            f"{split} must be there once"
        )
    found = wanted.join(rows, on=QUERY, how="left", maintain_order="left")["row"]
    if found.null_count():
        first = int(found.is_null().arg_true()[0])
        absent = name_queries(evaluator, np.array([first]))
        raise InputError(
            f"{path} lacks {found.null_count():,} of {evaluator.num_queries:,} queries of {split}, "
            f"the first is {_in_words(absent, 0)}; give every query, in both directions"
        )
    return found.to_numpy().astype(np.int64)


def _in_words(asked: pl.DataFrame, row: int) -> str:
    *fact, side = asked.row(row)
    return f"{' | '.join(map(str, fact))} (asked: {side})"


def _ids(path: Path, names: pl.Series, vocabulary: Vocabulary) -> pl.Series:
    return _number(path, names.cast(pl.String), vocabulary.id_of)


def _number(path: Path, values: pl.Series, number: Callable[[Any], int]) -> pl.Series:
    """The number of each value; asked once for every distinct one."""
    distinct = values.unique()
    try:
        numbers = [number(value) for value in distinct]
    except InputError as error:
        raise InputError(f"{path}: {error}", error.suggestions) from None
    return values.replace_strict(distinct, numbers, return_dtype=pl.Int64)


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
    evaluator: Evaluator,
    progress: Progress | None,
) -> dict[Filter, Tensor]:
    """Rank the scores of a file, one batch of its rows after the other."""
    num_queries, dataset = len(places), evaluator.dataset
    ranks = {which: torch.empty(num_queries, dtype=torch.float64) for which in FILTERS}
    # The queries in the order of the file; two have the same row if the split has a fact twice.
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
        mine = order[first:last]
        asked = mine.to(evaluator.device)
        found = ranks_of(
            scores[rows[first:last] - start].to(evaluator.device),
            evaluator.targets[asked],
            evaluator.queries[asked],
            evaluator.known,
            evaluator.setting.ties,
        )
        for which in FILTERS:
            ranks[which][mine] = found[which].cpu()
        start += len(scores)
        if progress is not None:
            progress(last, num_queries)
    return ranks


def _usual_candidates(path: Path, first: pl.DataFrame, dataset: Dataset) -> NDArray[np.int64]:
    """The entities of the first row, which are those of every row that names none."""
    if first["candidates"].null_count():
        raise InputError(f"{path}, row 1 names no candidates; they may be left out below it alone")
    names = first["candidates"].filter(first["candidates"].list.len() > 0).explode()
    return _ids(path, names, dataset.entities).to_numpy()


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
    columns[own] = _ids(path, names, dataset.entities).to_numpy()
    columns[~own] = np.tile(usual, np.count_nonzero(~named))
    matrix = torch.full((len(lengths), len(dataset.entities)), torch.nan, dtype=torch.float64)
    matrix[torch.from_numpy(rows), torch.from_numpy(columns)] = torch.tensor(values)
    is_unnamed = matrix.isnan()
    refuse(np.flatnonzero((~is_unnamed).sum(1).numpy() != lengths), "names a candidate twice")
    return matrix.masked_fill_(is_unnamed, -torch.inf)
