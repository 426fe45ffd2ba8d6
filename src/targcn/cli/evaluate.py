"""`targcn evaluate`: the figures of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli.options import AsJson, ContextOfSplit, Device, load_folder, warn_if_in_context
from targcn.output.terminal import count_progress, show, show_json

if TYPE_CHECKING:
    from targcn.evaluation.report import Report


def evaluate_run(
    run: Path,
    *,
    split: Literal["train", "valid", "test"] = "test",
    context: ContextOfSplit = None,
    ties: Literal["optimistic", "mean", "pessimistic"] = "mean",
    by_relation: Annotated[bool, Parameter(negative="")] = False,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Evaluate a run: ranks under the raw, static and time-aware filters, side by side.

    Parameters
    ----------
    run
        A run folder, as `train` writes it.
    split
        The facts to ask about.
    ties
        The rank of an answer among equal scores.
    by_relation
        Show the figures of every relation too.
    """
    from targcn.distributed import join_process_group
    from targcn.runs.evaluate import evaluate

    with (
        join_process_group(device) as (processes, place),
        count_progress(f"evaluating {split}", "queries") as progress,
    ):
        with processes.barrier():
            loaded = load_folder(run)
            warn_if_in_context(split, context, loaded.model.reads_context)
        report = evaluate(
            loaded,
            split=split,
            context=context,
            ties=ties,
            device=place,
            progress=progress,
            processes=processes,
        )
    if not processes.is_main:
        return
    if json:
        show_json(report.to_json(by_relation))
        return
    show_report(report)
    if by_relation:
        from targcn.evaluation.report import relation_table

        show(relation_table(report))


def show_report(report: "Report") -> None:
    from targcn.evaluation.report import report_table

    show(report_table(report))
