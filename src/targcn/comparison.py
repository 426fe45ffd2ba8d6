"""Several runs beside each other: the same queries, the same context, the same judge.

Takes runs of one data set; gives their figures, one column per filter, and how sure the difference
of each to the best is: facts are drawn anew, for all runs at once. Next room: writeup.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from targcn import __version__
from targcn.checkpoint import Run, load_run
from targcn.config import require_seed
from targcn.devices import choose_device, describe_device
from targcn.errors import InputError
from targcn.evaluation import Judge, Progress, Report, Ties, context_of
from targcn.facts.dataset import SPLITS, Context, Dataset, Split
from targcn.filtering import FILTERS, Filter

RESAMPLES: Final = 2000
LEVEL: Final = 0.95
# Facts drawn at a time: 8 MB of positions, and as much again to count them.
MOST_DRAWS: Final = 1 << 20


@dataclass(frozen=True, eq=False)
class Judged:
    """One run as the judge saw it."""

    name: str
    dataset: Dataset
    report: Report
    # Of each fact's object, then of each fact's subject (Judge.ranks).
    ranks: Mapping[Filter, Tensor]
    num_parameters: int
    # Of the judging, and what it was done on.
    seconds: float
    device: str
    # Seconds and device of the training; empty where nothing is known.
    trained: Mapping[str, Any]

    @property
    def queries_per_second(self) -> float:
        return self.report.num_queries / self.seconds

    def mrr(self, which: Filter) -> float:
        return self.report.metrics[which]["both"]["mrr"]

    def per_fact(self, which: Filter) -> NDArray[np.float64]:
        """The reciprocal rank of each fact: the mean of its two queries, which fail together."""
        pairs: NDArray[np.float64] = (1 / self.ranks[which]).view(2, -1).mean(0).numpy()
        return pairs


@dataclass(frozen=True)
class Difference:
    """An MRR less another one, and where 95 % of the draws put it."""

    mrr: float
    low: float
    high: float

    @property
    def zero_inside(self) -> bool:
        return self.low <= 0 <= self.high


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs judged alike; it cannot be made of runs that were not.

    What is ordered and subtracted is the MRR under one filter; every other figure stays under its
    own.
    """

    runs: tuple[Judged, ...]
    filter: Filter = "time-aware"
    # The run the others are compared with; left out, the best.
    to: str | None = None
    resamples: int = RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        names = [run.name for run in self.runs]
        _check_choices(names, self.filter, self.to, self.resamples, self.seed)
        for other in self.runs[1:]:
            _require_alike(self.runs[0], other)

    @property
    def common(self) -> Report:
        """Any of the reports: what is not a figure is the same in all."""
        return self.runs[0].report

    @cached_property
    def ranked(self) -> tuple[Judged, ...]:
        """The runs, best first."""
        return tuple(sorted(self.runs, key=lambda run: -run.mrr(self.filter)))

    @property
    def reference(self) -> Judged:
        """The run the others are compared with."""
        return next(run for run in self.ranked if self.to in (None, run.name))

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """Each run's MRR less that of the reference, by name, best first."""
        own = self.reference.per_fact(self.filter)
        pairs = np.stack([run.per_fact(self.filter) - own for run in self.ranked])
        drawn = resampled_means(pairs, self.resamples, self.seed)
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=1)
        return {
            run.name: Difference(float(pairs[row].mean()), float(low[row]), float(high[row]))
            for row, run in enumerate(self.ranked)
        }

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data for json.dumps."""
        return {
            "targcn": __version__,
            "dataset": self.common.dataset,
            "split": self.common.split,
            "context": self.common.context,
            "ties": self.common.ties,
            "filter": self.filter,
            "num_queries": self.common.num_queries,
            "bootstrap": {
                "to": self.reference.name,
                "drawn": "facts, each with its two queries, for all runs at once",
                "num_facts": self.common.num_queries // 2,
                "resamples": self.resamples,
                "seed": self.seed,
                "level": LEVEL,
            },
            "runs": [
                {
                    "run": run.name,
                    "model": run.report.model,
                    "metrics": run.report.metrics,
                    "mrr_interval_95": run.report.mrr_interval,
                    "difference": {
                        "mrr": self.differences[run.name].mrr,
                        "interval": [
                            self.differences[run.name].low,
                            self.differences[run.name].high,
                        ],
                        "zero_inside": self.differences[run.name].zero_inside,
                    },
                    "num_parameters": run.num_parameters,
                    "trained": dict(run.trained) or None,
                    "judged": {
                        "seconds": run.seconds,
                        "device": run.device,
                        "queries_per_second": run.queries_per_second,
                    },
                }
                for run in self.ranked
            ],
        }


def compare(
    runs: Mapping[str, Run] | Sequence[Path | str],
    *,
    split: Split = "test",
    context: Context | None = None,
    ties: Ties = "mean",
    filter: Filter = "time-aware",
    to: Path | str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
) -> Comparison:
    """Judge run folders, or runs under the names they are given, all in the same way.

    Folders are loaded one after the other and let go again, however many there are.

    >>> import targcn
    >>> congress = targcn.open_dataset("congress")
    >>> rules = {name: targcn.fit(congress, name) for name in ("seen", "decayed-copy")}
    >>> found = compare(rules, split="valid")
    >>> [run.name for run in found.ranked], found.differences["seen"].zero_inside
    (['decayed-copy', 'seen'], False)
    """
    sources = _named(runs)
    if to is not None:
        to = _name_of(to, sources)
    _check_choices(list(sources), filter, to, resamples, seed)
    # Everything is looked at before anything is judged: what is wrong is said at once.
    dataset = _same_data(sources)
    judge = Judge(dataset, split, context or context_of(split), choose_device(device))
    judged = []
    for number, (name, source) in enumerate(sources.items()):
        run = source if isinstance(source, Run) else load_run(source)
        start = time.perf_counter()
        ranks = judge.ranks(run, ties, _part_of(progress, number, len(sources)))
        seconds = time.perf_counter() - start
        judged.append(
            Judged(
                name=name,
                dataset=dataset,
                report=judge.sum_up(run, ranks, ties),
                ranks=ranks,
                num_parameters=run.num_parameters,
                seconds=seconds,
                device=describe_device(judge.device),
                trained={name: run.trained[name] for name in ("seconds", "device") if run.trained},
            )
        )
    return Comparison(tuple(judged), filter, to, resamples, seed)


def _named(runs: Mapping[str, Run] | Sequence[Path | str]) -> Mapping[str, Run | Path]:
    """Folders by their own names where these differ, else by the paths as they were written."""
    if isinstance(runs, Mapping):
        return runs
    folders = [Path(folder) for folder in runs]
    for position, folder in enumerate(folders):
        if any(folder.resolve() == other.resolve() for other in folders[:position]):
            raise InputError(f"{folder} is given twice; name each run once")
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    return dict(zip(names, folders, strict=True))


def _name_of(to: Path | str, sources: Mapping[str, Run | Path]) -> str:
    """The name of a run that is given by it or by its folder."""
    for name, source in sources.items():
        if name == str(to) or (isinstance(source, Path) and source.resolve() == Path(to).resolve()):
            return name
    return str(to)


def _check_choices(
    names: Sequence[str], which: str, to: str | None, resamples: int, seed: int
) -> None:
    if len(names) < 2:
        raise InputError("a comparison takes two runs or more; 'targcn evaluate RUN' judges one")
    if len(set(names)) < len(names):
        raise InputError(f"two of the runs {', '.join(names)} have one name; name each differently")
    if which not in FILTERS:
        raise InputError(f"filter {which!r} is unknown; choose one of {', '.join(FILTERS)}")
    if to is not None and to not in names:
        raise InputError(f"{to} is none of the runs compared; choose one of {', '.join(names)}")
    if resamples < 100:
        raise InputError(f"resamples is {resamples}; at least 100 say where 95 % of them lie")
    require_seed(seed)


def _same_data(sources: Mapping[str, Run | Path]) -> Dataset:
    """The data set that all of these stand on; two that do not are named."""
    first: tuple[object, Dataset] | None = None
    for name, source in sources.items():
        # Loaded whole, and let go again: what else is wrong with a folder shows here too.
        dataset = source.dataset if isinstance(source, Run) else load_run(source).dataset
        where = name if isinstance(source, Run) else source
        first = first or (where, dataset)
        _require_same_data(*first, where, dataset)
    assert first is not None
    return first[1]


def _require_same_data(one: object, first: Dataset, other: object, second: Dataset) -> None:
    unlike = _unlike(first, second)
    if unlike is not None:
        raise InputError(
            f"{one} and {other} stand on different data: their {unlike} differ; compare runs of "
            "the same facts and splits"
        )


def _unlike(first: Dataset, second: Dataset) -> str | None:
    """What differs between two data sets but their names, if anything does."""
    if first is second:
        return None
    for what in ("entities", "relations"):
        if getattr(first, what) != getattr(second, what):
            return what
    one, other = first.timeline, second.timeline
    if (one.unit, one.start, one.dated) != (other.unit, other.start, other.dated):
        return "times"
    for split in SPLITS:
        columns, others = first.splits[split].columns, second.splits[split].columns
        # The order of facts is no part of what they say.
        if not np.array_equal(columns, others) and not np.array_equal(
            columns[:, np.lexsort(columns)], others[:, np.lexsort(others)]
        ):
            return f"{split} facts"
    return None


def _require_alike(first: Judged, other: Judged) -> None:
    _require_same_data(first.name, first.dataset, other.name, other.dataset)
    for what in ("split", "context", "ties"):
        one, another = getattr(first.report, what), getattr(other.report, what)
        if one != another:
            raise InputError(
                f"{first.name} was judged with {what} {one}, {other.name} with {what} {another}; "
                "judge both alike to compare them"
            )


def _part_of(progress: Progress | None, number: int, num_runs: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, num_runs * total)


def resampled_means(values: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """The mean of each row over columns drawn anew, as many as there are; one column a draw.

    The same draws serve every row, so what rows share cancels in their differences.
    """
    num_facts = values.shape[1]
    generator = np.random.default_rng(seed)
    most = max(MOST_DRAWS // num_facts, 1)
    sums = []
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        places = generator.integers(num_facts, size=(size, num_facts))
        # How often each fact was drawn says as much as which were, and makes the sums a product.
        places += num_facts * np.arange(size)[:, None]
        counts = np.bincount(places.ravel(), minlength=size * num_facts)
        sums.append(values @ counts.reshape(size, num_facts).T.astype(np.float64))
    means: NDArray[np.float64] = np.concatenate(sums, axis=1) / num_facts
    return means
