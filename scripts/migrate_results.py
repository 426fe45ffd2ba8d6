"""Bring result files to the present format and name them after their present keys.

    python scripts/migrate_results.py [FOLDER]

A result records all of its settings, so its cell can be described against the defaults of today,
whatever the defaults were when it was measured. No figure is changed. Run it again after a default
has changed: files that are up to date are left as they are.
"""

import json
import sys
from pathlib import Path
from typing import Any

from targcn.experiments.cells import Cell
from targcn.experiments.results import Result
from targcn.recipes.recipe import make_recipe

RENAMED = {"rank": "dim", "size": "dim"}


def migrate(folder: Path) -> int:
    """The number of files that were written anew."""
    num_changed = 0
    for path in sorted(folder.glob("*/*.json")):
        before = path.read_text(encoding="utf-8")
        result = Result.from_json(migrated(json.loads(before)))
        target = result.cell.path(folder)
        if target != path and target.exists():
            raise SystemExit(f"{path} and {target} are results of one cell; remove one of them")
        result.write(folder)
        if target != path:
            path.unlink()
        num_changed += target != path or target.read_text(encoding="utf-8") != before
    return num_changed


def migrated(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a result file in the present format."""
    old = content["cell"]
    settings = {RENAMED.get(name, name): value for name, value in content["settings"].items()}
    name = old["recipe"] if "recipe" in old else old["run"]
    recipe = make_recipe(old["model"], name, settings, content["training"])
    cell = Cell(old["data"], recipe, old["seed"])
    return content | {
        "cell": cell.to_json(),
        "figures": _listed(content["figures"]),
        "settings": settings,
    }


def _listed(figures: Any) -> list[dict[str, Any]]:
    """Figures as a list; they were once keyed by texts like "test, context train+valid"."""
    if isinstance(figures, list):
        return figures
    listed = []
    for text, metrics in figures.items():
        split, context = text.split(", context ")
        listed.append({"split": split, "context": context, "ties": "mean", "metrics": metrics})
    return listed


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    print(f"{migrate(where)} of {len(list(where.glob('*/*.json')))} results changed")
