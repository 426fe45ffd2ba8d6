"""`targcn evaluate`: the figures of a run."""

from pathlib import Path
from typing import Literal

from targcn.cli import options
from targcn.cli.options import load_folder, show_table, warn_if_in_context
from targcn.config import require_share
from targcn.errors import InputError
from targcn.output.terminal import show


def evaluate_run(
    run: options.RunFolder,
    *,
    split: options.Split = "test",
    context: options.Context = None,
    ties: options.Ties = "mean",
    intervals: options.Intervals = None,
    ask: Literal["entity", "relation", "time", "truth"] = "entity",
    queries: int | None = None,
    seed: int = 0,
    facts: options.NewerFacts = None,
    gaps: options.HowFactsAreMissing = None,
    presume: float = 0.1,
    by_relation: bool = False,
    plot: options.NewPicture = None,
    device: options.Device = "auto",
    out: options.NewTable = None,
    ranks_out: Path | None = None,
    json: options.AsJson = False,
) -> None:
    """Evaluate a run: ranks under the raw, static and time-aware filters, side by side.

    Facts of --facts that are asked about are left out; the filters know the others.

    --ask relation and --ask time rank the relation or the time of each fact among
    all of them; other true ones are filtered. That is one query per relation or
    time of the data: --queries takes a sample of the facts. A fact with a beginning
    and an end is asked at its first known tick; how well an interval is found is
    told as aeIOU (docs/questions.md).

    --ask truth hides the split and looks for it: how many of the most probable facts
    are true, whether probabilities of being true fit, and how surely a fact is told
    from wrong ones (docs/truth.md). A judge learns anew, from the context alone.

    Args:
        ask: What to ask of each fact: both entities, its relation, or its time; or truth.
        presume: With --ask truth: the share of all facts presumed missing at most.
        queries: Ask for relations or times of so many facts only.
        seed: Which facts these are.
        by_relation: Show the figures of every relation too.
        plot: Plot how often answers of each probability are right, into this new file: .png, .svg
            or .pdf (needs matplotlib).
        ranks_out: Write the ranks of every query to this new .parquet file (docs/judging.md).
    """
    from targcn.evaluation.calibration import plot_reliability

    if ask == "truth":
        if any(given is not None for given in (facts, intervals, queries, ranks_out)):
            raise InputError(
                "--ask truth looks for the facts of a split; leave out --facts, --intervals, "
                "--queries and --ranks-out"
            )
        from targcn.truth.figures import measure_truth, truth_table

        require_share(presume=presume)
        loaded = load_folder(run)
        seen = context or loaded.default_context(split)
        warn_if_in_context(split, seen)
        found = measure_truth(
            loaded.dataset,
            split,
            seen,
            gaps=gaps or "mixed",
            presumed=presume,
            seed=seed,
            model=loaded.model,
            model_name=loaded.recipe.model,
        )
        if plot is not None:
            bins = {which: of_list.bins for which, of_list in found.found.items()}
            axes = "probability of being true", "share that is true"
            plot_reliability(bins, plot, f"truth on {found.dataset}", *axes)
        show_table(truth_table(found), out, json, found.to_json())
        return
    if gaps is not None:
        raise InputError("--gaps is about what is true; add --ask truth")
    if plot is not None and ask != "entity":
        raise InputError("--plot shows the probabilities of entities; leave out --ask")
    from targcn.distributed import join_process_group
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
        bins = {"measured": report.calibration.bins}
        axes = "probability of the best answer", "share of them that are right"
        plot_reliability(bins, plot, f"{report.model} on {report.dataset}", *axes)
    show_table(report_table(report), out, json, report.to_json(by_relation))
    if by_relation and not json:
        show(relation_table(report))
