"""`targcn report`: pages and tables of what `targcn reproduce` kept."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from targcn.terminal import show


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
    from targcn.errors import InputError
    from targcn.files import atomic_file
    from targcn.pages import write_report
    from targcn.reporting import fill as filled_with
    from targcn.reporting import results_in

    if out is None and not fill:
        raise InputError("what to write? --out DIR makes pages, --fill FILE fills its tables")
    texts = {}
    found = results_in(results) if fill else {}
    for path in fill:
        try:
            texts[path] = filled_with(path.read_text(encoding="utf-8"), found)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise InputError(f"cannot read {path}: {reason}") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if out is not None:
        write_report(results, out)
        show(f"wrote {out / 'index.html'} and {out / 'report.md'}")
    for path, text in texts.items():
        with atomic_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
        show(f"filled {path}")
