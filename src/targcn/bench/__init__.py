"""The benchmarks behind every speed that this project claims.

Each takes a Dataset, or the Shape of one to generate, and gives a Result: rows of figures and the
machine they were taken on. All run from a prepared folder with torch and numpy alone, except
predict and ingest, which measure what needs polars. Names are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from targcn.bench.epoch import measure_epoch
    from targcn.bench.evaluate import measure_evaluate
    from targcn.bench.generated_data import Shape, generate
    from targcn.bench.ingest import measure_ingest
    from targcn.bench.measure import Result
    from targcn.bench.predict import measure_predict
    from targcn.bench.sampler import measure_sampler
    from targcn.bench.scale import measure_scale

_HOMES = {
    "Result": "measure",
    "Shape": "generated_data",
    "generate": "generated_data",
    "measure_epoch": "epoch",
    "measure_evaluate": "evaluate",
    "measure_ingest": "ingest",
    "measure_predict": "predict",
    "measure_sampler": "sampler",
    "measure_scale": "scale",
}
__all__ = [
    "Result",
    "Shape",
    "generate",
    "measure_epoch",
    "measure_evaluate",
    "measure_ingest",
    "measure_predict",
    "measure_sampler",
    "measure_scale",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"targcn.bench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'targcn.bench' has no attribute {name!r}")
