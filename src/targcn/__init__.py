"""Temporal knowledge graph completion: open dated facts, fit a model, judge it, ask it.

Names are imported when first used, so that `import targcn` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from targcn.checkpoint import Run, load_run, save_run
    from targcn.comparison import Comparison, compare
    from targcn.errors import InputError
    from targcn.evaluation import Report, evaluate
    from targcn.explanation import explain
    from targcn.facts.dataset import Dataset, Facts
    from targcn.facts.graph import TemporalGraph
    from targcn.facts.opening import open_dataset
    from targcn.facts.reading import Reading
    from targcn.fitting import fit, resume
    from targcn.prediction import Question, predict, predict_many

__version__ = "0.1.0"

_HOMES = {
    "Comparison": "comparison",
    "Dataset": "facts.dataset",
    "Facts": "facts.dataset",
    "InputError": "errors",
    "Question": "prediction",
    "Reading": "facts.reading",
    "Report": "evaluation",
    "Run": "checkpoint",
    "TemporalGraph": "facts.graph",
    "compare": "comparison",
    "evaluate": "evaluation",
    "explain": "explanation",
    "fit": "fitting",
    "load_run": "checkpoint",
    "open_dataset": "facts.opening",
    "predict": "prediction",
    "predict_many": "prediction",
    "resume": "fitting",
    "save_run": "checkpoint",
}
__all__ = [
    "Comparison",
    "Dataset",
    "Facts",
    "InputError",
    "Question",
    "Reading",
    "Report",
    "Run",
    "TemporalGraph",
    "compare",
    "evaluate",
    "explain",
    "fit",
    "load_run",
    "open_dataset",
    "predict",
    "predict_many",
    "resume",
    "save_run",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"targcn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'targcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
