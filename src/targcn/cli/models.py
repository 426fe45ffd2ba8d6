"""`targcn models`: what can be trained, its settings and its recipes."""

from dataclasses import asdict

from targcn.output.tables import Table
from targcn.output.terminal import show


def list_models(name: str | None = None, /) -> None:
    """List what can be trained, or the settings and recipes of one model.

    Args:
        name: A model whose settings to show.
    """
    from targcn.models.registry import MODELS

    if name is None:
        rows = [(known, entry.summary) for known, entry in MODELS.items()]
        show(Table.of_text(["model", "what it does"], rows))
        return
    from docstring_parser import parse_from_object

    from targcn.models.base import Learner
    from targcn.models.registry import find_model
    from targcn.recipes.recipe import find_recipe, list_recipes
    from targcn.recipes.training_settings import TrainingSettings

    model = find_model(name)
    show(MODELS[name].summary)
    default = find_recipe(name)
    values = asdict(default.settings)
    # A setting that a subclass describes again is described by the subclass.
    classes = [*reversed(model.Settings.__mro__[:-1])]
    if issubclass(model, Learner):
        values |= asdict(default.training)
        classes.append(TrainingSettings)
    described = {}
    for settings in classes:
        for parameter in parse_from_object(settings).params:
            described[parameter.arg_name] = parameter.description or ""
    described_settings = [
        (f"--{setting.replace('_', '-')}", str(values[setting]), meaning)
        for setting, meaning in described.items()
    ]
    show(Table.of_text(["setting", "default", "meaning"], described_settings))
    recipes = [
        (recipe, dataset or "any", find_recipe(name, recipe, dataset).about)
        for recipe, dataset in list_recipes(name)
    ]
    if recipes:
        show(Table.of_text(["recipe", "data set", "what it is"], recipes))
