"""Every setting in words."""

from dataclasses import fields

import pytest

from targcn.models.registry import MODELS, find_model
from targcn.recipes.describe import describe_settings, describe_training
from targcn.recipes.recipe import find_recipe
from targcn.recipes.training_settings import TrainingSettings


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_has_a_meaning_and_the_default_of_the_recipe(model: str) -> None:
    described = describe_settings(model)
    assert {one.name for one in described} == {
        one.name for one in fields(find_model(model).Settings)
    }
    assert all(one.meaning for one in described)
    settings = find_recipe(model).settings
    assert all(getattr(settings, one.name) == one.default for one in described)


def test_the_training_has_the_defaults_of_the_models_recipe() -> None:
    described = {one.name: one.default for one in describe_training("evidence")}
    assert described.keys() == {one.name for one in fields(TrainingSettings)}
    assert described["epochs"] == find_recipe("evidence").training.epochs
