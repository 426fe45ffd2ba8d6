"""Scores, ranks, figures: the one judge of every model.

Takes a model, a data set, the split to judge and the context to judge it with; gives ranks under
the raw, static and time-aware filters side by side, and their figures. Nothing here knows what
kind of model it judges.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import Tensor

from targcn.checkpoint import Run
from targcn.devices import available_bytes, choose_device, is_out_of_memory
from targcn.distributed import ALONE, Team
from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Context, Dataset, Split
from targcn.facts.graph import TemporalGraph
from targcn.filtering import FILTERS, Filter, KnownAnswers
from targcn.models.contract import Model, Queries, queries_of

Ties = Literal["optimistic", "mean", "pessimistic"]
Side = Literal["both", "object", "subject"]
TIES: Final[tuple[Ties, ...]] = ("optimistic", "mean", "pessimistic")
HITS: Final = (1, 3, 10)
# A batch of scores larger than this is hardly faster, only hungrier; a CPU's should fit its cache.
MOST_BATCH_BYTES: Final = {"cpu": 32 << 20, "cuda": 1 << 30}

Figures = dict[str, float]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Report:
    """Figures of one model on one split, under every filter."""

    dataset: str
    model: str
    split: str
    context: str
    ties: str
    num_queries: int
    metrics: Mapping[Filter, Mapping[Side, Figures]]
    # 95 % of the MRR over repeated draws of as many facts: mean ± 1.96 standard errors.
    mrr_interval: Mapping[Filter, Mapping[Side, tuple[float, float]]]
    # Figures of both sides together, by relation, with the number of queries behind them.
    by_relation: Mapping[str, Mapping[Filter, Figures]]

    def to_json(self, by_relation: bool = False) -> dict[str, Any]:
        """The report as plain data for json.dumps."""
        content = {
            "dataset": self.dataset,
            "model": self.model,
            "split": self.split,
            "context": self.context,
            "ties": self.ties,
            "num_queries": self.num_queries,
            "metrics": self.metrics,
            "mrr_interval_95": self.mrr_interval,
        }
        return content | ({"by_relation": self.by_relation} if by_relation else {})


def evaluate(
    run: Run,
    *,
    split: Split = "test",
    context: Context | None = None,
    ties: Ties = "mean",
    device: str | torch.device = "auto",
    progress: Progress | None = None,
    team: Team = ALONE,
) -> Report:
    """Judge a run on a split, its model looking at the facts of the context alone.

    Left out, the context is what comes before the split: train, and valid where test is asked.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "seen")
    >>> report = evaluate(run, context="train")
    >>> list(report.metrics), sorted(report.metrics["time-aware"]["both"])
    (['raw', 'static', 'time-aware'], ['hits@1', 'hits@10', 'hits@3', 'mean_rank', 'mrr'])
    """
    judge = Judge(run.dataset, split, context or context_of(split), choose_device(device), team)
    return judge.report(run, ties, progress)


def context_of(split: Split) -> Context:
    """What is looked at when a split is asked about, unless another context is chosen.

    >>> context_of("test"), context_of("valid")
    ('train+valid', 'train')
    """
    return "train+valid" if split == "test" else "train"


class Judge:
    """Everything about a split that does not depend on the model, made once for many looks."""

    def __init__(
        self,
        dataset: Dataset,
        split: Split,
        context: Context,
        device: torch.device,
        team: Team = ALONE,
    ) -> None:
        if split not in SPLITS:
            raise InputError(f"split {split!r} is unknown; choose one of {', '.join(SPLITS)}")
        facts = dataset.splits[split]
        if len(facts) == 0:
            raise InputError(f"{dataset.name} has no facts in its {split} split; nothing to judge")
        self.dataset, self.split, self.context, self.device = dataset, split, context, device
        self.facts = facts
        self.graph = TemporalGraph.of_context(dataset, context).to(device)
        self.known = known_answers(dataset, device)
        queries, targets = queries_of(facts, len(dataset.relations))
        self.num_queries, self.team = len(queries), team
        mine = team.share(torch.arange(len(queries)))
        self.queries, self.targets = queries[mine].to(device), targets[mine].to(device)

    def report(self, run: Run, ties: Ties = "mean", progress: Progress | None = None) -> Report:
        """The figures of a run."""
        return self.sum_up(run, self.ranks(run, ties, progress), ties)

    def ranks(
        self, run: Run, ties: Ties = "mean", progress: Progress | None = None
    ) -> dict[Filter, Tensor]:
        """The ranks under every filter: of each fact's object, then of each fact's subject."""
        if ties not in TIES:
            raise InputError(f"ties {ties!r} is unknown; choose one of {', '.join(TIES)}")
        model = run.model.to(self.device)
        if run.training.get("compile") and hasattr(model, "compile_scores"):
            model.compile_scores()
        with self.team.together():
            mine = rank(model, self.queries, self.targets, self.graph, self.known, ties, progress)
        return {which: self.team.join_shares(mine[which], self.num_queries) for which in FILTERS}

    def sum_up(self, run: Run, ranks: Mapping[Filter, Tensor], ties: Ties) -> Report:
        """The figures of a run whose ranks are known."""
        num_facts = len(self.facts)
        sides: dict[Side, slice] = {
            "both": slice(None),
            "object": slice(0, num_facts),
            "subject": slice(num_facts, None),
        }
        relations = torch.from_numpy(self.facts.relations.astype("int64")).repeat(2)
        order, counts = relations.argsort(stable=True), torch.bincount(relations).tolist()
        by_relation = {which: torch.split(ranks[which][order], counts) for which in FILTERS}
        return Report(
            dataset=self.dataset.name,
            model=run.model_name,
            split=self.split,
            context=self.context,
            ties=ties,
            num_queries=self.num_queries,
            metrics={
                which: {side: figures(ranks[which][rows]) for side, rows in sides.items()}
                for which in FILTERS
            },
            mrr_interval={
                which: {
                    side: _interval(ranks[which][rows].view(2 if side == "both" else 1, -1))
                    for side, rows in sides.items()
                }
                for which in FILTERS
            },
            by_relation={
                self.dataset.relations.names[relation]: {
                    which: figures(by_relation[which][relation]) | {"num_queries": float(count)}
                    for which in FILTERS
                }
                for relation, count in enumerate(counts)
                if count
            },
        )


def known_answers(dataset: Dataset, device: torch.device | str) -> dict[Filter, KnownAnswers]:
    """What is true in any split, indexed for every filter."""
    everything = TemporalGraph.of(dataset.facts, len(dataset.entities), len(dataset.relations))
    return {which: KnownAnswers.of(everything, which).to(device) for which in FILTERS}


def rank(
    model: Model,
    queries: Queries,
    targets: Tensor,
    context: TemporalGraph,
    known: Mapping[Filter, KnownAnswers],
    ties: Ties,
    progress: Progress | None = None,
) -> dict[Filter, Tensor]:
    """The rank of each target among all entities, under every filter; on the CPU, as doubles.

    Batches are as large as memory comfortably holds; one that does not fit after all is halved.
    """
    batch_size = rows_at_once(context.num_entities, context.device)
    none = torch.empty(0, dtype=torch.float64)
    parts: dict[Filter, list[Tensor]] = {which: [none] for which in known}
    model.eval()
    start = 0
    with torch.inference_mode():
        while start < len(queries):
            rows = slice(start, start + batch_size)
            try:
                scores = model(queries[rows], context)
                ranks = _ranks(scores, targets[rows], queries[rows], known, ties)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or batch_size == 1:
                    raise
                batch_size //= 2
                continue
            for which, part in ranks.items():
                parts[which].append(part.cpu())
            start = min(rows.stop, len(queries))
            if progress is not None:
                progress(start, len(queries))
    return {which: torch.cat(part) for which, part in parts.items()}


def _ranks(
    scores: Tensor,
    targets: Tensor,
    queries: Queries,
    known: Mapping[Filter, KnownAnswers],
    ties: Ties,
) -> dict[Filter, Tensor]:
    """Count, for each row, the entities above its target and level with it.

    The target's score is taken from the very row its rivals stand in. Filtering takes away the
    counts of known answers, which is the same as taking away the answers, and needs no mask.
    """
    own = scores.gather(1, targets[:, None])
    above, level = _count_rivals(scores, own)
    ranks = {}
    for which, answers in known.items():
        rows, entities = answers.look_up(queries)
        theirs, mine = scores[rows, entities], own[rows, 0]
        rival = entities != targets[rows]
        above_left = above.index_add(0, rows, ((theirs > mine) & rival).long(), alpha=-1)
        level_left = level.index_add(0, rows, ((theirs == mine) & rival).long(), alpha=-1)
        share = {"optimistic": 0.0, "mean": 0.5, "pessimistic": 1.0}[ties]
        ranks[which] = 1.0 + above_left.double() + share * level_left.double()
    return ranks


def _count_rivals(scores: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """How many of each row stand above the target, and how many others level with it.

    Taken from the signs of the differences, whose sums are whole and therefore exact: several
    times as fast as counting comparisons.
    """
    require_numbers(scores)
    num_entities = scores.shape[1]
    exact = torch.float32 if num_entities < 1 << 24 else torch.float64
    # Infinite scores that are level differ by nothing that is a number; its sign is 0 too.
    signs = torch.sub(scores, own).sign_()
    above_less_below = signs.sum(1, dtype=exact)
    unlike = signs.abs_().sum(1, dtype=exact)
    return ((unlike + above_less_below) / 2).long(), (num_entities - 1 - unlike).long()


def require_numbers(scores: Tensor) -> None:
    """Refuse scores that can be neither ranked nor turned into probabilities."""
    # A sum shows whether there is anything to look for, at a fraction of looking.
    if scores.sum().isnan() and scores.isnan().any():
        raise InputError(
            "the model gave scores that are not numbers, which have no rank; if it was trained, a "
            "smaller learning rate may help"
        )


def figures(ranks: Tensor) -> Figures:
    """MRR, Hits@1/3/10 and mean rank.

    >>> figures(torch.tensor([1.0, 2.0, 4.0, 4.0]))
    {'mrr': 0.5, 'hits@1': 0.25, 'hits@3': 0.5, 'hits@10': 1.0, 'mean_rank': 2.75}
    """
    result = {"mrr": float((1 / ranks).mean())}
    result |= {f"hits@{most}": float((ranks <= most).double().mean()) for most in HITS}
    return result | {"mean_rank": float(ranks.mean())}


def _interval(ranks: Tensor) -> tuple[float, float]:
    """The two queries of one fact succeed and fail together, so facts are what is drawn."""
    per_fact = (1 / ranks).mean(0)
    middle = float(per_fact.mean())
    if len(per_fact) < 2:
        return middle, middle
    reach = 1.96 * float(per_fact.std()) / len(per_fact) ** 0.5
    return middle - reach, middle + reach


def rows_at_once(width: int, device: torch.device) -> int:
    """How many rows of so many scores a device comfortably holds."""
    # In double precision, with two comparisons, and as much again for the model's own work.
    bytes_per_row = 32 * width
    most = MOST_BATCH_BYTES.get(device.type, MOST_BATCH_BYTES["cpu"])
    budget = min(most, available_bytes(device) // 4)
    return int(min(max(budget // bytes_per_row, 1), 4096))
