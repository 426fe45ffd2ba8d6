"""`targcn compare`: several runs, one table."""

from pathlib import Path
from typing import Annotated, Literal

from targcn.cli import options
from targcn.cli.options import checked, show_table, warn_if_in_context, warn_if_unfinished
from targcn.files import require_absent
from targcn.output.tables import require_table_file
from targcn.output.terminal import show


def compare_runs(
    *runs: Path,
    ranks: tuple[Path, ...] = (),
    split: options.Split = "test",
    context: options.Context = None,
    ties: options.Ties = "mean",
    intervals: options.Intervals = None,
    filter: Literal["raw", "static", "time-aware"] = "time-aware",
    to: Path | None = None,
    resamples: int = 2000,
    seed: int = 0,
    out: Annotated[tuple[Path, ...], checked(require_table_file, require_absent)] = (),
    device: options.Device = "auto",
    json: options.AsJson = False,
) -> None:
    """Evaluate runs of one data set in one setting: figures, costs, and certainty of differences.

    Other systems are judged beside them by the same evaluator if --ranks gives their scores, or
    their ranks, of every query of the split (docs/judging.md).

    Args:
        runs: Run folders, as `train` writes them; two or more, or one beside --ranks.
        ranks: A .parquet file with the ranks or scores of another system; can be given several
            times.
        filter: The filter that orders the runs, and that all figures but the MRR are shown under.
        to: The run, or file of --ranks, to compare the others with; default: the best.
        resamples: How often the facts are resampled for the interval of a difference.
        seed: Seed of the resampling.
        out: Write the figures to this new file too: .csv, .json or .md; can be given several times.
    """
    from targcn.runs.compare import compare, comparison_table

    for folder in runs:
        warn_if_unfinished(folder)
    warn_if_in_context(split, context)
    comparison = compare(
        runs,
        ranks=ranks,
        split=split,
        context=context,
        ties=ties,
        intervals=intervals,
        filter=filter,
        to=to,
        resamples=resamples,
        seed=seed,
        device=device,
    )
    show_table(comparison_table(comparison), out, json, folded=False)


def fuse_runs(
    *runs: Path,
    out: options.NewFolder,
    queries: int = 20_000,
    seed: int = 0,
    device: options.Device = "auto",
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
    fused = fuse(runs, out=out, queries=queries, seed=seed, device=device)
    show(fused.as_table())
    show(f"kept in {out}; evaluate it on test with: targcn evaluate {out}")
