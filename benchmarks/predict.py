"""How long one question takes: in a loaded process, and as a command from the start.

Needs ICEWS05-15 (see `targcn data list`). The weights are untrained, which changes no time.
Wanted on 2 cores: 20 ms at the median in a loaded process, 3 s for the command.
"""

import statistics
import tempfile
import time
from pathlib import Path

from measure import keep, run_measured
from targcn import Run, open_dataset, predict, save_run
from targcn.models import create

NUM_QUESTIONS = 200


def main() -> None:
    dataset = open_dataset("icews05-15")
    model = create("targcn", dataset, {"size": 200})
    run = Run("targcn", model.settings, 0, dataset, model)
    step = len(dataset.test) // NUM_QUESTIONS
    questions = [dataset.named("test", number * step) for number in range(NUM_QUESTIONS)]
    seconds = []
    for subject, relation, _, day in questions:
        start = time.perf_counter()
        predict(run, subject, relation, None, day)
        seconds.append(time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "run"
        save_run(run, kept)
        subject, relation, _, day = questions[0]
        command = ("predict", str(kept), subject, relation, "?", day)
        whole = [run_measured(*command)[0] for _ in range(3)]
    ordered = sorted(seconds[1:])
    lines = [
        f"icews05-15, targcn size 200, neighbors 100, {NUM_QUESTIONS} questions one by one",
        f"first question (builds the index)   {seconds[0] * 1e3:8.1f} ms",
        f"median of the others                {statistics.median(ordered) * 1e3:8.1f} ms",
        f"95th percentile                     {ordered[int(len(ordered) * 0.95)] * 1e3:8.1f} ms",
        f"the whole command, median of 3      {statistics.median(whole):8.2f} s",
    ]
    keep("predict", lines)


if __name__ == "__main__":
    main()
