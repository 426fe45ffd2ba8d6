"""How long it takes to learn what is true, and to list what is missing from a whole data set."""

import torch

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from targcn.config import require_at_least
from targcn.facts.dataset import Dataset
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.missing import MissingFilter, list_missing
from targcn.truth.truth import Truth, fit_judge


def measure_missing(source: Dataset | Shape, *, top: int = 100) -> measure.Result:
    """Seconds of each step; nothing is hidden, so that all facts are the context."""
    require_at_least(1, top=top)
    dataset, data = open_source(source)
    place = torch.device("cpu")
    judge, learning = measure.timed(lambda: fit_judge(dataset, "all"), place)
    truth = Truth(TemporalGraph.of_context(dataset, "all"), dataset, judge)
    number, suggesting = measure.timed(lambda: len(truth.suggestions), place)
    _, listing = measure.timed(lambda: list_missing(truth, dataset, MissingFilter(top=top)), place)
    rows: list[measure.Row] = [
        {"what": "learning what is true", "seconds": learning},
        {"what": f"finding {number:,} facts to judge", "seconds": suggesting},
        {"what": f"judging them, and telling why of {top}", "seconds": listing},
    ]
    return measure.Result("missing", {"top": top}, data, place, rows)
