"""The contract of a model: all that training, evaluation and inference know about one.

Given queries and a context graph, a model gives one score per entity; higher is better. What only
some models can do has a default here, so that no caller needs to ask which model it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

import torch
from torch import Tensor, nn

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.reasons import Reasons, Rules


@dataclass(frozen=True)
class ModelSettings:
    """What a model is built from, besides a data set; the defaults are those for any data."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The likely answers to each query, one row per query; the others are represented by some.

    A column stands for as many entities as the exponential of its weight says: for itself, or,
    where the entity is NO_ENTITY, for such as have no column.
    """

    entities: Tensor
    scores: Tensor
    log_weights: Tensor


NO_ENTITY: Final = 2**63 - 1


class Model(nn.Module, ABC):
    """Scores every entity as the answer to each query."""

    Settings: ClassVar[type[ModelSettings]] = ModelSettings
    # Whether the scores depend on the context, or only on what was learned.
    reads_context: bool = False
    # Whether it can learn from facts that hold over intervals.
    reads_intervals: ClassVar[bool] = True
    # Whether its loss compares the answer with all entities, and can leave out some of them.
    can_filter_loss: ClassVar[bool] = False
    # What messages say about entities that came with added facts.
    about_new_entities: ClassVar[str] = "are scored by their facts alone"

    def __init__(self, settings: ModelSettings, dataset: Dataset) -> None:
        super().__init__()
        self.settings = settings

    @abstractmethod
    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        """The scores, one row per query and one column per entity."""

    def shortlist(self, queries: Queries, context: TemporalGraph, count: int) -> Shortlist | None:
        """Likely answers, at least `count` a query, without scores of all entities.

        None where there are too few entities for that to pay; then all are scored.
        """
        return None

    @property
    def leaks(self) -> tuple[str, ...]:
        """What its scores know of the facts that it is evaluated on; every report says so."""
        return ()

    @property
    def num_parameters(self) -> int:
        return sum(weight.numel() for weight in self.parameters())

    def add_entities(self, count: int) -> None:
        """Make room for entities that training never saw; their ids follow the others."""
        raise InputError(
            "this model has learned one vector per entity and can score no new ones; "
            "add facts among the entities of its data, or train it again"
        )

    def compile_scores(self) -> None:
        """Use compiled kernels in `forward` where that pays; by default it does not."""

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        """The logarithms of the probabilities that scores stand for, if they stand for any."""
        return None

    @property
    def has_probabilities(self) -> bool:
        return self.log_probabilities(torch.zeros(1, 2)) is not None

    def embeddings(self) -> dict[str, Tensor]:
        """What was learned of each entity, relation or time, a row each, flat; none by default.

        A name begins with what the rows are, `entities`, `relations` or `times`, and goes on after
        a point where there are several tables of them. Reciprocal relations follow the others if
        they have rows of their own; times are those that `learned_ticks` gives.
        """
        return {}

    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons | None:
        """The facts behind one answer to one query; None if the model does not use single facts.

        The queried fact itself is hidden: it would be a reason for anything.
        """
        return None

    def rules(
        self,
        queries: Queries,
        answers: Tensor,
        context: TemporalGraph,
        top: int,
        progress: Callable[[int, int], None] | None = None,
    ) -> Rules | None:
        """What was learned about evidence; None if the model has no weights of kinds of evidence.

        The `top` rules come first to last that gave most to true answers. Support is counted in
        these queries, whose own facts, which the context holds, are hidden. Progress is told how
        many of them are done, out of how many.
        """
        return None


class Learner(Model):
    """A model that is trained.

    Everything random about a batch is sampled first; its loss is then plain arithmetic. So samples
    can be made ahead of time and split among processes, and a GPU can replay the arithmetic.
    """

    # Whether every step has the same shapes, so that a GPU can record and replay it.
    has_static_shapes: bool = True
    # About how many numbers of each kind are sampled per query; limits sampling ahead.
    sample_width: int = 0
    # Whether samples may be made some steps ahead: not if they depend on the weights.
    samples_ahead: bool = True
    # How many times the queries of a batch may have; None: as many as they happen to have.
    times_per_batch: int | None = None

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> Columns:
        """What the loss of these queries needs, of the model's own type; one seed per query.

        The answers are given so that a query's own fact can be hidden from its sample.
        """
        return Columns()

    @abstractmethod
    def loss(
        self, queries: Queries, answers: Tensor, sample: Any, others: Tensor | None = None
    ) -> Tensor:
        """The mean loss of these queries.

        `others` are true answers that must not count against a query's own, one row per query,
        filled up with its own; given only to a model that declares `can_filter_loss`.
        """

    def start_epoch(self, epoch: int) -> None:
        """Called before the first step of an epoch, and when training resumes within one."""

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        """The softmax, which cross-entropy trains."""
        return scores.log_softmax(dim=1)


def with_mean_rows(table: nn.Parameter, count: int) -> nn.Parameter:
    """The table with more rows, which are the mean of the others."""
    known = table.detach()
    mean = known.mean(0, keepdim=True).expand(count, *known.shape[1:])
    return nn.Parameter(torch.cat([known, mean]))


Index = TypeVar("Index")


class PerContext(Generic[Index]):
    """An index of the context, built again only when the context is another one."""

    def __init__(self, build: Callable[[TemporalGraph], Index]) -> None:
        self.build = build
        self.latest: tuple[TemporalGraph, Index] | None = None

    def __deepcopy__(self, memo: object) -> "PerContext[Index]":
        return PerContext(self.build)

    def of(self, context: TemporalGraph) -> Index:
        if self.latest is None or self.latest[0] is not context:
            self.latest = context, self.build(context)
        return self.latest[1]
