"""How many queries a second the search for missing facts asks of a trained run.

Not of an untrained one: how many answers are looked at from their other end depends on how sure the
model is. Needs polars, since what is found is a frame.
"""

from dataclasses import replace
from pathlib import Path

import torch

from benchmarks import measure
from benchmarks.generated_data import open_source
from benchmarks.untrained import describe_run
from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.inference.missing import find_missing, search, what_to_ask
from targcn.inference.predictor import Predictor
from targcn.runs.store import load_run


def measure_missing(
    folder: Path | str, *, times: int = 2, top: int = 100, device: str = "auto"
) -> measure.Result:
    """Queries per second at some times of the data, evenly spread, and seconds for the reasons."""
    require_at_least(1, times=times, top=top)
    place = choose_device(device)
    run = load_run(folder)
    _, data = open_source(run.dataset)
    measure.forget_peak(place)
    predictor, loading = measure.timed(lambda: Predictor(run, device=str(place)), place)
    asking = what_to_ask(predictor, None, None, None)
    count = min(times, len(asking.times))
    chosen = torch.linspace(0, len(asking.times) - 1, count + 2).long()[1:-1]
    asking = replace(asking, times=asking.times[chosen.to(asking.times.device)])
    # Once before anything is timed, for some of the queries: a GPU prepares for what it sees.
    few = replace(asking, subjects=asking.subjects[::97], relations=asking.relations[::97])
    search(predictor, few, top)
    _, searching = measure.timed(lambda: search(predictor, asking, top), place)
    peak = measure.peak_bytes(place)
    _, whole = measure.timed(lambda: find_missing(predictor, asking, top), place)
    rows: list[measure.Row] = [
        {"what": "loading a predictor, which builds the index", "seconds": loading},
        {
            "what": "searching",
            "seconds": searching,
            "queries_per_second": asking.num_queries / searching,
            "queries": asking.num_queries,
            "peak_bytes": peak,
        },
        {"what": f"searching, and a reason for each of {top}", "seconds": whole},
    ]
    arguments = describe_run(run) | {"times": count, "top": top, "device": str(place)}
    return measure.Result("missing", arguments, data, place, rows)
