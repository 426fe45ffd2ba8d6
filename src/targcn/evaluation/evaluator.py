"""The one evaluator of every model: it takes a data set and a setting once, then any models."""

from collections.abc import Mapping

import torch
from torch import Tensor

from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter, known_answers
from targcn.evaluation.metrics import compute_metrics, mrr_interval
from targcn.evaluation.ranking import TIES, Progress, rank_targets
from targcn.evaluation.report import Report, Setting, Side
from targcn.facts.dataset import SPLITS, Dataset
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model


class Evaluator:
    """Everything about a setting that does not depend on the model."""

    def __init__(
        self,
        dataset: Dataset,
        setting: Setting,
        device: torch.device,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        for what, choices in (("split", SPLITS), ("ties", TIES)):
            if (value := getattr(setting, what)) not in choices:
                raise InputError(f"{what} {value!r} is unknown; choose one of {', '.join(choices)}")
        self.dataset, self.setting, self.device = dataset, setting, device
        self.processes = processes
        self.facts = dataset.splits[setting.split]
        if len(self.facts) == 0:
            raise InputError(
                f"{dataset.name} has no facts in its {setting.split} split; nothing to evaluate"
            )
        self.graph = TemporalGraph.of_context(dataset, setting.context).to(device)
        self.known = known_answers(dataset, device)
        queries, targets = queries_of(self.facts, len(dataset.relations))
        self.num_queries = len(queries)
        mine = processes.shard(torch.arange(len(queries)))
        self.queries, self.targets = queries[mine].to(device), targets[mine].to(device)

    def evaluate(self, model: Model, name: str, progress: Progress | None = None) -> Report:
        """The report of a model, which is named in it."""
        return self.summarize(self.ranks(model, progress), name)

    def ranks(self, model: Model, progress: Progress | None = None) -> dict[Filter, Tensor]:
        """The ranks under every filter: of each fact's object, then of each fact's subject."""
        model, ties = model.to(self.device), self.setting.ties
        with self.processes.barrier():
            mine = rank_targets(
                model, self.queries, self.targets, self.graph, self.known, ties, progress
            )
        return {
            which: self.processes.gather_shards(mine[which], self.num_queries) for which in FILTERS
        }

    def summarize(self, ranks: Mapping[Filter, Tensor], name: str) -> Report:
        """The report of these ranks."""
        sides: dict[Side, slice] = {"both": slice(2), "object": slice(1), "subject": slice(1, 2)}
        by_side = {
            which: {side: ranks[which].view(2, -1)[rows] for side, rows in sides.items()}
            for which in FILTERS
        }
        relations = torch.from_numpy(self.facts.relations.astype("int64")).repeat(2)
        order, counts = relations.argsort(stable=True), torch.bincount(relations).tolist()
        by_relation = {which: torch.split(ranks[which][order], counts) for which in FILTERS}
        return Report(
            dataset=self.dataset.name + self.dataset.addition,
            model=name,
            setting=self.setting,
            num_queries=self.num_queries,
            notes=self.dataset.additions,
            metrics={
                which: {side: compute_metrics(found) for side, found in of_sides.items()}
                for which, of_sides in by_side.items()
            },
            mrr_interval={
                which: {side: mrr_interval(found) for side, found in of_sides.items()}
                for which, of_sides in by_side.items()
            },
            by_relation={
                self.dataset.relations.names[relation]: {
                    which: compute_metrics(by_relation[which][relation])
                    | {"num_queries": float(count)}
                    for which in FILTERS
                }
                for relation, count in enumerate(counts)
                if count
            },
        )
