"""The cells of an experiment: each is a recipe on one data set with one seed, and has one result.

A cell is named after its settings, so that experiments share the cells they have in common. What
came of it stands in one JSON file, with its figures and how they were measured.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Final

from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.evaluation.report import Setting
from targcn.experiments.spec import SETTINGS, Experiment, Row
from targcn.facts.catalog import CATALOG, find_local
from targcn.facts.dataset import Dataset
from targcn.facts.derive import DERIVED, origin_of
from targcn.facts.open import open_dataset
from targcn.files import atomic_file, read_json, to_json
from targcn.models.base import Learner
from targcn.models.fused import FUSED, FusedSettings
from targcn.models.registry import find_model
from targcn.recipes.recipe import Recipe, find_recipe, make_recipe, without_gone
from targcn.recipes.training_settings import TrainingSettings

# A larger data set is downloaded only if it is asked for by name.
MOST_FACTS_UNASKED: Final = 1_000_000

# Filter -> key of a metric -> value, both directions together.
Figures = Mapping[Filter, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Cell:
    """All that the figures of a run depend on, apart from the program."""

    data: str
    recipe: Recipe
    seed: int
    # What is trained and fused, if this is a fused cell.
    members: tuple["Cell", ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data; a setting added later, at its default, leaves it as it is."""
        content = {
            "data": self.data,
            "model": self.recipe.model,
            "recipe": self.recipe.name,
            "seed": self.seed,
            "settings": _changed(self.recipe.settings),
            "training": _changed(self.recipe.training),
        }
        return content | (
            {"members": [member.to_json() for member in self.members]} if self.members else {}
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Cell":
        """The cell that `to_json` described."""
        if members := content.get("members"):
            return fused_cell(content["data"], [cls.from_json(member) for member in members])
        parts = (content[name] for name in ("model", "recipe", "settings", "training"))
        return cls(content["data"], make_recipe(*parts), content["seed"])

    @cached_property
    def key(self) -> str:
        """A short name for exactly this cell."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    @property
    def name(self) -> str:
        return f"{self.recipe.model}-{self.recipe.name}-seed{self.seed}-{self.key}"

    def path(self, results: Path) -> Path:
        """The file of its result in a folder of results."""
        return results / self.data / f"{self.name}.json"


def fused_cell(data: str, members: Sequence[Cell]) -> Cell:
    """The cell that trains these and fuses them."""
    recipe = Recipe(FUSED, "default", FusedSettings(), TrainingSettings())
    return Cell(data, recipe, 0, tuple(members))


def _changed(settings: Any) -> dict[str, Any]:
    """The settings that are not as they are by default."""
    defaults = asdict(type(settings)())
    return {name: value for name, value in asdict(settings).items() if value != defaults[name]}


def cells_of(row: Row, data: str, num_seeds: int) -> list[Cell]:
    """The cells of a row: one for each seed, but one if it is fused or a rule; or none at all."""
    if not row.model:
        return []
    if row.model == FUSED:
        names = row.members.get(data, ())
        cells = {name: cells_of(Row(name, name), data, names.count(name)) for name in names}
        members = [cells[name].pop(0) for name in names]
        return [fused_cell(data, members)] if members else []
    recipe = find_recipe(row.model, row.recipe, data, row.changes)
    if not issubclass(find_model(row.model), Learner):
        return [Cell(data, recipe, 0)]
    return [Cell(data, recipe, seed) for seed in range(num_seeds)]


def choose_data(experiment: Experiment, asked: Sequence[str] = ()) -> list[str]:
    """The data sets to run an experiment on: those asked for, or all that are cheap to get.

    >>> from targcn.experiments.spec import find_experiment
    >>> choose_data(find_experiment("main"), ["icews14", "gdelt"])
    ['icews14', 'gdelt']
    >>> choose_data(find_experiment("unseen"), ["icews14"])
    ['icews14-unseen', 'icews14-unseen-seed0']
    """
    if asked:
        names = [name for name in experiment.data if {name, origin_of(name).name} & {*asked}]
        if not names:
            print(f"{experiment.name}: left out, it has no data set {' or '.join(asked)}")
        return names
    names = []
    for name in experiment.data:
        entry = CATALOG.get(name)
        if entry and sum(entry.num_facts) > MOST_FACTS_UNASKED and find_local(name) is None:
            print(f"{experiment.name}: {name} is large and not here yet; --data {name} gets it")
        else:
            names.append(name)
    return names


def open_data(name: str) -> Dataset:
    """A data set by name, or derived with a seed."""
    origin, kind, seed = origin_of(name)
    if seed is None:
        return open_dataset(name)
    return DERIVED[kind](open_dataset(origin), seed)


@dataclass(frozen=True, eq=False)
class Result:
    """The content of a result file."""

    cell: Cell
    figures: Mapping[Setting, Figures]
    # All settings, also those that are as by default.
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    parameters: int
    # Epochs and seconds; None where nothing is trained.
    trained: Mapping[str, Any] | None
    peak_megabytes: int | None
    # Training and evaluation.
    seconds: float
    device: str
    commit: str | None
    targcn: str
    torch: str
    python: str
    # How many processes shared the machine; times are meaningful where it was one.
    jobs: int = 1
    # Of a fused cell: the weight of each member, by the name of its cell.
    weights: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        figures = [
            setting.to_json() | {"metrics": metrics} for setting, metrics in self.figures.items()
        ]
        return vars(self) | {"cell": self.cell.to_json(), "figures": figures}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Result":
        """The result that `to_json` described; a ValueError, KeyError or TypeError if none is."""
        cell = Cell.from_json(content["cell"])
        # Settings that were recorded before a default changed are those of another cell.
        for group in ("settings", "training"):
            present = asdict(getattr(cell.recipe, group))
            for name, value in without_gone(content[group], group).items():
                if present.get(name) != value:
                    raise ValueError(
                        f"it was run with {name} {value}, which is {present.get(name)} now"
                    )
        figures = {
            Setting(part["split"], part["context"], part["ties"]): part["metrics"]
            for part in content["figures"]
        }
        for setting, which, metric in product(SETTINGS, FILTERS, PAPER_METRICS):
            if setting not in figures:
                raise ValueError(f"it was not evaluated on the {setting}")
            float(figures[setting][which][metric.key])
        # A later version may say more.
        known = {part.name: content[part.name] for part in fields(cls) if part.name in content}
        return cls(**{**known, "cell": cell, "figures": figures})

    def write(self, folder: Path) -> None:
        """Write the file of this result into a folder of results."""
        with atomic_file(self.cell.path(folder)) as draft:
            draft.write_text(to_json(self.to_json(), indent=1), encoding="utf-8")


def read_results(folder: Path) -> dict[str, Result]:
    """Every result in a folder, by the key of its cell."""
    results = {}
    for path in sorted(folder.glob("*/*.json")):
        try:
            result = Result.from_json(read_json(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise InputError(
                f"{path} is not the result of a cell ({error}); take a folder of 'targcn "
                "reproduce', or remove the file and run it again"
            ) from None
        results[result.cell.key] = result
    return results
