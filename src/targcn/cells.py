"""What the experiments are made of: cells, and the files their results are kept in.

Takes experiments; gives their cells on a data set, and reads what was kept of them. A cell is a run
on one data set with one seed, named by what it runs. Next room: attempts.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from targcn.checkpoint import MANIFEST
from targcn.errors import InputError
from targcn.evaluation import HITS
from targcn.experiments import JUDGEMENTS, Experiment, Row
from targcn.facts.catalog import CATALOG, find_local
from targcn.facts.dataset import Dataset
from targcn.facts.derive import DERIVED, origin_of
from targcn.facts.opening import open_dataset
from targcn.filtering import FILTERS
from targcn.fitting import choose_settings
from targcn.models import find_model
from targcn.runs import find_run
from targcn.training import Training

# Seed of the derived data sets, which are not the paper's own.
DERIVING_SEED: Final = 0

# A larger set is downloaded only for those who ask for it.
MOST_FACTS_UNASKED: Final = 1_000_000

# The figures of a table, and what they are called there.
METRICS: Final = {"mrr": "MRR"} | {f"hits@{most}": f"Hits@{most}" for most in HITS}

# What a result says, at least.
SAID: Final = {
    "cell",
    "commit",
    "device",
    "figures",
    "jobs",
    "parameters",
    "peak_megabytes",
    "seconds",
    "settings",
    "trained",
    "training",
}

QUICK_DATA: Final = "congress"
# What a quick look takes instead, where a model or its training has such a setting.
QUICK: Final[Mapping[str, Callable[[Any], Any]]] = {
    "size": lambda size: 4 * max(size // 25, 1),
    "rank": lambda rank: min(rank, 8),
    "negatives": lambda negatives: min(negatives, 8),
    "neighbors": lambda neighbors: min(neighbors, 10),
    "window": lambda window: min(window, 32),
    "epochs": lambda epochs: 1,
    "batch_size": lambda size: 1024,
    "warm_up": lambda epochs: 0,
    "compile": lambda wanted: False,
}


@dataclass(frozen=True, eq=False)
class Cell:
    """A run on a data set with a seed: all that its figures depend on but the program."""

    data: str
    model: str
    run: str
    seed: int
    # What differs from the defaults, so that a setting added later leaves its name as it is.
    settings: Mapping[str, Any]
    training: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """A short name for exactly this."""
        written = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        return f"{self.model}-{self.run}-seed{self.seed}-{self.key}"

    def path(self, results: Path) -> Path:
        return results / self.data / f"{self.name}.json"


def seeds_of(experiment: Experiment, quick: bool) -> int:
    """How many seeds an experiment is run with, unless told otherwise."""
    return 1 if quick else experiment.seeds


def cells_of(
    experiment: Experiment, data: str, num_seeds: int, quick: bool = False
) -> list[tuple[Row, list[Cell]]]:
    """The cells of an experiment's rows on a data set, one for each seed."""
    return [(row, _cells(row, data, num_seeds, quick)) for row in experiment.rows if row.model]


def _cells(row: Row, data: str, num_seeds: int, quick: bool) -> list[Cell]:
    # A quick look takes the runs of the set that has them all.
    file = find_run(row.model, row.run, "icews14" if quick else data)
    settings, training = choose_settings(row.model, file, row.settings)
    model = find_model(row.model)
    learned = hasattr(model, "loss")
    chosen = _set_differently(model.Settings(**settings), quick)
    how = _set_differently(training, quick) if learned else {}
    seeds = range(num_seeds if learned else 1)
    return [Cell(data, row.model, row.run, seed, chosen, how) for seed in seeds]


def _set_differently(settings: Any, quick: bool) -> dict[str, Any]:
    """What of these settings is not as it is by default."""
    values, defaults = asdict(settings), asdict(type(settings)())
    if quick:
        values |= {name: QUICK[name](values[name]) for name in values.keys() & QUICK.keys()}
    return {name: value for name, value in values.items() if value != defaults[name]}


def data_at_hand(
    experiment: Experiment,
    asked: Sequence[str] = (),
    quick: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[str]:
    """The data sets to run an experiment on: those asked for, or all that cost little to get.

    >>> from targcn.experiments import find_experiment
    >>> data_at_hand(find_experiment("unseen"), quick=True)
    ['congress-unseen']
    >>> data_at_hand(find_experiment("main"), ["icews14", "gdelt"])
    ['icews14', 'gdelt']
    >>> data_at_hand(find_experiment("unseen"), ["icews14"])
    ['icews14-unseen']
    """
    if quick:
        kinds = [origin_of(name)[1] for name in experiment.data]
        names = [f"{QUICK_DATA}-{kind}" if kind else QUICK_DATA for kind in kinds]
        return list(dict.fromkeys(names))
    if asked:
        names = [name for name in experiment.data if {name, origin_of(name)[0]} & {*asked}]
        if not names:
            tell(f"{experiment.name}: left out, it is not about {' or '.join(asked)}")
        return names
    names = []
    for name in experiment.data:
        named = CATALOG.get(name)
        if named and sum(named.num_facts) > MOST_FACTS_UNASKED and find_local(name) is None:
            tell(f"{experiment.name}: {name} is not at hand and left out; --data {name} fetches it")
        else:
            names.append(name)
    return names


def open_data(name: str) -> Dataset:
    """A data set by name, or one derived of it: NAME-unseen, NAME-irregular."""
    origin, kind = origin_of(name)
    dataset = open_dataset(origin)
    return DERIVED[kind](dataset, seed=DERIVING_SEED) if kind else dataset


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """Every result in a folder, by the key of its cell."""
    found = {}
    for path in sorted(folder.glob("*/*.json")):
        if (path.parent / MANIFEST).exists():
            raise InputError(
                f"{folder} holds runs, not results of 'targcn reproduce'; 'targcn compare' "
                "compares runs"
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            cell = Cell(**content["cell"])
            if not content.keys() >= SAID:
                raise ValueError(f"it lacks {', '.join(sorted(SAID - content.keys()))}")
            judged = {judgement: {*FILTERS} for judgement in JUDGEMENTS}
            if judged != {one: figures.keys() for one, figures in content["figures"].items()}:
                raise ValueError("it was not judged in every way")
            for figures in content["figures"].values():
                if not all(metrics.keys() >= METRICS.keys() for metrics in figures.values()):
                    raise ValueError("it lacks figures")
            require_same_meaning(cell, content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not the result of a cell ({error}); remove it and run it again"
            ) from None
        found[cell.key] = content
    return found


def require_same_meaning(cell: Cell, content: Mapping[str, Any]) -> None:
    """Refuse a result of before a default changed: its name stands for another run now."""
    for of, given, recorded in (
        (find_model(cell.model).Settings, cell.settings, content["settings"]),
        (Training, cell.training, content["training"]),
    ):
        now = asdict(of(**given))
        for name, value in recorded.items():
            if now.get(name) != value:
                raise ValueError(f"it was run with {name} {value}, which is {now.get(name)} now")
