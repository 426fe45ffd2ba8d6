"""`targcn evaluate`: the figures of a run."""

from pathlib import Path
from typing import Literal

from targcn.cli.options import (
    AsJson,
    Context,
    Device,
    Intervals,
    NewerFacts,
    NewPicture,
    NewTable,
    RunFolder,
    Split,
    Ties,
    load_folder,
    warn_if_in_context,
)
from targcn.errors import InputError
from targcn.output.tables import write_table
from targcn.output.terminal import show, show_json


def evaluate_run(
    run: RunFolder,
    *,
    split: Split = "test",
    context: Context = None,
    ties: Ties = "mean",
    intervals: Intervals = None,
    ask: Literal["entity", "relation", "time"] = "entity",
    queries: int | None = None,
    seed: int = 0,
    facts: NewerFacts = None,
    by_relation: bool = False,
    plot: NewPicture = None,
    device: Device = "auto",
    out: NewTable = None,
    ranks_out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Evaluate a run: ranks under the raw, static and time-aware filters, side by side.

    Facts of --facts that are asked about are left out; the filters know the others.

    --ask relation and --ask time rank the relation or the time of each fact among
    all of them; other true ones are filtered. That is one query per relation or
    time of the data: --queries takes a sample of the facts. A fact with a beginning
    and an end is asked at its first known tick; how well an interval is found is
    told as aeIOU (docs/questions.md).

    Args:
        ask: What to ask of each fact: both entities, its relation, or its time.
        queries: Ask for relations or times of so many facts only.
        seed: Which facts these are.
        by_relation: Show the figures of every relation too.
        plot: Plot how often answers of each probability are right, into this new file: .png, .svg
            or .pdf (needs matplotlib).
        ranks_out: Write the ranks of every query to this new .parquet file (docs/judging.md).
    """
    if plot is not None and ask != "entity":
        raise InputError("--plot shows the probabilities of entities; leave out --ask")
    from targcn.distributed import join_process_group
    from targcn.evaluation.calibration import plot_reliability
    from targcn.evaluation.report import relation_table, report_table
    from targcn.runs.evaluate import evaluate

    with join_process_group(device) as (processes, place):
        with processes.barrier():
            loaded = load_folder(run)
            warn_if_in_context(split, context, loaded.model.reads_context)
        report = evaluate(
            loaded,
            split=split,
            context=context,
            ties=ties,
            intervals=intervals,
            ask=ask,
            queries=queries,
            seed=seed,
            facts=facts,
            ranks_out=ranks_out,
            device=place,
            processes=processes,
        )
    if not processes.is_main:
        return
    if plot is not None:
        if report.calibration is None:
            raise InputError(f"the scores of {report.model} do not stand for probabilities")
        plot_reliability(report.calibration, plot, f"{report.model} on {report.dataset}")
    if out is not None:
        write_table(report_table(report), out)
    if json:
        show_json(report.to_json(by_relation))
        return
    show(report_table(report))
    if by_relation:
        show(relation_table(report))
