"""Time and memory of `targcn evaluate` for the floors on ICEWS05-15's 92,184 test queries.

Needs the data (see `targcn data list`). Wanted: under 60 s on 2 cores and under 4 GB.
"""

import json
import tempfile
from pathlib import Path

from measure import keep, run_measured


def main() -> None:
    lines = [
        "icews05-15, test split, context train+valid, mean rank on ties, both directions",
        f"{'model':14} {'static MRR':>10} {'time-aware MRR':>15} {'seconds':>8} {'peak GB':>8}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for model in ("seen", "decayed-copy"):
            run = str(Path(folder) / model)
            run_measured("train", "icews05-15", "--model", model, "--out", run)
            seconds, peak, output = run_measured("evaluate", run, "--json")
            metrics = json.loads(output)["metrics"]
            static, aware = (metrics[which]["both"]["mrr"] for which in ("static", "time-aware"))
            lines.append(f"{model:14} {static:10.3f} {aware:15.3f} {seconds:8.1f} {peak:8.2f}")
    keep("evaluate_floors", lines)


if __name__ == "__main__":
    main()
