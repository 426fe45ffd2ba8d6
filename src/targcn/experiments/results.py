"""Results: one JSON file for every finished cell, with its figures and how they were measured."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.evaluation.report import Setting
from targcn.experiments.cells import Cell
from targcn.experiments.spec import SETTINGS
from targcn.files import atomic_file, read_json, to_json
from targcn.recipes.recipe import without_gone

# Filter -> key of a metric -> value, both directions together.
Figures = Mapping[Filter, Mapping[str, float]]


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
