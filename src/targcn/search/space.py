"""What a search may try: the models, cheapest first, and the settings of each that it varies.

A setting is varied around the value of the model's own recipe for the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from optuna import Trial

from targcn.recipes.recipe import Recipe, change


@dataclass(frozen=True)
class Range:
    """From one value to another, or from a part of the recipe's value to a multiple of it."""

    low: float
    high: float
    # Then the scale is logarithmic.
    around: bool = True


RATE: Final = Range(1 / 4, 4)
SIZE: Final = Range(1 / 2, 2)
STATIC_FACTORS: Final[dict[str, Range]] = {
    "learning_rate": RATE,
    "dim": SIZE,
    "factor_weight": Range(1 / 30, 10),
}
FACTORS: Final = STATIC_FACTORS | {"time_weight": Range(1 / 30, 10)}
SAMPLED: Final[dict[str, Range]] = {"learning_rate": RATE, "dim": SIZE, "negatives": SIZE}
LEARNED: Final[dict[str, Range]] = {"learning_rate": RATE, "dropout": Range(0, 0.6, around=False)}

# In the order in which their recipes are tried: what costs least comes first.
SPACE: Final[Mapping[str, Mapping[str, Range]]] = {
    "seen": {},
    "decayed-copy": {"scale": Range(1 / 30, 10), "same_relation": Range(1 / 10, 10)},
    "evidence": {
        "learning_rate": RATE,
        "facts": SIZE,
        "first_facts": SIZE,
        "prior_dim": SIZE,
        "fact_dropout": Range(0, 0.4, around=False),
    },
    "distmult": STATIC_FACTORS,
    "simple": STATIC_FACTORS,
    "complex": STATIC_FACTORS,
    "tcomplex": FACTORS,
    "tntcomplex": FACTORS,
    "teast": FACTORS,
    "chronor": FACTORS,
    "telm": FACTORS,
    "tcompounde": FACTORS,
    "de-simple": LEARNED | {"dim": SIZE, "static_share": Range(0, 1, around=False)},
    "targcn": LEARNED | {"dim": SIZE, "neighbors": SIZE, "decay": Range(1 / 4, 8)},
    "boxte": SAMPLED,
    "atise": SAMPLED,
    "temp-gru": LEARNED | {"window": SIZE},
    "temp-sa": LEARNED | {"window": SIZE},
    "t-gap": {"learning_rate": RATE, "node_edges": SIZE, "core_nodes": SIZE},
}


def own_values(recipe: Recipe) -> dict[str, Any]:
    """What is varied, as the recipe has it, by the names that a study knows."""
    values = {name: _value(recipe, name) for name in SPACE[recipe.model]}
    return {f"{recipe.model}.{name}": value for name, value in values.items() if value is not None}


def vary(recipe: Recipe, trial: Trial) -> Recipe:
    """The recipe with the values that a trial suggests."""
    changes: dict[str, Any] = {}
    for name, values in SPACE[recipe.model].items():
        if (value := _value(recipe, name)) is None:
            continue
        unit = value if values.around else 1
        low, high, varied = unit * values.low, unit * values.high, f"{recipe.model}.{name}"
        if values.around and isinstance(value, int):
            changes[name] = trial.suggest_int(varied, max(round(low), 1), round(high), log=True)
        else:
            changes[name] = trial.suggest_float(varied, low, high, log=values.around)
    return change(recipe, changes)


def _value(recipe: Recipe, name: str) -> Any:
    """The recipe's value; none where there is nothing to vary, such as around 0."""
    value = getattr(recipe.settings, name, getattr(recipe.training, name, None))
    return None if value == 0 and SPACE[recipe.model][name].around else value
