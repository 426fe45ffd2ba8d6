"""How long evaluating a split takes: the index first, then ranks under all three filters.

The model has its initial weights, which changes no time. The plain version looks known answers up
in dictionaries and ranks row by row.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from benchmarks import measure
from benchmarks.generated_data import Shape, open_source
from benchmarks.plain import Known, plain_known_answers, plain_ranks
from benchmarks.untrained import describe_run, make_untrained
from targcn.config import require_at_least
from targcn.devices import choose_device
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.facts.dataset import Context, Dataset

# Queries that the plain version is timed on; the rest is scaled.
MOST_PLAIN_QUERIES: Final = 512
BATCH_SIZE: Final = 128
RANKING: Final = "scoring and ranks under three filters"
FIGURES: Final = "figures of those ranks"
SCORING: Final = "scoring alone"
PLAIN: Final = "scoring and plain ranks"


def measure_evaluate(
    source: Dataset | Shape,
    *,
    model: str = "targcn",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    context: Context | None = None,
    repeats: int = 3,
    device: str = "auto",
    plain: bool = True,
) -> measure.Result:
    """Seconds and queries per second of evaluating the test split, beside a plain loop.

    The two take turns `repeats` times; medians are given.
    """
    require_at_least(1, repeats=repeats)
    place = choose_device(device)
    dataset, data = open_source(source)
    run = make_untrained(dataset, model, recipe, settings)
    # Facts that hold over intervals have no plain version.
    plain = plain and not dataset.has_intervals
    context = context or run.default_context("test")
    num_facts = sum(data["num_facts"].values())
    measure.forget_peak(place)
    evaluator, indexing = measure.timed(
        lambda: Evaluator(dataset, Setting("test", context), place), place
    )
    index = _row("index", indexing, facts=num_facts)
    index["peak_bytes"] = measure.peak_bytes(place)
    measure.forget_peak(place)
    # Once before anything is timed: a GPU or a compiler prepares for the shapes it sees.
    ranks = evaluator.ranks(run.model_to_evaluate())
    peak = measure.peak_bytes(place)
    spread = torch.arange(0, evaluator.num_queries, device=place)
    sample = spread[:: max(len(spread) // MOST_PLAIN_QUERIES, 1)][:MOST_PLAIN_QUERIES]

    def score(known: Known | None = None) -> None:
        """Score the sample and, where known answers are given, rank it row by row."""
        with torch.inference_mode():
            for rows in torch.split(sample, BATCH_SIZE):
                queries, targets = evaluator.queries[rows], evaluator.targets[rows]
                scores = run.model(queries, evaluator.graph)
                if known is not None:
                    columns = (queries.subjects, queries.relations, queries.times, targets)
                    asked = (column.tolist() for column in columns)
                    for row, *query in zip(scores.cpu().numpy(), *asked, strict=True):
                        plain_ranks(row, query, known)

    score()
    turns: dict[str, Callable[[], object]] = {
        RANKING: lambda: evaluator.ranks(run.model),
        FIGURES: lambda: evaluator.summarize(ranks, model),
        SCORING: score,
    }
    if plain:
        known, plain_indexing = measure.timed(
            lambda: plain_known_answers(dataset.facts.columns, len(dataset.relations))
        )
        turns[PLAIN] = lambda: score(known)
    seconds = measure.take_turns(turns, repeats, place)
    scaled = [what for what in turns if what in (SCORING, PLAIN)]
    for what in scaled:
        seconds[what] *= evaluator.num_queries / len(sample)
    rows = [index, *(_row(what, seconds[what], queries=evaluator.num_queries) for what in turns)]
    rows[1]["peak_bytes"] = peak
    if plain:
        rows.append(_row("plain index", plain_indexing, facts=num_facts))
        index["ratio_to_plain"] = plain_indexing / indexing
        rows[1]["ratio_to_plain"] = seconds[PLAIN] / seconds[RANKING]
    arguments = describe_run(run) | {
        "split": "test",
        "context": context,
        "compile": run.recipe.training.compile,
        "num_queries": evaluator.num_queries,
        "repeats": repeats,
        "device": str(place),
    }
    note = f"timed on {len(sample):,} queries and scaled: {', '.join(scaled)}"
    return measure.Result("evaluate", arguments, data, place, rows, notes=(note,))


def _row(what: str, seconds: float, **counts: int) -> measure.Row:
    rates = {f"{name}_per_second": count / seconds for name, count in counts.items()}
    return {"what": what, "seconds": seconds, **rates}
