"""The systems that can be trained, by name: one file each, one line here."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from targcn.config import build
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.vocabulary import suggest


@dataclass(frozen=True)
class ModelEntry:
    """Where a model is written, and what it is in a line; it is imported when asked for."""

    module: str
    class_name: str
    summary: str

    def load(self) -> Any:
        return getattr(import_module(f"targcn.models.{self.module}"), self.class_name)


MODELS: Final = {
    "targcn": ModelEntry(
        "targcn", "TARGCN", "a subject is the mean of its facts around the query's time"
    ),
    "tcompounde": ModelEntry(
        "tcompounde", "TCompoundE", "factors: relation and time move and scale the subject"
    ),
    "teast": ModelEntry("teast", "TeAST", "factors: complex, relations on a spiral of time"),
    "telm": ModelEntry("telm", "TeLM", "factors: multivectors, modulated by the time"),
    "boxte": ModelEntry("boxte", "BoxTE", "boxes: relations hold the points of their facts"),
    "chronor": ModelEntry(
        "chronor", "ChronoR", "factors: complex, turned by relation and time side by side"
    ),
    "tntcomplex": ModelEntry(
        "tntcomplex", "TNTComplEx", "factors: complex, relations partly modulated by the time"
    ),
    "atise": ModelEntry("atise", "ATiSE", "bell curves that drift and swing with time"),
    "de-simple": ModelEntry(
        "de_simple", "DESimplE", "factors: SimplE whose entities swing with year, month and day"
    ),
    "tcomplex": ModelEntry("tcomplex", "TComplEx", "factors: complex, modulated by the time"),
    "complex": ModelEntry("complex", "ComplEx", "factors without time: complex vectors"),
    "simple": ModelEntry("simple", "SimplE", "factors without time: a vector for each direction"),
    "distmult": ModelEntry("distmult", "DistMult", "factors without time: real vectors"),
    "seen": ModelEntry(
        "floors", "Seen", "no training: seen before, then often together, then common"
    ),
    "decayed-copy": ModelEntry(
        "floors", "DecayedCopy", "no training: the subject's facts, near ones counting more"
    ),
}
DEFAULT: Final = "targcn"


def find_model(name: str) -> Any:
    """The class of a model; an unknown name is an InputError with the nearest known one.

    >>> find_model("decayed-coppy")
    Traceback (most recent call last):
    targcn.errors.InputError: there is no model 'decayed-coppy'; did you mean 'decayed-copy'?
    """
    if name in MODELS:
        return MODELS[name].load()
    nearest = suggest(name, list(MODELS), limit=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "'targcn models' lists them"
    raise InputError(f"there is no model {name!r}; {hint}")


def create(name: str, dataset: Dataset, settings: Mapping[str, Any] | None = None) -> Any:
    """A model for this data set with these settings; what is left out keeps its default."""
    model = find_model(name)
    return model(build(model.Settings, settings or {}, name), dataset)
