"""What a model says of its answers: the facts behind one of them, and the rules that it learned."""

from dataclasses import dataclass, replace
from typing import Final, Literal

import torch
from torch import Tensor

from targcn.graph.columns import Columns


@dataclass(frozen=True)
class Part:
    """What one of the models that a model is made of says about an answer."""

    name: str
    weight: float
    probability: float


NO_FACT: Final = -1
# What an effect is: the answer's probability with all facts, minus its probability without this
# one; or the part of the answer's score, or of its probability, that comes from this piece.
Measure = Literal["change of probability", "part of score", "part of probability"]


@dataclass(frozen=True, eq=False)
class Reasons(Columns):
    """What a model used for one answer, one piece of evidence per row, and the effect of each.

    A piece is a fact of the query's entity, or a path of several from there to the answer. The four
    columns are these facts; where a piece has fewer, the relations of the others are NO_FACT.
    """

    subjects: Tensor
    relations: Tensor
    objects: Tensor
    times: Tensor
    # What `measure` says.
    effects: Tensor
    # One score per entity, of which the answer's rank and probability can be computed.
    scores: Tensor
    # What each piece adds to a sum that is 1 without evidence, if effects are parts of a score.
    weights: Tensor | None = None
    # The other parts of the score or the probability, in words. With the effects they add up.
    others: tuple[tuple[str, float], ...] = ()
    # For a model that is made of others.
    parts: tuple[Part, ...] = ()
    # Whether effects are parts of the probability.
    of_probability: bool = False

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

    # The relation of a query, and that of the evidence.
    asked: Tensor
    found: Tensor
    # From how many ticks after the query to how many, negative if before. Where a range has no end,
    # it is ENDLESS (layers/buckets.py).
    first: Tensor
    last: Tensor
    # What such a piece adds to a sum that is 1 without evidence.
    weights: Tensor
    # How often such a piece spoke for the true answer.
    support: Tensor
