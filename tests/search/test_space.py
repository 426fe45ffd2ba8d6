"""What a search may try."""

import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import FixedTrial

from targcn.models.registry import MODELS
from targcn.recipes.recipe import find_recipe, list_recipes
from targcn.search.space import SPACE, own_values, vary


def test_every_model_is_there() -> None:
    assert set(SPACE) == set(MODELS)


@pytest.mark.parametrize("model", SPACE)
def test_recipes_are_in_the_space_that_is_around_them(model: str) -> None:
    for name, dataset in {("default", ""), *list_recipes(model)}:
        recipe = find_recipe(model, name, dataset)
        trial = FixedTrial(own_values(recipe))
        assert vary(recipe, trial) == recipe
        for setting, values in trial.distributions.items():
            assert values.low <= trial.params[setting] <= values.high, (name, dataset, setting)


def test_a_setting_is_varied_around_the_recipe() -> None:
    recipe = find_recipe("evidence", "default", "congress")
    values = own_values(recipe) | {"evidence.facts": 100, "evidence.learning_rate": 0.01}
    trial = FixedTrial(values)
    varied = vary(recipe, trial)
    assert (varied.settings.facts, varied.training.learning_rate) == (100, 0.01)
    assert varied.settings.second_facts == recipe.settings.second_facts
    # The recipe for congress has 64 facts, and a rate of 0.005.
    assert trial.distributions["evidence.facts"] == IntDistribution(32, 128, log=True)
    rates = FloatDistribution(0.005 / 4, 0.02, log=True)
    assert trial.distributions["evidence.learning_rate"] == rates


def test_nothing_is_varied_around_0() -> None:
    recipe = find_recipe("evidence", changes={"first_facts": 0})
    assert "evidence.first_facts" not in own_values(recipe)
    assert vary(recipe, FixedTrial(own_values(recipe))).settings.first_facts == 0
