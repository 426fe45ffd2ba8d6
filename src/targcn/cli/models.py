"""`targcn models`: what can be trained, its settings and its recipes."""

from targcn.output.tables import Table
from targcn.output.terminal import show


def list_models(name: str | None = None, /) -> None:
    """List what can be trained, or the settings and recipes of one model.

    Args:
        name: A model whose settings to show.
    """
    from targcn.models.registry import MODELS, find_model

    if name is None:
        rows = [(known, entry.summary) for known, entry in MODELS.items()]
        show(Table.of_text(["model", "what it does"], rows))
        return
    from targcn.recipes.describe import describe_settings, describe_training
    from targcn.recipes.recipe import find_recipe, list_recipes

    find_model(name)
    show(MODELS[name].summary)
    described_settings = [
        (setting.flag, str(setting.default), setting.meaning)
        for setting in [*describe_settings(name), *describe_training(name)]
    ]
    show(Table.of_text(["setting", "default", "meaning"], described_settings))
    recipes = [
        (recipe, dataset or "any", find_recipe(name, recipe, dataset).about)
        for recipe, dataset in list_recipes(name)
    ]
    if recipes:
        show(Table.of_text(["recipe", "data set", "what it is"], recipes))
