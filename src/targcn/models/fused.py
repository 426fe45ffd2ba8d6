"""Fused: several models as one; its score is the weighted sum of their log-probabilities.

It is not trained, and therefore not in the registry: runs/fuse.py makes it of trained runs.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Model, ModelSettings
from targcn.models.reasons import NO_FACT, Part, Reasons

FUSED: Final = "fused"


@dataclass(frozen=True)
class FusedSettings(ModelSettings):
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weight of each member, by name; none while they are not chosen."""

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
                raise InputError(f"the weight of {name} is {weight!r}; 0 or more was expected")
        if self.weights and not any(self.weights.values()):
            raise InputError("all weights are 0; at least one must be above")


class Fused(Model):
    """score = Σ weight · log-probability, over members that give probabilities."""

    Settings = FusedSettings
    about_new_entities = "are scored as each member does"
    settings: FusedSettings

    def __init__(
        self, settings: FusedSettings, dataset: Dataset, members: Mapping[str, Model]
    ) -> None:
        super().__init__(settings, dataset)
        # A name may hold letters that torch does not take.
        self.members = nn.ModuleList(members[name] for name in settings.weights)
        self.reads_context = any(member.reads_context for member in members.values())

    @property
    def leaks(self) -> tuple[str, ...]:
        members = self.weighted_members()
        return tuple(f"{name}: {leak}" for name, _, member in members for leak in member.leaks)

    def add_entities(self, count: int) -> None:
        for member in self.members:
            cast(Model, member).add_entities(count)

    def weighted_members(self) -> list[tuple[str, float, Model]]:
        """Name, weight and model of every member that counts."""
        pairs = zip(self.settings.weights.items(), self.members, strict=True)
        return [(name, weight, cast(Model, member)) for (name, weight), member in pairs if weight]

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        return weighted_sum(
            (weight, log_probabilities_of(member, member(queries, context)))
            for _, weight, member in self.weighted_members()
        )

    def compile_scores(self) -> None:
        for _, _, member in self.weighted_members():
            member.compile_scores()

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        """The softmax: the weighted geometric mean of the members' probabilities."""
        return scores.log_softmax(dim=1)

    @torch.no_grad()
    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons:
        """The members' pieces; an effect is that on the member's probability times its weight.

        A piece that several members use has the sum of their effects.
        """
        logs: list[tuple[float, Tensor]] = []
        parts: list[Part] = []
        reasons_of_members: list[Reasons] = []
        for name, weight, member in self.weighted_members():
            reasons = member.reasons(query, answer, context)
            scores = member(query, context) if reasons is None else reasons.scores[None]
            of_member = log_probabilities_of(member, scores)
            logs.append((weight, of_member))
            parts.append(Part(name, weight, float(of_member[0, answer].exp())))
            if reasons is not None:
                reasons = reasons.as_changes(answer)
                reasons_of_members.append(replace(reasons, effects=weight * reasons.effects))
        return _join(reasons_of_members, weighted_sum(logs)[0], tuple(parts))


def weighted_sum(terms: Iterable[tuple[float, Tensor]]) -> Tensor:
    """The sum of weights times tensors, of which no more than one at a time is asked for."""
    rest = iter(terms)
    weight, tensor = next(rest)
    total = weight * tensor
    for weight, tensor in rest:
        total.add_(tensor, alpha=weight)
    return total


def log_probabilities_of(model: Model, scores: Tensor) -> Tensor:
    logs = model.log_probabilities(scores)
    assert logs is not None, "a member gives probabilities; fuse refuses others"
    return logs


def _join(members: list[Reasons], scores: Tensor, parts: tuple[Part, ...]) -> Reasons:
    """All reasons in one, each piece once."""
    width = max((reasons.relations.shape[1] for reasons in members), default=1)
    pieces = [scores.new_empty((0, 4 * width), dtype=torch.long)]
    effects = [scores.new_empty(0, dtype=torch.float64)]
    for reasons in members:
        facts = torch.stack([column.long() for column in reasons.tensors()[:4]], dim=1)
        facts = functional.pad(facts, (0, width - facts.shape[2]), value=NO_FACT)
        pieces.append(facts.flatten(1))
        effects.append(reasons.effects.double())
    distinct, places = torch.unique(torch.cat(pieces), dim=0, return_inverse=True)
    total = scores.new_zeros(len(distinct), dtype=torch.float64)
    total.index_add_(0, places, torch.cat(effects))
    subjects, relations, objects, times = distinct.view(-1, 4, width).unbind(1)
    columns = subjects, relations, objects, times, total, scores
    return Reasons(*columns, parts=parts)
