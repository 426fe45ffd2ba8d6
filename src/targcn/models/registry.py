"""All models by name.

A new model is one file in this folder with a Model or Learner (base.py) and one line in MODELS;
CONTRIBUTING.md lists what else it wants: recipes, a test, a row in experiments/main.toml.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from targcn.errors import InputError
from targcn.facts.vocabulary import suggest

if TYPE_CHECKING:
    from targcn.facts.dataset import Dataset
    from targcn.models.base import Model, ModelSettings


@dataclass(frozen=True)
class ModelEntry:
    """Where a model is defined, and a summary; the module is imported only when it is used."""

    module: str
    class_name: str
    summary: str

    def load(self) -> type["Model"]:
        module = import_module(f"targcn.models.{self.module}")
        found: type[Model] = getattr(module, self.class_name)
        return found


MODELS: Final = {
    "evidence": ModelEntry("evidence", "Evidence", "adds up the facts that speak for an answer"),
    "targcn": ModelEntry("targcn", "TARGCN", "mean of a subject's facts near the query's time"),
    "temp-sa": ModelEntry(
        "temp_sa", "TeMPSA", "snapshots encoded, joined by attention over a window"
    ),
    "temp-gru": ModelEntry(
        "temp_gru", "TeMPGRU", "snapshots encoded, joined by recurrent networks"
    ),
    "t-gap": ModelEntry("tgap", "TGAP", "attention that flows along facts from the subject"),
    "tcompounde": ModelEntry("tcompounde", "TCompoundE", "factors: translated, scaled by the time"),
    "teast": ModelEntry("teast", "TeAST", "factors: complex, relations on a spiral of time"),
    "telm": ModelEntry("telm", "TeLM", "factors: multivectors, modulated by the time"),
    "boxte": ModelEntry("boxte", "BoxTE", "boxes that contain the points of a relation's facts"),
    "chronor": ModelEntry("chronor", "ChronoR", "factors: complex, rotated by relation and time"),
    "tntcomplex": ModelEntry(
        "tntcomplex", "TNTComplEx", "factors: complex, partly modulated by time"
    ),
    "atise": ModelEntry("atise", "ATiSE", "normal distributions that drift and swing with time"),
    "de-simple": ModelEntry("de_simple", "DESimplE", "factors: SimplE that changes with the date"),
    "tcomplex": ModelEntry("tcomplex", "TComplEx", "factors: complex, modulated by the time"),
    "complex": ModelEntry("complex", "ComplEx", "factors without time: complex vectors"),
    "simple": ModelEntry("simple", "SimplE", "factors without time: a vector for each direction"),
    "distmult": ModelEntry("distmult", "DistMult", "factors without time: real vectors"),
    "seen": ModelEntry(
        "floors", "Seen", "no training: seen before, then often together, then common"
    ),
    "decayed-copy": ModelEntry(
        "floors", "DecayedCopy", "no training: copies facts, near ones count more"
    ),
}
DEFAULT: Final = "evidence"


def find_model(name: str) -> type["Model"]:
    """The class of a model; an unknown name is an InputError with the nearest known one.

    >>> find_model("decayed-coppy")
    Traceback (most recent call last):
    targcn.errors.InputError: there is no model 'decayed-coppy'; did you mean 'decayed-copy'?
    """
    if name in MODELS:
        return MODELS[name].load()
    if name == "fused":
        raise InputError(
            "a fused model is not trained; train its members, then 'targcn fuse RUN RUN --out RUN'"
        )
    nearest = suggest(name, list(MODELS), limit=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "'targcn models' lists them"
    raise InputError(f"there is no model {name!r}; {hint}")


def create(name: str, dataset: "Dataset", settings: "ModelSettings") -> "Model":
    """A model with its initial weights, which come from torch's random generator."""
    model = find_model(name)
    if not model.reads_intervals and dataset.has_intervals:
        raise InputError(
            f"{name} reads facts time by time, but those of {dataset.name} hold over intervals; "
            f"choose another model, such as {DEFAULT}"
        )
    return model(settings, dataset)
