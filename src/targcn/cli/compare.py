"""`targcn compare`: several runs, one table."""

from pathlib import Path
from typing import Annotated, Literal

from targcn.cli.options import (
    AsJson,
    Context,
    Device,
    Intervals,
    NewPicture,
    Split,
    Ties,
    checked,
    warn_if_in_context,
    warn_if_unfinished,
)
from targcn.files import require_absent
from targcn.output.tables import require_table_file, write_table
from targcn.output.terminal import count_progress, show, show_json


def compare_runs(
    *runs: Path,
    ranks: tuple[Path, ...] = (),
    split: Split = "test",
    context: Context = None,
    ties: Ties = "mean",
    intervals: Intervals = None,
    filter: Literal["raw", "static", "time-aware"] = "time-aware",
    to: Path | None = None,
    resamples: int = 2000,
    seed: int = 0,
    out: Annotated[tuple[Path, ...], checked(require_table_file, require_absent)] = (),
    plot: NewPicture = None,
    device: Device = "auto",
    json: AsJson = False,
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
        plot: Plot the runs' MRR against parameters to this new file: .png, .svg or .pdf (needs
            matplotlib).
    """
    from targcn.runs.compare import compare, comparison_table, plot_comparison

    for folder in runs:
        warn_if_unfinished(folder)
    warn_if_in_context(split, context)
    with count_progress(f"evaluating {split}", "queries") as progress:
        found = compare(
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
            progress=progress,
        )
    table = comparison_table(found)
    try:
        if json:
            show_json(table.records())
        else:
            show(table, folded=False)
    finally:
        # The files are written even if nobody reads the output to its end.
        for path in out:
            write_table(table, path)
        if plot is not None:
            plot_comparison(found, plot)
