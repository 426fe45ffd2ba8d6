"""How long judging a split takes: the index first, then ranks under all three filters.

The weights are as they were drawn, which changes no time. The plain version looks its known
answers up in dictionaries and ranks row by row.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from targcn.bench.comparing import load_plain, why_none
from targcn.bench.generation import Shape, open_source
from targcn.bench.measuring import (
    Progress,
    Result,
    Row,
    check_at_least,
    clock,
    describe_machine,
    forget_peak,
    peak_bytes,
)
from targcn.bench.untrained import make_untrained
from targcn.devices import choose_device
from targcn.evaluation import Judge
from targcn.facts.dataset import Context, Dataset, Split
from targcn.models import DEFAULT

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
    run: str | None = None,
    settings: Mapping[str, Any] | None = None,
    split: Split = "test",
    context: Context = "train+valid",
    repeats: int = 3,
    device: str = "auto",
    plain: Path | str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Seconds and queries per second of judging a split, beside a plain loop.

    The two take turns so many times; medians are given.
    """
    check_at_least(1, repeats=repeats)
    loops, place = load_plain(plain), choose_device(device)
    dataset, data = open_source(source)
    made, training = make_untrained(dataset, model, run, settings or {})
    num_facts = sum(data["num_facts"].values())
    forget_peak(place)
    begin = clock(place)
    judge = Judge(dataset, split, context, place)
    index = _row("index", clock(place) - begin, facts=num_facts)
    index["peak_bytes"] = peak_bytes(place)
    forget_peak(place)
    # Once before anything is timed: by then a GPU, or a compiler, has met every shape.
    ranks = judge.ranks(made)
    peak = peak_bytes(place)
    sample = PlainSample(judge, made.model)
    sample.score()
    turns: dict[str, Callable[[], object]] = {
        RANKING: lambda: judge.ranks(made, progress=progress),
        FIGURES: lambda: judge.sum_up(made, ranks, "mean"),
        SCORING: sample.score,
    }
    if loops is not None:
        begin = clock(place)
        known = loops.known_answers(dataset.facts.columns, len(dataset.relations))
        plain_index = _row("plain index", clock(place) - begin, facts=num_facts)
        turns[PLAIN] = lambda: sample.rank(loops, known)
    taken: dict[str, list[float]] = {what: [] for what in turns}
    for what, turn in [*turns.items()] * repeats:
        begin = clock(place)
        turn()
        taken[what].append(clock(place) - begin)
    seconds = {what: statistics.median(times) for what, times in taken.items()}
    scaled = [what for what in turns if what in (SCORING, PLAIN)]
    for what in scaled:
        seconds[what] *= judge.num_queries / len(sample)
    rows = [index, *(_row(what, seconds[what], queries=judge.num_queries) for what in turns)]
    rows[1]["peak_bytes"] = peak
    notes = [f"timed on {len(sample):,} queries and scaled: {', '.join(scaled)}"]
    if loops is None:
        notes.append(why_none(plain))
    else:
        rows.append(plain_index)
        index["ratio_to_plain"] = plain_index["seconds"] / index["seconds"]
        rows[1]["ratio_to_plain"] = seconds[PLAIN] / seconds[RANKING]
    arguments = {
        "model": model,
        "run": made.run_name,
        "settings": asdict(made.settings),
        "split": split,
        "context": context,
        "compile": training.compile,
        "num_queries": judge.num_queries,
        "repeats": repeats,
        "device": str(place),
    }
    return Result("evaluate", arguments, data, describe_machine(place), rows, notes=tuple(notes))


class PlainSample:
    """Queries of a judge, spread over all it has."""

    def __init__(self, judge: Judge, scorer: Any) -> None:
        self.judge, self.scorer = judge, scorer
        step = max(judge.num_queries // MOST_PLAIN_QUERIES, 1)
        rows = torch.arange(0, judge.num_queries, step, device=judge.device)
        self.rows = rows[:MOST_PLAIN_QUERIES]

    def __len__(self) -> int:
        return len(self.rows)

    def score(self) -> None:
        for _ in self._scores():
            pass

    def rank(self, loops: Any, known: Any) -> list[dict[str, float]]:
        """The ranks as the plain version has them, row by row."""
        ranks = []
        for chosen, scores in self._scores():
            queries, targets = self.judge.queries[chosen], self.judge.targets[chosen]
            columns = (queries.subjects, queries.relations, queries.times, targets)
            rows = zip(scores.cpu().numpy(), *(column.tolist() for column in columns), strict=True)
            ranks += [loops.ranks(*row, known) for row in rows]
        return ranks

    def _scores(self) -> Iterator[tuple[Tensor, Tensor]]:
        with torch.inference_mode():
            for first in range(0, len(self), BATCH_SIZE):
                chosen = self.rows[first : first + BATCH_SIZE]
                yield chosen, self.scorer(self.judge.queries[chosen], self.judge.graph)


def _row(what: str, seconds: float, **counts: int) -> Row:
    rates = {f"{name}_per_second": count / seconds for name, count in counts.items()}
    return {"what": what, "seconds": seconds, **rates}
