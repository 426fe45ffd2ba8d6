"""The recipes that ship, and how they are found and changed."""

from pathlib import Path

import pytest

from targcn.config import build
from targcn.errors import InputError
from targcn.models.registry import MODELS, find_model
from targcn.recipes.recipe import (
    FOLDER,
    RecipeFile,
    change,
    find_recipe,
    list_recipes,
    make_recipe,
    read_recipe_file,
    write_recipe,
)
from targcn.recipes.training_settings import TrainingSettings

FILES = sorted(FOLDER.glob("*/*.toml"))
PUBLISHED = ("icews14", "icews05-15", "gdelt")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recipe_holds_valid_settings(path: Path) -> None:
    assert path.parent.name in MODELS
    file = read_recipe_file(path)
    build(find_model(path.parent.name).Settings, file.settings, path.parent.name)
    build(TrainingSettings, file.training, "training")
    assert file.about


@pytest.mark.parametrize("model", MODELS)
def test_the_settings_of_any_data_are_the_models_defaults(model: str) -> None:
    """Defaults stand in one place: the recipe for any data says nothing about the model."""
    path = FOLDER / model / "default.toml"
    if path.exists():
        assert read_recipe_file(path).settings == {}
    assert find_recipe(model).settings == find_model(model).Settings()


def test_the_published_recipes_are_there() -> None:
    recipes = list_recipes("targcn")
    for dataset in PUBLISHED:
        assert ("paper", dataset) in recipes
        assert ("published-code", dataset) in recipes
        code, paper = (
            find_recipe("targcn", name, dataset).settings for name in ("published-code", "paper")
        )
        assert (code.own_fact, code.decay) == ("kept", 2.0)
        assert (paper.own_fact, paper.decay) == ("hidden", 1.0)
        for settings in (code, paper):
            assert (settings.neighbors, settings.own_vector, settings.dropout) == (100, False, 0)
    assert ("default", "") in recipes


def test_a_data_set_may_have_a_file_of_its_own() -> None:
    own, any_other = (find_recipe("targcn", "default", name) for name in ("icews14", "another"))
    assert (own.settings.dim, any_other.settings.dim) == (500, 200)
    assert own.about != any_other.about
    assert own.name == any_other.name == "default"
    assert find_recipe("targcn", "default", "icews14-unseen") == own
    assert find_recipe("targcn", "default", "icews14-irregular-seed3") == own


def test_recipes_are_listed_with_the_data_set_that_they_are_for() -> None:
    assert ("default", "yago11k") in list_recipes("evidence")
    for model in MODELS:
        stems = {f"{name}-{data}".removesuffix("-") for name, data in list_recipes(model)}
        assert stems == {path.stem for path in FILES if path.parent.name == model}


def test_a_model_without_recipes_has_its_defaults() -> None:
    recipe = find_recipe("seen", "default", "icews14")
    assert recipe == make_recipe("seen", "default", {}, {})
    assert recipe.settings == find_model("seen").Settings()
    assert recipe.training == TrainingSettings()


# --- changes --------------------------------------------------------------------------------


def test_a_change_belongs_to_the_model_or_to_the_training() -> None:
    changes = {"neighbors": "7", "learning-rate": "0.5", "own_vector": False}
    changed, usual = find_recipe("targcn", changes=changes), find_recipe("targcn")
    assert (changed.settings.neighbors, changed.settings.own_vector) == (7, False)
    assert changed.training.learning_rate == 0.5
    assert changed.settings.dim == usual.settings.dim
    assert changed.training.epochs == usual.training.epochs
    assert change(usual, changes) == changed
    assert change(changed, {}) == changed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbours": 3}, "targcn.neighbours is unknown; did you mean 'neighbors'?"),
        ({"dim": "many"}, "targcn.dim is 'many'; a whole number was expected"),
        ({"epochs": 0}, "epochs is 0; at least 1 was expected"),
        ({"schedule": "linear"}, "training.schedule is 'linear'; choose one of constant, cosine"),
        ({"shared_layers": True}, "targcn.shared_layers is a setting of older versions"),
    ],
)
def test_a_change_is_checked(changes: dict[str, object], message: str) -> None:
    for act in (
        lambda: find_recipe("targcn", changes=changes),
        lambda: change(find_recipe("targcn"), changes),
    ):
        with pytest.raises(InputError) as refused:
            act()
        assert message in str(refused.value)


@pytest.mark.parametrize("model", MODELS)
def test_only_a_model_that_can_filter_its_loss_is_asked_to(model: str) -> None:
    asked = {"filtered_loss": True}
    if find_model(model).can_filter_loss:
        assert find_recipe(model, changes=asked).training.filtered_loss
    else:
        sentence = f"^{model} is not trained against all entities; leave filtered_loss out$"
        with pytest.raises(InputError, match=sentence):
            find_recipe(model, changes=asked)


# --- what is not there or damaged -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dataset", "message"),
    [
        ("papre", "icews14", "targcn has no recipe 'papre' for icews14; did you mean 'paper'?"),
        ("paper", "congress", "targcn has no recipe 'paper' for congress"),
        ("zzzzzz", "congress", "targcn has no recipe 'zzzzzz' for congress; known are default"),
    ],
)
def test_an_unknown_recipe_is_refused(name: str, dataset: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        find_recipe("targcn", name, dataset)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abuot = 'x'", "mine.toml.abuot is unknown; did you mean 'about'?"),
        ("settings = 3", "mine.toml.settings is 3; a table was expected"),
        ("about = ", "cannot read the recipe"),
    ],
)
def test_a_damaged_recipe_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_recipe_file(path)
    assert message in str(refused.value)


def test_an_empty_recipe_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    assert read_recipe_file(tmp_path / "mine.toml") == RecipeFile()


@pytest.mark.parametrize("dataset", ["9" * 5000, "../../x", "a\0b", ""])
def test_a_data_set_may_be_called_anything(dataset: str) -> None:
    assert find_recipe("targcn", "default", dataset) == find_recipe("targcn", "default", "mine")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('model = "decayed-copy"\nabout = "mine"\n[settings]\nscale = 7\n')
    recipe = find_recipe(None, str(path), "congress", {"lasting": "0"})
    assert (recipe.model, recipe.name, recipe.about) == ("decayed-copy", "mine", "mine")
    assert (recipe.settings.scale, recipe.settings.lasting) == (7, 0)
    assert find_recipe("decayed-copy", str(path)).settings.scale == 7
    with pytest.raises(InputError, match=r"mine\.toml is a recipe of decayed-copy, not of seen"):
        find_recipe("seen", str(path))
    with pytest.raises(InputError, match=r"cannot read the recipe .*none\.toml"):
        find_recipe(None, str(tmp_path / "none.toml"))
    # One that does not say what model it is of is of the one that is wanted, or of the default.
    path.write_text("[training]\nepochs = 3\n")
    assert find_recipe("targcn", str(path)).training.epochs == 3
    assert find_recipe(None, str(path)).model == "evidence"


@pytest.mark.parametrize("model", MODELS)
def test_a_recipe_is_written_and_read(model: str, tmp_path: Path) -> None:
    recipe = find_recipe(model, "default", "icews14", {"clip": "none", "learning_rate": 1e-3 / 7})
    about = 'with "quotes", Φ and a \\ in it'
    written = make_recipe(model, "mine", vars(recipe.settings), vars(recipe.training), about)
    write_recipe(written, tmp_path / "mine.toml")
    assert find_recipe(None, str(tmp_path / "mine.toml")) == written
