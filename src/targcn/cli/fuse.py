"""`targcn fuse`: several runs as one."""

from pathlib import Path
from typing import TYPE_CHECKING

from targcn.cli.options import Device, NewFolder, warn_if_unfinished
from targcn.output.tables import Column, Table, Value
from targcn.output.terminal import count_progress, show

if TYPE_CHECKING:
    from targcn.runs.run import Run


def fuse_runs(
    *runs: Path,
    out: NewFolder,
    queries: int = 20_000,
    seed: int = 0,
    device: Device = "auto",
) -> None:
    """Fuse runs of one data set into one: the weighted sum of their log-probabilities.

    The weights are chosen on the valid split, in its members' context, by time-aware
    MRR. The fused run is evaluated, asked, explained and compared like any other.

    Args:
        runs: Two run folders or more, as `train` writes them, that give probabilities.
        queries: How many queries of the valid split to choose the weights on, at most.
        seed: Seed that chooses these queries.
    """
    from targcn.runs.fuse import fuse

    for folder in runs:
        warn_if_unfinished(folder)
    with count_progress("fusing", "queries") as progress:
        fused = fuse(runs, out=out, queries=queries, seed=seed, device=device, progress=progress)
    show(_table(fused, queries))
    show(f"kept in {out}; evaluate it on test with: targcn evaluate {out}")


def _table(fused: "Run", queries: int) -> Table:
    """The members and the fused run: weights, and figures on the valid split."""
    from targcn.models.fused import FusedSettings

    report, settings = fused.validation, fused.recipe.settings
    assert report is not None
    assert isinstance(settings, FusedSettings)
    rows: list[dict[str, Value]] = []
    weighted = [(name, run, settings.weights[name]) for name, run in fused.members.items()]
    for name, run, weight in [*weighted, ("all of them, fused", fused, None)]:
        assert run.validation is not None
        mrrs = {str(which): by["both"]["mrr"] for which, by in run.validation.metrics.items()}
        rows.append({"run": name, "model": run.recipe.model, "weight": weight, **mrrs})
    figures = [Column(which, f"{which} MRR", ".3f") for which in report.metrics]
    columns = Column("run", "run"), Column("model", "model"), Column("weight", "weight", ".3g")
    chosen_on = min(queries, report.num_queries)
    return Table(
        (*columns, *figures),
        tuple(rows),
        f"{len(fused.members)} runs on {report.dataset}, fused: {report.num_queries:,} queries, "
        f"{report.setting}",
        (f"weights: the best time-aware MRR on {chosen_on:,} of these queries",),
    )
