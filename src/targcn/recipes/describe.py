"""Every setting in words: its name, its default and what it means."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from docstring_parser import parse_from_object

from targcn.models.base import Learner
from targcn.models.registry import find_model
from targcn.recipes.recipe import find_recipe
from targcn.recipes.training_settings import TrainingSettings


@dataclass(frozen=True)
class DescribedSetting:
    """A setting of a model or of its training, with the default of the model's recipe."""

    name: str
    default: object
    meaning: str

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


def describe_settings(model: str) -> list[DescribedSetting]:
    """The settings of a model, with those that it inherits.

    >>> [(setting.flag, setting.default) for setting in describe_settings("decayed-copy")]
    [('--scale', 30.0), ('--lasting', 0.001), ('--same-relation', 10.0)]
    """
    # A setting that a subclass describes again is described by the subclass.
    classes = [*reversed(find_model(model).Settings.__mro__[:-1])]
    return _describe(classes, find_recipe(model).settings)


def describe_training(model: str) -> list[DescribedSetting]:
    """The settings of a model's training; a rule that is not trained has none.

    >>> describe_training("seen")
    []
    """
    if not issubclass(find_model(model), Learner):
        return []
    return _describe([TrainingSettings], find_recipe(model).training)


def _describe(classes: Sequence[type], values: object) -> list[DescribedSetting]:
    defaults = asdict(values)  # type: ignore[call-overload]
    meanings = {
        parameter.arg_name: parameter.description or ""
        for settings in classes
        for parameter in parse_from_object(settings).params
    }
    return [DescribedSetting(name, defaults[name], said) for name, said in meanings.items()]
