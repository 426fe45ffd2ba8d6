"""Temporal knowledge graph completion: open dated facts, fit a model, evaluate it, ask it.

Names are imported when first used, so that `import targcn` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from targcn.errors import InputError as InputError
    from targcn.evaluation.report import Report as Report
    from targcn.facts.dataset import Dataset as Dataset
    from targcn.facts.dataset import Facts as Facts
    from targcn.facts.open import open_dataset as open_dataset
    from targcn.facts.reading.options import ReadOptions as ReadOptions
    from targcn.graph.temporal_graph import TemporalGraph as TemporalGraph
    from targcn.inference.ask import explain as explain
    from targcn.inference.ask import predict as predict
    from targcn.inference.ask import predict_many as predict_many
    from targcn.inference.explanation import Explanation as Explanation
    from targcn.inference.missing import missing as missing
    from targcn.inference.predictor import Predictor as Predictor
    from targcn.inference.questions import Question as Question
    from targcn.inference.rules import Rule as Rule
    from targcn.inference.rules import rules as rules
    from targcn.runs.compare import Comparison as Comparison
    from targcn.runs.compare import compare as compare
    from targcn.runs.evaluate import evaluate as evaluate
    from targcn.runs.fuse import fuse as fuse
    from targcn.runs.run import Run as Run
    from targcn.runs.store import load_run as load_run
    from targcn.runs.store import save_run as save_run
    from targcn.training.fit import fit as fit
    from targcn.training.fit import resume as resume

__version__ = "0.2.0"

_NAMES = {
    "errors": ("InputError",),
    "evaluation.report": ("Report",),
    "facts.dataset": ("Dataset", "Facts"),
    "facts.open": ("open_dataset",),
    "facts.reading.options": ("ReadOptions",),
    "graph.temporal_graph": ("TemporalGraph",),
    "inference.ask": ("explain", "predict", "predict_many"),
    "inference.explanation": ("Explanation",),
    "inference.missing": ("missing",),
    "inference.predictor": ("Predictor",),
    "inference.questions": ("Question",),
    "inference.rules": ("Rule", "rules"),
    "runs.compare": ("Comparison", "compare"),
    "runs.evaluate": ("evaluate",),
    "runs.fuse": ("fuse",),
    "runs.run": ("Run",),
    "runs.store": ("load_run", "save_run"),
    "training.fit": ("fit", "resume"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"targcn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'targcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
