from dataclasses import fields

import pytest

from oracle import World
from small_training import create
from targcn.errors import InputError
from targcn.models.base import Model, ModelSettings
from targcn.models.registry import DEFAULT, MODELS, find_model


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_found_and_has_settings_with_defaults(name: str) -> None:
    model = find_model(name)
    assert issubclass(model, Model)
    assert issubclass(model.Settings, ModelSettings)
    assert fields(model.Settings())
    assert MODELS[name].summary
    assert create(name, World(3, 1, [(0, 0, 1, 0)], cuts=(1, 1)).dataset).settings


def test_the_model_that_is_taken_unless_another_is_asked_for_exists() -> None:
    assert DEFAULT in MODELS


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="there is no model 'sen'; did you mean 'seen'"):
        find_model("sen")
    with pytest.raises(InputError, match="there is no model '1234567'; 'targcn models' lists them"):
        find_model("1234567")
