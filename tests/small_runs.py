"""Small runs of one data set, to be compared; and runs that nobody trained."""

from typing import Any

from oracle import World
from targcn.facts.dataset import Dataset
from targcn.recipes.recipe import find_recipe
from targcn.runs.run import Run
from targcn.training.fit import fit, initialize

FACTS = [(n % 9, n % 2, n * n % 7, n * 5 % 31) for n in range(160)]
WORLD = World(9, 2, FACTS, cuts=(100, 120))
SCALES = (0.5, 3, 300)


def world_runs() -> dict[str, Run]:
    dataset = WORLD.dataset
    copies = {f"copy-{scale}": fit(dataset, "decayed-copy", scale=scale) for scale in SCALES}
    return copies | {"seen": fit(dataset, "seen")}


def untrained(dataset: Dataset, model: str, **settings: Any) -> Run:
    """A run with initial weights: training changes the answers, not what can be asked."""
    recipe = find_recipe(model, "default", dataset.name, settings)
    return Run(recipe, 0, dataset, initialize(recipe, dataset, seed=0))
