"""`targcn report`: tables and plots of the results of `targcn reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from targcn.errors import InputError
from targcn.files import atomic_file, read_text
from targcn.output.plots import require_picture
from targcn.output.terminal import show

if TYPE_CHECKING:
    from targcn.experiments.tables import Results


def report_results(
    results: Path,
    *,
    fill: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    plots: Path | None = None,
) -> None:
    """Fill tables of results next to the paper's figures into texts, or plot them.

    Args:
        results: The folder of results of `targcn reproduce`.
        fill: Fill the tables of these Markdown files. Each is between the lines
            `<!-- table: EXPERIMENT DATA FILTER -->` and `<!-- end of table -->`. FILTER may be
            costs; a fourth word, `valid`, asks for the valid split; `EXPERIMENT all mrr` is the MRR
            on all data sets.
        plots: Write the plots of the experiments into this folder.
    """
    from targcn.experiments.plots import plot_experiments
    from targcn.experiments.results import read_results

    if plots is None and not fill:
        raise InputError(
            "nothing to write; --fill FILE fills the tables of a text, --plots DIR draws the plots"
        )
    if plots is not None:
        require_picture(plots / "plot.svg")
    measured = read_results(results)
    if not measured:
        raise InputError(f"there is no result in {results}; 'targcn reproduce NAME' makes some")
    texts = {path: _filled(path, measured) for path in fill}
    if plots is not None:
        for path in plot_experiments(measured, plots):
            show(f"wrote {path}")
    for path, (text, num_tables) in texts.items():
        # The target of a link is replaced, not the link.
        with atomic_file(path.resolve()) as draft:
            draft.write_text(text, encoding="utf-8", newline="")
        show(f"{path}: {num_tables} {'table' if num_tables == 1 else 'tables'} filled")


def _filled(path: Path, results: "Results") -> tuple[str, int]:
    """A text with its tables filled, and the number of them."""
    from targcn.experiments.tables import END_OF_PLACE, fill

    try:
        text = fill(read_text(path), results)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return text, text.splitlines().count(END_OF_PLACE)
