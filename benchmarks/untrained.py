"""A run with initial weights: training changes the answers, not the time they take."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from targcn.facts.dataset import Dataset
from targcn.recipes.recipe import find_recipe
from targcn.runs.run import Run
from targcn.training.fit import initialize

# The data set whose recipe stands for the published code on any data.
PUBLISHED_ON = "icews14"


def make_untrained(
    dataset: Dataset, model: str, recipe: str | None, settings: Mapping[str, Any] | None
) -> Run:
    """A run as `train` would begin it; without a recipe, TARGCN is as in its published code."""
    if recipe is None and model == "targcn":
        chosen = find_recipe(model, "published-code", PUBLISHED_ON, settings or {})
    else:
        chosen = find_recipe(model, recipe or "default", dataset.name, settings or {})
    return Run(chosen, 0, dataset, initialize(chosen, dataset, seed=0))


def describe_run(run: Run) -> dict[str, Any]:
    """What was timed, for the arguments of a result."""
    recipe = run.recipe
    return {"model": recipe.model, "recipe": recipe.name, "settings": asdict(recipe.settings)}
