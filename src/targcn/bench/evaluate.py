"""How long evaluating a split takes: the index first, then ranks under all three filters.

The model has its initial weights, which changes no time. The plain version looks known answers up
in dictionaries and ranks row by row.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import torch
from torch import Tensor

from targcn.bench.generated_data import Shape, open_source
from targcn.bench.measure import (
    Progress,
    Result,
    Row,
    check_at_least,
    clock,
    describe_machine,
    forget_peak,
    peak_bytes,
)
from targcn.bench.plain import Known, plain_known_answers, plain_ranks
from targcn.bench.untrained import make_untrained
from targcn.devices import choose_device
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.facts.dataset import Context, Dataset, Split
from targcn.models.registry import DEFAULT

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
    model: str = DEFAULT,
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    split: Split = "test",
    context: Context = "train+valid",
    repeats: int = 3,
    device: str = "auto",
    plain: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Seconds and queries per second of evaluating a split, beside a plain loop.

    The two take turns `repeats` times; medians are given.
    """
    check_at_least(1, repeats=repeats)
    place = choose_device(device)
    dataset, data = open_source(source)
    made = make_untrained(dataset, model, recipe, settings or {})
    num_facts = sum(data["num_facts"].values())
    forget_peak(place)
    begin = clock(place)
    evaluator = Evaluator(dataset, Setting(split, context), place)
    index = _row("index", clock(place) - begin, facts=num_facts)
    index["peak_bytes"] = peak_bytes(place)
    forget_peak(place)
    # Once before anything is timed: a GPU or a compiler prepares for the shapes it sees.
    ranks = evaluator.ranks(made.model)
    peak = peak_bytes(place)
    sample = PlainSample(evaluator, made.model)
    sample.score()
    turns: dict[str, Callable[[], object]] = {
        RANKING: lambda: evaluator.ranks(made.model, progress),
        FIGURES: lambda: evaluator.summarize(ranks, model),
        SCORING: sample.score,
    }
    if plain:
        begin = clock(place)
        known = plain_known_answers(dataset.facts.columns, len(dataset.relations))
        plain_index = _row("plain index", clock(place) - begin, facts=num_facts)
        turns[PLAIN] = lambda: sample.rank(known)
    taken: dict[str, list[float]] = {what: [] for what in turns}
    for what, turn in [*turns.items()] * repeats:
        begin = clock(place)
        turn()
        taken[what].append(clock(place) - begin)
    seconds = {what: statistics.median(times) for what, times in taken.items()}
    scaled = [what for what in turns if what in (SCORING, PLAIN)]
    for what in scaled:
        seconds[what] *= evaluator.num_queries / len(sample)
    rows = [index, *(_row(what, seconds[what], queries=evaluator.num_queries) for what in turns)]
    rows[1]["peak_bytes"] = peak
    notes = [f"timed on {len(sample):,} queries and scaled: {', '.join(scaled)}"]
    if plain:
        rows.append(plain_index)
        index["ratio_to_plain"] = plain_index["seconds"] / index["seconds"]
        rows[1]["ratio_to_plain"] = seconds[PLAIN] / seconds[RANKING]
    arguments = {
        "model": model,
        "recipe": made.recipe.name,
        "settings": asdict(made.recipe.settings),
        "split": split,
        "context": context,
        "compile": made.recipe.training.compile,
        "num_queries": evaluator.num_queries,
        "repeats": repeats,
        "device": str(place),
    }
    return Result("evaluate", arguments, data, describe_machine(place), rows, notes=tuple(notes))


class PlainSample:
    """Queries of a evaluator, spread over all it has."""

    def __init__(self, evaluator: Evaluator, scorer: Any) -> None:
        self.evaluator, self.scorer = evaluator, scorer
        step = max(evaluator.num_queries // MOST_PLAIN_QUERIES, 1)
        rows = torch.arange(0, evaluator.num_queries, step, device=evaluator.device)
        self.rows = rows[:MOST_PLAIN_QUERIES]

    def __len__(self) -> int:
        return len(self.rows)

    def score(self) -> None:
        for _ in self._scores():
            pass

    def rank(self, known: Known) -> list[dict[str, float]]:
        """The ranks as the plain version has them, row by row."""
        ranks = []
        for chosen, scores in self._scores():
            queries, targets = self.evaluator.queries[chosen], self.evaluator.targets[chosen]
            columns = (queries.subjects, queries.relations, queries.times, targets)
            asked = zip(*(column.tolist() for column in columns), strict=True)
            for row, (subject, relation, time, target) in zip(
                scores.cpu().numpy(), asked, strict=True
            ):
                ranks.append(plain_ranks(row, subject, relation, time, target, known))
        return ranks

    def _scores(self) -> Iterator[tuple[Tensor, Tensor]]:
        with torch.inference_mode():
            for first in range(0, len(self), BATCH_SIZE):
                chosen = self.rows[first : first + BATCH_SIZE]
                yield chosen, self.scorer(self.evaluator.queries[chosen], self.evaluator.graph)


def _row(what: str, seconds: float, **counts: int) -> Row:
    rates = {f"{name}_per_second": count / seconds for name, count in counts.items()}
    return {"what": what, "seconds": seconds, **rates}
