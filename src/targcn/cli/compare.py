"""`targcn compare`: several runs, one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli.common import (
    AsJson,
    ContextOfSplit,
    Device,
    require_folder,
    warn_if_in_sight,
    warn_if_unfinished,
)
from targcn.terminal import counting, show, show_json, table_of

if TYPE_CHECKING:
    from targcn.comparison import Comparison


def compare_runs(
    *runs: Path,
    split: Literal["train", "valid", "test"] = "test",
    context: ContextOfSplit = None,
    ties: Literal["optimistic", "mean", "pessimistic"] = "mean",
    filter: Literal["raw", "static", "time-aware"] = "time-aware",
    to: Path | None = None,
    resamples: int = 2000,
    seed: int = 0,
    out: Annotated[tuple[Path, ...], Parameter(negative="", show_default=False)] = (),
    plot: Path | None = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Judge several runs of one data set alike: figures, costs, and how sure a difference is.

    Parameters
    ----------
    runs
        Run folders, as `train` writes them; two or more.
    split
        The facts to ask about.
    ties
        The rank of an answer among equal scores.
    filter
        The filter that orders the runs, and that Hits and differences are under.
    to
        The run to compare the others with; left out, the best.
    resamples
        How often the facts are drawn anew for the interval of a difference.
    seed
        Seed of these draws.
    out
        Write the figures into this new file too: .csv, .json or .md; can be given several times.
    plot
        Draw MRR over parameters into this new file: .png, .svg or .pdf (needs matplotlib).
    """
    for folder in runs:
        require_folder(folder)
    from targcn.comparison import compare
    from targcn.drawing import require_picture
    from targcn.files import require_absent
    from targcn.writeup import plot as draw
    from targcn.writeup import require_ending, write

    for path in out:
        require_ending(path)
        require_absent(path)
    if plot is not None:
        require_picture(plot)
        require_absent(plot)
    for folder in runs:
        warn_if_unfinished(folder)
    warn_if_in_sight(split, context)
    with counting(f"judging {split}", "queries") as progress:
        found = compare(
            runs,
            split=split,
            context=context,
            ties=ties,
            filter=filter,
            to=to,
            resamples=resamples,
            seed=seed,
            device=device,
            progress=progress,
        )
    try:
        if json:
            show_json(found.to_json())
        else:
            _show(found)
    finally:
        # Kept even if whoever reads what is shown leaves early.
        for path in out:
            write(found, path)
        if plot is not None:
            draw(found, plot)


def _show(comparison: "Comparison") -> None:
    from targcn.writeup import in_words, table

    about, differences = in_words(comparison)
    heads, rows = table(comparison)
    show(about)
    printed = table_of(*(f"{head}\n{which}" for head, which in heads))
    for row in rows:
        printed.add_row(*row)
    show(printed, folded=False)
    show(differences)
