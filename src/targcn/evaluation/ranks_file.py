"""Ranks or scores of any system, one row per query of a split: a Parquet form, read and written.

docs/judging.md describes it. A fact that holds over an interval is one query in each direction;
under enumerate-time the query is asked at several ticks, and scores may have a row for each. What
the rows ask is read first, for all of them; scores then come a batch at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
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
from targcn.evaluation.ranking import Progress, ranks_of, rows_at_once
from targcn.facts.dataset import OPEN, Dataset, as_intervals
from targcn.facts.export import as_frame, write_times
from targcn.facts.reading.columns import INTERVAL_ROLES, ROLES
from targcn.facts.sources.columnar import scan_parquet
from targcn.facts.sources.table_source import first_line
from targcn.facts.vocabulary import Vocabulary
from targcn.files import atomic_file, require_ending
from targcn.graph.ragged import expand_ranges

SIDES: Final = ("object", "subject")
# Where a fact holds over an interval: when the query is asked.
TIME: Final = "time"
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
    require_ending(path, ".parquet")
    with _explained(path):
        file = _RanksFile(path, evaluator)
        return (file.ranks(), False) if file.filters else (file.rank_scores(progress), True)


def write_ranks(ranks: Mapping[Filter, Tensor], evaluator: Evaluator, path: Path) -> None:
    """Write the ranks of every query, as `Evaluator.ranks` gives them."""
    asked = asked_rows(evaluator, at_ticks=False)
    # A split may repeat a fact.
    asked = asked.unique(asked.columns[1:], keep="first", maintain_order=True)
    queries = asked["query"].to_numpy()
    named = name_rows(evaluator, asked, query_columns(evaluator.dataset))
    if evaluator.setting.intervals is not None:
        named = named.with_columns(pl.lit(evaluator.setting.intervals).alias(PROTOCOL))
    columns = [pl.Series(which, values.numpy()[queries]) for which, values in ranks.items()]
    with atomic_file(path) as draft:
        named.with_columns(columns).write_parquet(draft)


def query_columns(dataset: Dataset) -> tuple[str, ...]:
    """The columns that say which query a row is about."""
    return (*(INTERVAL_ROLES if dataset.has_intervals else ROLES), "asked")


def asked_rows(evaluator: Evaluator, at_ticks: bool = True) -> pl.DataFrame:
    """What is asked, as ids: the number of each query in the order of the evaluator, its fact, and
    when it is asked.

    A query that is asked at several ticks has several rows, side by side, unless these do not
    matter.
    """
    dataset, facts = evaluator.dataset, evaluator.facts
    columns = (as_intervals(facts) if dataset.has_intervals else facts).columns.astype(np.int64)
    *roles, asked = query_columns(dataset)
    of_facts = pl.DataFrame(dict(zip(roles, columns, strict=True)))
    sides = [of_facts.with_columns(pl.lit(side, pl.Int64).alias(asked)) for side in (0, 1)]
    rows = pl.concat(sides).with_row_index("query").cast({"query": pl.Int64})
    times = evaluator.queries.times.long()
    if evaluator.ticks is not None and at_ticks:
        counts = evaluator.ticks.counts
        queries, numbers = expand_ranges(torch.zeros_like(counts), counts)
        rows, times = rows[queries.cpu().numpy()], evaluator.ticks.pick(queries, numbers)
    return rows.with_columns(pl.Series(TIME, times.cpu().numpy()))


def name_rows(evaluator: Evaluator, asked: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of what is asked, by names and dates."""
    dataset = evaluator.dataset
    sides, positions = np.divmod(asked["query"].to_numpy(), len(evaluator.facts))
    facts = evaluator.facts.where(positions)
    frame = as_frame(dataset, as_intervals(facts) if dataset.has_intervals else facts)
    times = write_times(dataset.timeline, asked[TIME].to_numpy())
    return frame.with_columns(pl.Series(SIDES)[sides].alias("asked"), times.alias(TIME)).select(
        columns
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what polars says about a file that it cannot read into one sentence."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = getattr(error, "strerror", None) or first_line(str(error)).split(" (os error")[0]
        raise InputError(f"cannot read {path}: {reason}") from None


class _RanksFile:
    """A file of another system, whose columns are those that are asked for."""

    def __init__(self, path: Path, evaluator: Evaluator) -> None:
        self.path, self.evaluator, self.dataset = path, evaluator, evaluator.dataset
        self.table = scan_parquet(path, glob=False)
        self.columns = self.table.collect_schema().names()
        # Those that it has ranks under.
        self.filters = [which for which in FILTERS if which in self.columns]
        self.query = query_columns(self.dataset)
        self._require_columns()

    def _require_columns(self) -> None:
        path, columns = self.path, self.columns
        scored = [name for name in ("candidates", "scores") if name in columns]
        if missing := [name for name in self.query if name not in columns]:
            raise InputError(
                f"{path} has no column {missing[0]!r}; every row needs {', '.join(self.query)} "
                "(docs/judging.md)"
            )
        if len(scored) != (0 if self.filters else 2):
            raise InputError(
                f"{path} needs either the columns candidates and scores, which are ranked here, or "
                f"ranks: one or more of {', '.join(FILTERS)} (docs/judging.md)"
            )
        protocol = self.evaluator.setting.intervals
        if self.filters and protocol is not None and PROTOCOL not in columns:
            raise InputError(
                f"{path} has no column {PROTOCOL!r}; ranks of facts that hold over intervals say "
                f"how these were asked about, here {protocol} (docs/judging.md)"
            )

    def _row(self, row: int) -> str:
        return f"{self.path}, row {row + 1}"

    def ranks(self) -> dict[Filter, Tensor]:
        """The ranks, as they are."""
        protocol = self.evaluator.setting.intervals
        protocols = self._collect([] if protocol is None else [PROTOCOL])
        for [other] in protocols.unique().iter_rows():
            if other != protocol:
                raise InputError(
                    f"{self.path} was ranked with intervals {other}, the others are with "
                    f"{protocol}; these are different tasks: choose --intervals {other}, or give "
                    "scores"
                )
        places = self._find(asked_rows(self.evaluator, at_ticks=False), self.query)
        ranks = self._collect(self.filters).cast(pl.Float64, strict=False)
        most = len(self.dataset.entities)
        for name in ranks.columns:
            wrong = ~ranks[name].is_between(1, most).fill_null(False)
            for row in wrong.arg_true():
                raise InputError(
                    f"{self._row(row)}: the {name} rank is {ranks[name][row]}; 1 up to the "
                    f"{most:,} entities was expected"
                )
        for better, worse in pairwise(which for which in BEST_FIRST if which in self.filters):
            for row in (ranks[better] > ranks[worse]).arg_true():
                raise InputError(
                    f"{self._row(row)}: the {better} rank {ranks[better][row]} is worse than the "
                    f"{worse} rank {ranks[worse][row]}, but its filter only removes more rivals; "
                    "give scores instead, which are ranked here"
                )
        return {which: ranks[which].to_torch()[places] for which in self.filters}

    def rank_scores(self, progress: Progress | None) -> dict[Filter, Tensor]:
        """The ranks of the scores, one batch of rows after the other.

        The rank of a query is the mean over the ticks that it is asked at; scores without a tick
        are those at each of them.
        """
        evaluator, num_queries = self.evaluator, self.evaluator.num_queries
        asked = asked_rows(evaluator)
        has_ticks = TIME in self.columns and evaluator.ticks is not None
        places = self._find(asked, (*self.query, TIME) if has_ticks else self.query)
        ranks = {which: torch.zeros(num_queries, dtype=torch.float64) for which in FILTERS}
        lists = self.table.select(
            pl.col("candidates").cast(pl.List(pl.String)),
            pl.col("scores").cast(pl.List(pl.Float64)),
        )
        first = lists.head(1).collect()["candidates"]
        if first.null_count():
            raise InputError(
                f"{self._row(0)} names no candidates; they may be left out below it alone"
            )
        # Those of every row that names none.
        named = first.filter(first.list.len() > 0).explode()
        usual = self._ids(named, self.dataset.entities).to_numpy()
        size = max(rows_at_once(len(self.dataset.entities), evaluator.device) // 2, 1)
        start = done = 0
        for frame in lists.collect_batches(chunk_size=size):
            scores = self._scores(frame, start, usual)
            # Several have the same row if the split has a fact twice, or if its scores are those at
            # every tick.
            here = ((start <= places) & (places < start + len(scores))).nonzero()[:, 0]
            for part in torch.split(here, size):
                mine = asked[part.numpy()]
                queries, times = mine["query"].to_torch(), mine[TIME].to_torch()
                at = queries.to(evaluator.device)
                given = replace(evaluator.queries[at], times=times.to(evaluator.device))
                ranks_here = ranks_of(
                    scores[places[part] - start].to(evaluator.device),
                    evaluator.targets[at],
                    {which: evaluator.known[which].look_up(given) for which in FILTERS},
                    evaluator.setting.ties,
                )
                for which in FILTERS:
                    ranks[which].index_add_(0, queries, ranks_here[which].cpu())
            start, done = start + len(scores), done + len(here)
            if progress is not None:
                progress(done, len(places))
        counts = torch.from_numpy(np.bincount(asked["query"], minlength=num_queries))
        return {which: sums / counts for which, sums in ranks.items()}

    def _collect(self, columns: Sequence[str]) -> pl.DataFrame:
        return self.table.select(columns).collect()

    def _find(self, asked: pl.DataFrame, keys: Sequence[str]) -> Tensor:
        """For everything that is asked the row of the file, by the queries given there."""
        given, dataset = self._collect(keys), self.dataset
        if others := set(given["asked"].unique()) - set(SIDES):
            raise InputError(
                f"{self.path}: the column asked says 'subject' or 'object', not "
                f"{min(map(str, others))!r}"
            )
        names = {"subject": dataset.entities, "object": dataset.entities}
        names["relation"] = dataset.relations
        ids = {}
        for column in keys:
            if column == "asked":
                ids[column] = (given[column] == SIDES[1]).cast(pl.Int64)
            elif column in names:
                ids[column] = self._ids(given[column], names[column])
            else:
                ids[column] = self._number(given[column], self._tick)
        rows = pl.DataFrame(ids).with_row_index("row")
        split = f"the {self.evaluator.setting.split} split of {dataset.name}"
        strangers = rows.join(asked, on=keys, how="anti", maintain_order="left")["row"]
        for row in strangers:
            raise InputError(
                f"{self._row(row)}: {_in_words(given, row)} is no query of {split}; "
                f"{len(strangers):,} of {given.height:,} rows are not"
            )
        for row in rows.filter(~pl.struct(keys).is_first_distinct())["row"]:
            raise InputError(
                f"{self._row(row)}: {_in_words(given, row)} is there twice; every query of "
                f"{split} must be there once"
            )
        places = asked.join(rows, on=keys, how="left", maintain_order="left")["row"]
        if places.null_count():
            absent = asked.filter(places.is_null()).unique(keys, keep="first", maintain_order=True)
            first = name_rows(self.evaluator, absent[:1], keys)
            raise InputError(
                f"{self.path} lacks {absent.height:,} of {asked.n_unique(keys):,} queries of "
                f"{split}, the first is {_in_words(first, 0)}; give every query, in both directions"
            )
        return places.cast(pl.Int64).to_torch()

    def _tick(self, time: Any) -> int:
        if time is None:
            return OPEN
        tick = self.dataset.timeline.tick(time)
        # No fact is before the data begin, and such a tick might look like an open one.
        return tick if tick >= 0 else tick + OPEN

    def _ids(self, names: pl.Series, vocabulary: Vocabulary) -> pl.Series:
        """The id of each name; one that the data do not have is refused."""
        return self._number(names.cast(pl.String).fill_null(""), vocabulary.id_of)

    def _number(self, values: pl.Series, number: Callable[[Any], int]) -> pl.Series:
        """The number of each value; asked once for every distinct one."""
        distinct = values.unique()
        try:
            numbers = [number(value) for value in distinct]
        except InputError as error:
            raise InputError(f"{self.path}: {error}", error.suggestions) from None
        return values.replace_strict(distinct, numbers, return_dtype=pl.Int64)

    def _scores(self, frame: pl.DataFrame, start: int, usual: NDArray[np.int64]) -> Tensor:
        """One column per entity; an entity that a row does not name is below all that it names."""

        def refuse(rows: NDArray[np.int64], what: str) -> None:
            if len(rows):
                raise InputError(f"{self._row(start + rows[0])} {what}")

        candidates, scores, entities = frame["candidates"], frame["scores"], self.dataset.entities
        # Where there are no scores, a list is empty.
        lengths = scores.list.len().cast(pl.Int64).fill_null(-1).to_numpy()
        wanted = candidates.list.len().fill_null(len(usual)).to_numpy()
        refuse(np.flatnonzero(lengths != wanted), "has not as many scores as candidates")
        # An empty list would become one value that is missing.
        filled, named = lengths > 0, candidates.is_not_null().to_numpy()
        values = scores.filter(filled).explode().to_numpy()
        rows = np.repeat(np.arange(len(lengths)), lengths)
        refuse(rows[np.isnan(values)], "has scores that are not numbers, which have no rank")
        names, is_named = candidates.filter(filled & named).explode(), named[rows]
        columns = np.empty(len(values), dtype=np.int64)
        columns[is_named] = self._ids(names, entities).to_numpy()
        columns[~is_named] = np.tile(usual, np.count_nonzero(~named))
        matrix = torch.full((len(lengths), len(entities)), torch.nan, dtype=torch.float64)
        matrix[torch.from_numpy(rows), torch.from_numpy(columns)] = torch.tensor(values)
        is_unnamed = matrix.isnan()
        refuse(np.flatnonzero((~is_unnamed).sum(1).numpy() != lengths), "names a candidate twice")
        return matrix.masked_fill_(is_unnamed, -torch.inf)


def _in_words(asked: pl.DataFrame, row: int) -> str:
    """The query of a row; where it is asked at several ticks, its own comes last."""
    said: dict[str, Any] = asked.row(row, named=True)
    side = said.pop("asked")
    at = f" at {said.pop(TIME)}" if "start" in said and TIME in said else ""
    words = ("open" if value is None else str(value) for value in said.values())
    return f"{' | '.join(words)} (asked: {side}{at})"
