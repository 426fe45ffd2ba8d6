"""What a search may try: the models, cheapest first, and the settings of each that it varies.

A setting is varied around the value of the model's own recipe for the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from targcn.recipes.recipe import Recipe, change

if TYPE_CHECKING:
    from optuna import Trial


@dataclass(frozen=True)
class Around:
    """From a part of the recipe's value to a multiple of it, on a logarithmic scale."""

    low: float
    high: float


@dataclass(frozen=True)
class Between:
    """From one value to another."""

    low: float
    high: float


Values = Around | Between
RATE: Final = Around(1 / 4, 4)
SIZE: Final = Around(1 / 2, 2)
STATIC_FACTORS: Final[dict[str, Values]] = {
    "learning_rate": RATE,
    "dim": SIZE,
    "factor_weight": Around(1 / 30, 10),
}
FACTORS: Final = STATIC_FACTORS | {"time_weight": Around(1 / 30, 10)}
SAMPLED: Final[dict[str, Values]] = {"learning_rate": RATE, "dim": SIZE, "negatives": SIZE}
LEARNED: Final[dict[str, Values]] = {"learning_rate": RATE, "dropout": Between(0, 0.6)}

# In the order in which their recipes are tried: what costs least comes first.
SPACE: Final[Mapping[str, Mapping[str, Values]]] = {
    "seen": {},
    "decayed-copy": {"scale": Around(1 / 30, 10), "same_relation": Around(1 / 10, 10)},
    "evidence": {
        "learning_rate": RATE,
        "facts": SIZE,
        "relation_facts": SIZE,
        "first_facts": SIZE,
        "prior_dim": SIZE,
        "fact_dropout": Between(0, 0.4),
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
    "de-simple": LEARNED | {"dim": SIZE, "static_share": Between(0, 1)},
    "targcn": LEARNED | {"dim": SIZE, "neighbors": SIZE, "decay": Around(1 / 4, 8)},
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


def vary(recipe: Recipe, trial: "Trial") -> Recipe:
    """The recipe with the values that a trial suggests."""
    changes: dict[str, Any] = {}
    for name, values in SPACE[recipe.model].items():
        if (own := _value(recipe, name)) is None:
            continue
        varied = f"{recipe.model}.{name}"
        low, high = values.low, values.high
        if isinstance(values, Between):
            changes[name] = trial.suggest_float(varied, low, high)
        elif isinstance(own, int):
            least = max(round(own * low), 1)
            changes[name] = trial.suggest_int(varied, least, round(own * high), log=True)
        else:
            changes[name] = trial.suggest_float(varied, own * low, own * high, log=True)
    return change(recipe, changes)


def _value(recipe: Recipe, name: str) -> Any:
    """The recipe's value; none where there is nothing to vary, such as around 0."""
    value = getattr(recipe.settings, name, getattr(recipe.training, name, None))
    return None if value == 0 and isinstance(SPACE[recipe.model][name], Around) else value
