"""The contract of a model: all that training, evaluation and inference know about one.

Given queries and a context graph, a model gives one score per entity; higher is better. What only
some models can do has a default here, so that no caller needs to ask which model it has.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import torch
from torch import Tensor, nn

from targcn.distributed import SINGLE_PROCESS, ProcessGroup, is_sharded, own_rows
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph


@dataclass(frozen=True)
class ModelSettings:
    """What a model is built from, besides a data set; the defaults are those for any data."""


@dataclass(frozen=True)
class Part:
    """What one of the models that a model is made of says about an answer."""

    name: str
    weight: float
    probability: float


# What evidence can be: a fact of the query's entity; one of its relation, whosever it is; a path of
# several facts from the entity to the answer; what happened between the two at any time, counted.
Kind = Literal["fact", "relation", "path", "partner"]
KINDS: Final[tuple[Kind, ...]] = ("fact", "relation", "path", "partner")
NO_FACT: Final = -1
# What an effect is: the answer's probability with all facts, minus its probability without this
# one; or the part of the answer's score, or of its probability, that comes from this piece.
Measure = Literal["change of probability", "part of score", "part of probability"]


@dataclass(frozen=True, eq=False)
class Reasons(Columns):
    """What a model used for one answer, one piece of evidence per row, and the effect of each.

    The four columns are facts of the data, one per row, or several where paths are among the
    pieces; where a piece has fewer facts, the relations of the others are NO_FACT.
    """

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor
    # What `measure` says.
    effects: Tensor
    # One score per entity, of which the answer's rank and probability can be computed.
    scores: Tensor
    # Positions in KINDS; none: all are facts of the query's entity.
    kinds: Tensor | None = None
    # How often it happened; only that of a partner is not 1, and its time means nothing.
    counts: Tensor | None = None
    # What each piece adds to a sum that is 1 without evidence, if effects are parts of a score.
    weights: Tensor | None = None
    # The other parts of the score or the probability, in words. With the effects they add up.
    others: tuple[tuple[str, float], ...] = ()
    # For a model that is made of others.
    parts: tuple[Part, ...] = ()
    # Whether effects are parts of the probability.
    of_probability: bool = False
    # How many more pieces were used, whose effects would take too long to compute.
    left_out: int = 0

    @property
    def measure(self) -> Measure:
        if self.of_probability:
            return "part of probability"
        return "change of probability" if self.weights is None else "part of score"

    def as_changes(self, answer: int) -> "Reasons":
        """The same pieces; effects are what leaving out each does to the answer's probability."""
        if self.of_probability:
            # What is left of the answer's probability, out of what is left of all.
            whole = self.scores.double().softmax(0)[answer]
            without = (whole - self.effects) / (1 - self.effects).clamp(min=1e-12)
            return replace(self, effects=whole - without, others=(), of_probability=False)
        if self.weights is None:
            return self
        scores, total = self.scores.double(), 1 + self.weights.sum()
        without = scores[answer] + ((total - self.weights) / total).log()
        others = scores.index_fill(0, torch.tensor(answer, device=scores.device), -torch.inf)
        rivals = others.logsumexp(0)
        effects = (scores[answer] - rivals).sigmoid() - (without - rivals).sigmoid()
        return replace(self, effects=effects, weights=None, others=())


@dataclass(frozen=True, eq=False)
class Rules(Columns):
    """What a model has learned about kinds of evidence, one rule per row.

    Relations include reciprocal ones. Evidence has two columns, of which the second is for the
    second facts of paths; where there is none, its relation is NO_FACT.
    """

    # Positions in KINDS.
    kinds: Tensor
    # The relation of a query, and that of the evidence.
    asked: Tensor
    found: Tensor
    # From how many ticks after the query to how many, negative if before; of partners, counts.
    # Where a range has no end, it is ENDLESS (layers/buckets.py).
    first: Tensor
    last: Tensor
    # What such a piece adds to a sum that is 1 without evidence.
    weights: Tensor
    # How often such a piece spoke for the true answer.
    support: Tensor


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
    # Whether its tables with one row per entity can be sharded over processes; it makes and reads
    # them by layers/sharded_tables.py alone.
    can_shard_tables: ClassVar[bool] = False
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

    @property
    def sharded_over(self) -> ProcessGroup:
        """The processes that hold its tables together, and score together; often a single one."""
        tables: list[Any] = [weight for weight in self.parameters() if is_sharded(weight)]
        if not tables:
            return SINGLE_PROCESS
        mesh = tables[0].device_mesh
        return ProcessGroup(mesh.get_local_rank(), mesh.size())

    def weights_here(self) -> dict[str, Tensor]:
        """All weights by name; of a sharded table the rows of this process."""
        return {name: own_rows(value) for name, value in self.state_dict().items()}

    def load_weights_here(self, weights: Mapping[str, Tensor]) -> None:
        """Take back what `weights_here` gave."""
        for name, value in self.weights_here().items():
            value.copy_(weights[name])

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

    @property
    def has_static_shapes(self) -> bool:
        """Whether every step has the same shapes, so that a GPU can record and replay it."""
        return True

    @property
    def sample_width(self) -> int:
        """About how many numbers of each kind are sampled per query; limits sampling ahead."""
        return 0

    @property
    def samples_ahead(self) -> bool:
        """Whether samples may be made some steps ahead: not if they depend on the weights."""
        return True

    @property
    def times_per_batch(self) -> int | None:
        """How many times the queries of a batch may have; None: as many as they happen to have."""
        return None

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
