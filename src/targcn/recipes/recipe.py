"""Recipes: how a model is built and trained on a data set, in TOML files.

A recipe is found by model, name and data set: `<model>/<name>-<data set>.toml`, else the file of
the data set that this one was derived from, else `<model>/<name>.toml` for any data. A name that
ends in .toml is a file of one's own, which may say what model it is of. What a file does not say
keeps the default of the model's settings or of TrainingSettings.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.catalog import CATALOG, EMBEDDED
from targcn.facts.derive import origin_of
from targcn.facts.vocabulary import suggest
from targcn.files import atomic_file
from targcn.models.base import ModelSettings
from targcn.models.registry import DEFAULT, find_model
from targcn.recipes.training_settings import TrainingSettings

FOLDER = Path(__file__).parent
# Settings that there once were, with the value that changes nothing.
GONE: Final = {
    "activation_inside": False,
    "shared_layers": False,
    "shard_tables": False,
    "relation_facts": 0,
    "partners": 0,
    "filtered": True,
    "relation_share": 0.5,
}


@dataclass(frozen=True)
class Recipe:
    """Everything that a run depends on, except its data set and its seed."""

    model: str
    name: str
    settings: ModelSettings
    training: TrainingSettings
    about: str = ""


@dataclass(frozen=True)
class RecipeFile:
    """The content of a TOML file."""

    # Those that ship lie in the folder of their model.
    model: str = ""
    about: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)


def find_recipe(
    model: str | None,
    name: str = "default",
    dataset: str = "",
    changes: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe of this name, or in this file, for a model and a data set, with some changes.

    Without a model it is that of the file, else the default.

    >>> find_recipe("targcn", "published-code", "icews14").settings.own_fact
    'kept'
    >>> find_recipe("targcn", "published-code", "icews14", {"epochs": "3"}).training.epochs
    3
    >>> find_recipe("targcn", "papre", "icews14")
    Traceback (most recent call last):
    targcn.errors.InputError: targcn has no recipe 'papre' for icews14; did you mean 'paper'?
    """
    name_of_model = model_of(model, name)
    if is_file(name):
        file, name = read_recipe_file(Path(name)), Path(name).stem
    else:
        file = _find_file(name_of_model, name, dataset)
    settings, training = _with_changes(file.settings, file.training, changes or {})
    return make_recipe(name_of_model, name, settings, training, file.about)


def is_file(recipe: str) -> bool:
    """Whether this is a recipe of one's own: a file, not a name."""
    return recipe.endswith(".toml")


def model_of(model: str | None, recipe: str) -> str:
    """The model that is wanted, else that of the recipe if it is a file, else the default."""
    written = read_recipe_file(Path(recipe)).model if is_file(recipe) else ""
    if model and written and model != written:
        raise InputError(f"{recipe} is a recipe of {written}, not of {model}; leave one out")
    return model or written or DEFAULT


def make_recipe(
    model: str, name: str, settings: Mapping[str, Any], training: Mapping[str, Any], about: str = ""
) -> Recipe:
    """A recipe of these settings, each of them converted and checked."""
    of_model = find_model(model)
    recipe = Recipe(
        model,
        name,
        build(of_model.Settings, without_gone(settings, model), model),
        build(TrainingSettings, without_gone(training, "training"), "training"),
        about,
    )
    if recipe.training.filtered_loss and not of_model.can_filter_loss:
        raise InputError(f"{model} is not trained against all entities; leave filtered_loss out")
    return recipe


def without_gone(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Settings that were kept by an older version, without those that say what all models do now.

    >>> without_gone({"dim": 8, "shared_layers": False}, "targcn")
    {'dim': 8}
    >>> without_gone({"partners": 128}, "model")
    Traceback (most recent call last):
    targcn.errors.InputError: model.partners is a setting of older versions; train again without it
    """
    for name, value in settings.items():
        if name in GONE and value != GONE[name]:
            raise InputError(
                f"{where}.{name} is a setting of older versions; train again without it"
            )
    return {name: value for name, value in settings.items() if name not in GONE}


def change(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with some settings of the model or of the training changed."""
    settings, training = _with_changes(asdict(recipe.settings), asdict(recipe.training), changes)
    return make_recipe(recipe.model, recipe.name, settings, training, recipe.about)


def list_recipes(model: str) -> list[tuple[str, str]]:
    """The recipes of a model, each with the data set that it is for, or "" for any."""
    recipes = []
    for path in sorted((FOLDER / model).glob("*.toml")):
        named = (name for name in (*CATALOG, EMBEDDED) if path.stem.endswith(f"-{name}"))
        dataset = next(named, "")
        recipes.append((path.stem.removesuffix(f"-{dataset}"), dataset))
    return recipes


def read_recipe_file(path: Path) -> RecipeFile:
    """Read a TOML file; the error names a field that it should not have."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the recipe {path}: {error}") from None
    return build(RecipeFile, content, path.name)


def write_recipe(recipe: Recipe, path: Path) -> None:
    """Write all settings of a recipe as a file that `train --recipe` takes."""
    lines = [f"model = {_toml(recipe.model)}", f"about = {_toml(recipe.about)}"]
    for part in ("settings", "training"):
        lines += ["", f"[{part}]"]
        values = asdict(getattr(recipe, part))
        lines += [f"{name} = {_toml(value)}" for name, value in values.items()]
    with atomic_file(path) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # TOML has no word for nothing; config.build takes this one for it.
    return json.dumps("none" if value is None else value, ensure_ascii=False)


def _find_file(model: str, name: str, dataset: str) -> RecipeFile:
    find_model(model)
    # Among the files that there are: a data set may be called anything, also "../x".
    files = {path.stem: path for path in (FOLDER / model).glob("*.toml")}
    for stem in (f"{name}-{dataset}", f"{name}-{origin_of(dataset).name}", name):
        if stem in files:
            return read_recipe_file(files[stem])
    if name == "default":
        return RecipeFile()
    recipes = {recipe for recipe, of in list_recipes(model) if of in (dataset, "")}
    known = sorted(recipes | {"default"})
    nearest = suggest(name, known, limit=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known are {', '.join(known)}"
    raise InputError(f"{model} has no recipe {name!r} for {dataset}; {hint}")


def _with_changes(
    settings: Mapping[str, Any], training: Mapping[str, Any], changes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the model and of the training, each change in the one that it belongs to."""
    of_training = {field.name for field in fields(TrainingSettings)}
    settings, training = dict(settings), dict(training)
    for written, value in changes.items():
        name = written.replace("-", "_")
        (training if name in of_training else settings)[name] = value
    return settings, training
