"""What models share whose score is no product: they learn from a few drawn entities.

A model says how well some candidates answer each query; drawing the candidates, the losses, and
scoring all entities a slice at a time are here, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.devices import compiled
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.graph import TemporalGraph
from targcn.models.contract import PerContext, Queries
from targcn.noise import combine, whole_numbers

# Numbers laid out at once for the scores of a slice, on a CPU (in its cache) and on a GPU.
NUMBERS_PER_SLICE = {False: 1 << 19, True: 1 << 25}
# Instead of the score of a drawn entity that is no wrong answer: it weighs nothing, in any loss.
NO_SCORE = -1e9


@dataclass(frozen=True)
class SampledSettings:
    """What is drawn for a query, and what is learnt from it."""

    rank: int = 100
    """Numbers per vector."""

    negatives: int = 64
    """Entities drawn for each query, which are to score below its answer."""

    filtered: bool = True
    """Whether a drawn entity counts for nothing where it is true at the query's time."""

    loss: Literal["softmax", "self-adversarial"] = "softmax"
    """Cross-entropy, or each score for itself, the drawn ones weighted by how well they score."""

    temperature: float = 0.5
    """How much the self-adversarial loss looks at the drawn entities that score best."""

    def __post_init__(self) -> None:
        for name in ("rank", "negatives"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; at least 1 was expected")
        if self.temperature < 0:
            raise InputError(f"temperature is {self.temperature}; it cannot be negative")


class Sampled(nn.Module):
    """Scores of some candidates or, slice by slice, of all; a model adds tables and `score`."""

    Settings: ClassVar[type[Any]] = SampledSettings
    # How many times `rank` numbers a model lays out for one candidate of one query.
    layers: ClassVar[int] = 1

    reads_context = False
    recordable = True

    def __init__(self, settings: SampledSettings, dataset: Dataset) -> None:
        super().__init__()
        self.settings = settings
        self.num_entities, self.num_relations = len(dataset.entities), len(dataset.relations)
        self._truths = PerContext(_Truths)
        self._score_all: Callable[..., Tensor] | None = None

    @property
    def places_per_query(self) -> int:
        return self.settings.negatives

    def score(self, queries: Queries, candidates: Tensor) -> Tensor:
        """How well each query's candidates answer it; a single row of them is everyone's."""
        raise NotImplementedError

    def penalty(self) -> Tensor | float:
        """What is added to the loss of every step."""
        return 0.0

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        """One row per query, one column per entity; the context is not looked at."""
        everyone = torch.arange(self.num_entities, device=queries.subjects.device)[None]
        # For a single query torch would write another kernel.
        if self._score_all is not None and len(queries) > 1:
            return self._score_all(self, queries, everyone)
        return self._score_by_slice(queries, everyone)

    def compile_scores(self) -> None:
        """Score all entities in kernels that torch writes when first asked: nothing is laid out."""
        one = type(self)
        if self._score_all is None:
            self._score_all = compiled(
                one.score, instead=one._score_by_slice, dynamic=True, fullgraph=True
            )

    def _score_by_slice(self, queries: Queries, everyone: Tensor) -> Tensor:
        numbers = max(len(queries), 1) * self.settings.rank * self.layers
        size = max(NUMBERS_PER_SLICE[everyone.is_cuda] // numbers, 1)
        starts = range(0, self.num_entities, size)
        slices = [self.score(queries, everyone[:, first : first + size]) for first in starts]
        return torch.cat(slices, dim=1)

    def draw(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seed: Tensor
    ) -> tuple[Tensor, ...]:
        """Entities drawn for each query, and whether each is a wrong answer."""
        rows = combine(seed, queries.subjects, queries.relations, queries.times, answers)
        columns = torch.arange(self.settings.negatives, device=rows.device)
        drawn = whole_numbers(rows[:, None], columns, self.num_entities)
        wrong = torch.ones_like(drawn, dtype=torch.bool)
        if self.settings.filtered:
            truths: _Truths = self._truths.of(context)
            wrong = ~truths.hold(queries, drawn)
        return drawn, wrong

    def loss(self, queries: Queries, answers: Tensor, drawn: Sequence[Tensor]) -> Tensor:
        """The answers against what was drawn, and the penalty."""
        candidates, wrong = drawn
        scores = self.score(queries, torch.cat([answers[:, None], candidates], dim=1))
        right, others = scores[:, 0], scores[:, 1:].masked_fill(~wrong, NO_SCORE)
        if self.settings.loss == "softmax":
            loss = softmax_loss(right, others)
        else:
            loss = self_adversarial_loss(right, others, self.settings.temperature)
        return loss + self.penalty()


def softmax_loss(right: Tensor, others: Tensor) -> Tensor:
    """Cross-entropy of the answer among the others, on average.

    >>> softmax_loss(torch.zeros(1), torch.zeros(1, 3)).exp().round().item()
    4.0
    """
    return (torch.logsumexp(torch.cat([right[:, None], others], dim=1), dim=1) - right).mean()


def self_adversarial_loss(right: Tensor, others: Tensor, temperature: float) -> Tensor:
    """The answer above 0, the others below it; those that score best count most.

    >>> one, two = torch.zeros(1), torch.tensor([[0.0, -99.0]])
    >>> bool(self_adversarial_loss(one, two, 1.0) > self_adversarial_loss(one, two, 0.0))
    True
    """
    warmed = torch.where(others > NO_SCORE, temperature * others, NO_SCORE)
    weights = torch.softmax(warmed, dim=1)
    of_others = (weights * functional.softplus(others)).sum(1)
    return (functional.softplus(-right) + of_others).mean() / 2


def rows_of(table: Tensor, index: Tensor) -> Tensor:
    """The rows of a table at an index of any shape; backwards, they are added without sorting."""
    return table.index_select(0, index.flatten()).view(*index.shape, *table.shape[1:])


class _Truths:
    """Whether a candidate is a true answer: one search in the facts that come in to a subject.

    Those facts lie side by side, sorted by time, relation and the entity they come from. So the
    place where a moment of a subject begins, a relation and an entity make one sorted number.
    """

    def __init__(self, context: TemporalGraph) -> None:
        self.context = context
        starts = torch.searchsorted(context.keys, context.keys)
        self.codes = self._codes(starts, context.relations, context.subjects)

    def hold(self, queries: Queries, candidates: Tensor) -> Tensor:
        """Whether the context holds each query with each of its candidates as the answer."""
        context = self.context
        if len(self.codes) == 0:
            return torch.zeros_like(candidates, dtype=torch.bool)
        keys = queries.subjects.long() * context.span + queries.times
        starts = torch.searchsorted(context.keys, keys)
        known = context.keys[starts.clamp(max=len(self.codes) - 1)] == keys
        known &= (queries.times >= 0) & (queries.times < context.span)
        back = (queries.relations + context.num_relations) % (2 * context.num_relations)
        codes = self._codes(starts[:, None], back[:, None], candidates)
        places = torch.searchsorted(self.codes, codes).clamp(max=len(self.codes) - 1)
        return known[:, None] & (self.codes[places] == codes)

    def _codes(self, starts: Tensor, relations: Tensor, entities: Tensor) -> Tensor:
        context = self.context
        groups = starts.long() * (2 * context.num_relations) + relations
        return groups * context.num_entities + entities
