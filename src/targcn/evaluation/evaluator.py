"""The one evaluator of every model: it takes a data set and a setting once, then any models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import torch
from torch import Tensor

from targcn.config import require_choice
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.evaluation.calibration import NUM_BINS, Calibration, choose_queries, count_right
from targcn.evaluation.candidates import Candidates, Kind, score_candidates
from targcn.evaluation.filters import FILTERS, Filter, IntervalQueries, known_answers
from targcn.evaluation.intervals import (
    MOST_TICKS,
    IntervalFacts,
    Overlap,
    Ticks,
    grow_intervals,
    interval_queries,
    overlaps,
    usual_lengths,
)
from targcn.evaluation.metrics import compute_metrics, mrr_interval
from targcn.evaluation.ranking import (
    TIES,
    Progress,
    in_batches,
    rank_targets,
    ranks_of,
    rows_at_once,
    without_others,
)
from targcn.evaluation.report import PROTOCOLS, Report, Setting, Side
from targcn.facts.dataset import SPLITS, Dataset, Facts
from targcn.graph.queries import Queries, queries_of, time_order
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model

# Each is asked with every candidate; more at once would only make progress jump.
MOST_FACTS_AT_ONCE: Final = 64


class Evaluator:
    """Everything about a setting that does not depend on the model."""

    def __init__(
        self,
        dataset: Dataset,
        setting: Setting,
        device: torch.device,
        processes: ProcessGroup = SINGLE_PROCESS,
        graph: TemporalGraph | None = None,
    ) -> None:
        """A graph is that of the context, if there is one on the device already."""
        self.dataset, self.device, self.processes = dataset, device, processes
        self.facts = facts_to_ask(dataset, setting)
        self.setting = setting = complete_setting(setting, dataset)
        self.graph = graph or TemporalGraph.of_context(dataset, setting.context).to(device)
        self.known = known_answers(dataset, device, setting.intervals == "identical")
        ask: Callable[[Facts, int], tuple[Queries, Tensor]]
        ask = interval_queries if setting.intervals else queries_of
        queries, targets = ask(self.facts, len(dataset.relations))
        self.num_queries = len(queries)
        mine = processes.shard(torch.arange(len(queries)))
        # Facts that hold over intervals are at their first known tick here.
        self.queries, self.targets = queries[mine].to(device), targets[mine].to(device)
        self.notes = dataset.additions
        self.ticks: Ticks | None = None
        if setting.most_ticks is not None:
            assert isinstance(queries, IntervalQueries)
            ticks = Ticks.of(queries, dataset, setting.most_ticks)
            self.ticks = ticks[mine].to(device)
            if ticks.num_thinned:
                self.notes += (
                    f"{ticks.num_thinned // 2:,} of {len(self.facts):,} facts hold at more than "
                    f"{setting.most_ticks} ticks of the data, and were asked at "
                    f"{setting.most_ticks} of them, evenly spread",
                )

    def evaluate(self, model: Model, name: str, progress: Progress | None = None) -> Report:
        """The report of a model, which is named in it, with how well its probabilities fit."""
        report = self.summarize(self.ranks(model, progress), name, model.leaks)
        return replace(report, calibration=self.calibrate(model))

    def calibrate(self, model: Model) -> Calibration | None:
        """How well the probabilities of a model fit, if its scores stand for any."""
        if not model.has_probabilities:
            return None
        model = model.to(self.device).eval()
        is_chosen = self.processes.shard(choose_queries(self.num_queries)).to(self.device)
        chosen = is_chosen.nonzero().flatten()
        chosen = chosen[time_order(self.queries.times[chosen])]
        queries, targets = self.queries[chosen], self.targets[chosen]

        def count(rows: slice) -> Tensor:
            known = self.known["time-aware"].look_up(queries[rows])
            scores = without_others(model(queries[rows], self.graph), targets[rows], known)
            return count_right(model, scores, targets[rows])

        size = rows_at_once(self.graph.num_entities, self.device)
        counts = torch.zeros(3, NUM_BINS, dtype=torch.float64)
        with self.processes.barrier():
            for of_batch in in_batches(count, len(queries), size):
                counts += of_batch
        return Calibration.of(self.processes.sum(counts))

    def ranks(self, model: Model, progress: Progress | None = None) -> dict[Filter, Tensor]:
        """The ranks under every filter: of each fact's object, then of each fact's subject."""
        model, ties = model.to(self.device), self.setting.ties
        with self.processes.barrier():
            asked = model, self.queries, self.targets, self.graph, self.known
            mine = rank_targets(*asked, ties, progress, self.ticks)
        return {
            which: self.processes.gather_shards(mine[which], self.num_queries) for which in FILTERS
        }

    def summarize(
        self, ranks: Mapping[Filter, Tensor], name: str, leaks: tuple[str, ...] = ()
    ) -> Report:
        """The report of these ranks, which may be under some of the filters alone."""
        sides: dict[Side, slice] = {"both": slice(2), "object": slice(1), "subject": slice(1, 2)}
        metrics: dict[Filter, dict[Side, dict[str, float]]] = {which: {} for which in ranks}
        intervals: dict[Filter, dict[Side, tuple[float, float]]] = {which: {} for which in ranks}
        for which, (side, rows) in product(ranks, sides.items()):
            of_side = ranks[which].view(2, -1)[rows]
            metrics[which][side] = compute_metrics(of_side)
            intervals[which][side] = mrr_interval(of_side)
        relations = torch.from_numpy(self.facts.relations.astype("int64")).repeat(2)
        order, counts = relations.argsort(stable=True), torch.bincount(relations).tolist()
        by_relation = {which: torch.split(ranks[which][order], counts) for which in ranks}
        return Report(
            dataset=self.dataset.name + self.dataset.addition,
            model=name,
            setting=self.setting,
            num_queries=self.num_queries,
            notes=self.notes + leaks,
            metrics=metrics,
            mrr_interval=intervals,
            by_relation={
                self.dataset.relations.names[relation]: {
                    which: compute_metrics(by_relation[which][relation])
                    | {"num_queries": float(count)}
                    for which in ranks
                }
                for relation, count in enumerate(counts)
                if count
            },
        )


def facts_to_ask(dataset: Dataset, setting: Setting) -> Facts:
    """The facts of the split that is asked about, of which there must be some."""
    require_choice(SPLITS, split=setting.split)
    require_choice(TIES, ties=setting.ties)
    facts = dataset.splits[setting.split]
    if len(facts) == 0:
        raise InputError(
            f"{dataset.name} has no facts in its {setting.split} split; nothing to evaluate"
        )
    return facts


def complete_setting(setting: Setting, dataset: Dataset) -> Setting:
    """The setting with what it does not say about intervals; of points there is nothing to say."""
    if not dataset.has_intervals:
        if setting.intervals is not None:
            raise InputError(
                f"{dataset.name} has no facts with a beginning and an end; leave out intervals"
            )
        return replace(setting, most_ticks=None)
    require_choice(PROTOCOLS, intervals=setting.intervals or PROTOCOLS[0])
    if setting.intervals == "identical":
        return replace(setting, most_ticks=None)
    most = setting.most_ticks or MOST_TICKS
    return replace(setting, intervals="enumerate-time", most_ticks=most)


class CandidateEvaluator:
    """Asks a model for the relation or the time of each fact of a split, or of some of them."""

    def __init__(
        self,
        dataset: Dataset,
        setting: Setting,
        kind: Kind,
        device: torch.device,
        most: int | None = None,
        seed: int = 0,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self.dataset, self.kind, self.device, self.processes = dataset, kind, device, processes
        facts = IntervalFacts.of(facts_to_ask(dataset, setting))
        self.setting = replace(setting, intervals="first-tick" if dataset.has_intervals else None)
        if most is not None and most < len(facts):
            chosen = torch.randperm(len(facts), generator=torch.Generator().manual_seed(seed))
            facts = facts[chosen[:most].sort().values]
        self.num_queries = len(facts)
        # Of all processes, and of this one.
        self.asked = facts
        self.facts = facts[processes.shard(torch.arange(len(facts)))].to(device)
        self.graph = TemporalGraph.of_context(dataset, setting.context).to(device)
        self.candidates = Candidates.of(dataset, kind).to(device)
        self.known = known_answers(dataset, device)
        # Of what is asked for over time, how long facts of each relation usually hold.
        self.lengths: Tensor | None = None
        if kind == "time" and dataset.has_intervals:
            seen = dataset.context(setting.context)
            self.lengths = usual_lengths(seen, len(dataset.relations)).to(device)

    def evaluate(self, model: Model, name: str, progress: Progress | None = None) -> Report:
        """The report of a model, which is named in it."""
        model, filters = model.to(self.device).eval(), self.candidates.filters
        size = min(rows_at_once(len(self.candidates), self.device), MOST_FACTS_AT_ONCE)
        ids = self.candidates.ids

        def measure(rows: slice) -> Tensor:
            """The rank and the best candidate under every filter, and the ends of an interval."""
            facts = self.facts[rows]
            targets = self.candidates.positions(facts)
            scores = score_candidates(model, facts, self.candidates, self.graph)
            known = self.candidates.known_of(facts, self.known)
            ranks = ranks_of(scores, targets, known, self.setting.ties)
            left = (without_others(scores, targets, pairs) for pairs in known.values())
            found = [*ranks.values(), *(ids[of_filter.argmax(1)] for of_filter in left)]
            if self.lengths is not None:
                found += grow_intervals(scores, ids, self.lengths[facts.relations])
            return torch.stack([row.double() for row in found]).cpu()

        with self.processes.barrier():
            batches = list(in_batches(measure, len(self.facts), size, progress))
            num_rows = 2 * len(filters) + (0 if self.lengths is None else 2)
            mine = torch.cat(batches, dim=1) if batches else torch.empty(num_rows, 0).double()
        rows = [self.processes.gather_shards(row, self.num_queries) for row in mine]
        metrics: dict[Filter, dict[Side, dict[str, float]]] = {}
        intervals: dict[Filter, dict[Side, tuple[float, float]]] = {}
        for which, ranks, best in zip(filters, rows, rows[len(filters) :], strict=False):
            figures = compute_metrics(ranks)
            if self.kind == "time":
                nearest = torch.minimum(torch.maximum(best, self.asked.firsts), self.asked.lasts)
                figures["mean_absolute_error"] = float((best - nearest).abs().mean())
            metrics[which] = {self.kind: figures}
            intervals[which] = {self.kind: mrr_interval(ranks[None])}
        return Report(
            dataset=self.dataset.name + self.dataset.addition,
            model=name,
            setting=self.setting,
            num_queries=self.num_queries,
            notes=self.dataset.additions + model.leaks,
            metrics=metrics,
            mrr_interval=intervals,
            by_relation={},
            unit=self.dataset.timeline.unit if self.kind == "time" else None,
            overlap=_mean_overlap(rows[2 * len(filters) :], self.asked),
        )


def _mean_overlap(found: Sequence[Tensor], facts: IntervalFacts) -> Overlap | None:
    """How well intervals are found, over facts with both ends; None if there are no such facts."""
    if not found or not facts.is_bounded.any():
        return None
    firsts, lasts = (ends.long() for ends in found)
    fit = overlaps(firsts, lasts, facts.firsts, facts.lasts)
    return Overlap(int(facts.is_bounded.sum()), *fit[:, facts.is_bounded].mean(1).tolist())
