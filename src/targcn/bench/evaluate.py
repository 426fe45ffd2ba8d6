"""How long judging a split takes: the index first, then ranks under all three filters.

The weights are as they were drawn, which changes no time. The plain version looks its known
answers up in dictionaries and ranks row by row.
"""

from collections.abc import Iterator, Mapping
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
    clock,
    describe_machine,
    forget_peak,
    peak_bytes,
)
from targcn.bench.untrained import make_untrained
from targcn.devices import choose_device
from targcn.evaluation import Judge
from targcn.facts.dataset import Context, Dataset, Split

# Queries that the plain version is timed on; the rest is scaled.
MOST_PLAIN_QUERIES: Final = 512
BATCH_SIZE: Final = 128


def measure_evaluate(
    source: Dataset | Shape,
    *,
    model: str = "targcn",
    run: str | None = None,
    settings: Mapping[str, Any] | None = None,
    split: Split = "test",
    context: Context = "train+valid",
    device: str = "auto",
    plain: Path | str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Seconds and queries per second of judging a split, beside a plain loop."""
    loops, place = load_plain(plain), choose_device(device)
    dataset, data = open_source(source)
    made, _ = make_untrained(dataset, model, run, settings or {})
    forget_peak(place)
    begin = clock(place)
    judge = Judge(dataset, split, context, place)
    indexed = clock(place) - begin
    num_facts = sum(data["num_facts"].values())
    index: Row = {
        "what": "index",
        "seconds": indexed,
        "facts_per_second": num_facts / indexed,
        "peak_bytes": peak_bytes(place),
    }
    scorer = made.model.to(place).eval()
    with torch.inference_mode():
        scorer(judge.queries[:BATCH_SIZE], judge.graph)
    forget_peak(place)
    begin = clock(place)
    judge.report(made, progress=progress)
    ranking = _row("scoring and ranks under three filters", clock(place) - begin, judge.num_queries)
    ranking["peak_bytes"] = peak_bytes(place)
    sample = PlainSample(judge, scorer)
    rows = [index, ranking, _row("scoring alone", sample.scoring(), judge.num_queries)]
    notes = [f"scoring alone was timed on {len(sample):,} queries and scaled"]
    if loops is None:
        notes.append(why_none(plain))
    else:
        begin = clock(place)
        known = loops.known_answers(dataset.facts.columns, len(dataset.relations))
        plain_index = _row("plain index", clock(place) - begin)
        plain_index["facts_per_second"] = num_facts / plain_index["seconds"]
        seconds = sample.ranking(loops, known)
        rows += [plain_index, _row("scoring and plain ranks", seconds, judge.num_queries)]
        index["ratio_to_plain"] = plain_index["seconds"] / index["seconds"]
        ranking["ratio_to_plain"] = seconds / ranking["seconds"]
        notes = [f"scoring alone and plain ranks were timed on {len(sample):,} queries and scaled"]
    arguments = {
        "model": model,
        "run": made.run_name,
        "settings": asdict(made.settings),
        "split": split,
        "context": context,
        "num_queries": judge.num_queries,
        "device": str(place),
    }
    return Result("evaluate", arguments, data, describe_machine(place), rows, notes=tuple(notes))


class PlainSample:
    """Queries of a judge, spread over all it has, and how long all would take if like these."""

    def __init__(self, judge: Judge, scorer: Any) -> None:
        self.judge, self.scorer = judge, scorer
        step = max(judge.num_queries // MOST_PLAIN_QUERIES, 1)
        rows = torch.arange(0, judge.num_queries, step, device=judge.device)
        self.rows = rows[:MOST_PLAIN_QUERIES]

    def __len__(self) -> int:
        return len(self.rows)

    def scoring(self) -> float:
        begin = clock(self.judge.device)
        for _ in self._scores():
            pass
        return self._scaled(clock(self.judge.device) - begin)

    def ranking(self, loops: Any, known: Any) -> float:
        begin = clock(self.judge.device)
        for chosen, scores in self._scores():
            queries, targets = self.judge.queries[chosen], self.judge.targets[chosen]
            columns = (queries.subjects, queries.relations, queries.times, targets)
            rows = zip(scores.cpu().numpy(), *(column.tolist() for column in columns), strict=True)
            for row, subject, relation, time, target in rows:
                loops.ranks(row, subject, relation, time, target, known)
        return self._scaled(clock(self.judge.device) - begin)

    def _scores(self) -> Iterator[tuple[Tensor, Tensor]]:
        with torch.inference_mode():
            for first in range(0, len(self), BATCH_SIZE):
                chosen = self.rows[first : first + BATCH_SIZE]
                yield chosen, self.scorer(self.judge.queries[chosen], self.judge.graph)

    def _scaled(self, seconds: float) -> float:
        return seconds * self.judge.num_queries / len(self)


def _row(what: str, seconds: float, num_queries: int | None = None) -> Row:
    row: Row = {"what": what, "seconds": seconds}
    return row | ({"queries_per_second": num_queries / seconds} if num_queries else {})
