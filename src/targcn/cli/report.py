"""`targcn report`: pages and tables of what `targcn reproduce` kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from targcn.errors import InputError
from targcn.terminal import show

if TYPE_CHECKING:
    from targcn.reporting import Results


def report_results(
    results: Path,
    *,
    out: Path | None = None,
    fill: Annotated[
        tuple[Path, ...], Parameter(consume_multiple=True, negative="", show_default=False)
    ] = (),
) -> None:
    """Make pages of kept results, the paper's figures beside, or put their tables into texts.

    Parameters
    ----------
    results
        The folder that `targcn reproduce` keeps its results in.
    out
        Write index.html, report.md and plots into this new folder.
    fill
        Fill the tables of these Markdown files: each stands between a line
        `<!-- table: EXPERIMENT DATA FILTER -->` and a line `<!-- end of table -->`; for FILTER may
        stand costs, and a fourth word `valid` asks for the valid split; `all mrr` for DATA FILTER
        is the MRR of all data sets.
    """
    from targcn.files import atomic_file
    from targcn.pages import write_report
    from targcn.reporting import results_in

    if out is None and not fill:
        raise InputError("what to write? --out DIR makes pages, --fill FILE fills its tables")
    found = results_in(results) if fill else {}
    texts = {path: _filled(path, found) for path in fill}
    if out is not None:
        write_report(results, out)
        show(f"wrote {out / 'index.html'} and {out / 'report.md'}")
    for path, (text, num_tables) in texts.items():
        if num_tables == 0:
            show(f"{path} has no place for a table; nothing was filled")
            continue
        # What a link leads to is replaced, not the link.
        with atomic_file(path.resolve()) as draft:
            draft.write_text(text, encoding="utf-8", newline="")
        show(f"{path}: {num_tables} {'table' if num_tables == 1 else 'tables'} filled")


def _filled(path: Path, results: "Results") -> tuple[str, int]:
    """A text with its tables, all else and its line ends as they were, and how many those are."""
    from targcn.reporting import PLACE, fill

    try:
        with path.open(encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"cannot read {path}: {reason}") from None
    end = "\r\n" if text.count("\r\n") == text.count("\n") else "\n"
    text = text.replace(end, "\n")
    num_tables = sum(PLACE.fullmatch(line) is not None for line in text.split("\n"))
    try:
        return fill(text, results).replace("\n", end), num_tables
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
