"""What a model is, to everything that trains, judges or asks one.

Given queries (subject, relation, time) and a context graph, a model gives one score per entity;
higher is better. A query for a missing subject is a query under the reciprocal relation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from targcn.facts.dataset import Facts
from targcn.facts.graph import TemporalGraph


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries for a missing object, one a row."""

    subjects: Tensor
    relations: Tensor
    times: Tensor

    def __len__(self) -> int:
        return len(self.subjects)

    def __getitem__(self, rows: slice | Tensor) -> "Queries":
        return Queries(self.subjects[rows], self.relations[rows], self.times[rows])

    def to(self, device: torch.device | str) -> "Queries":
        return Queries(self.subjects.to(device), self.relations.to(device), self.times.to(device))


def queries_of(facts: Facts, num_relations: int) -> tuple[Queries, Tensor]:
    """Both queries of every fact, those for objects first, with the entity each asks for."""
    subjects, relations, objects, times = torch.from_numpy(facts.columns.astype("int64"))
    queries = Queries(
        torch.cat([subjects, objects]),
        torch.cat([relations, relations + num_relations]),
        times.repeat(2),
    )
    return queries, torch.cat([objects, subjects])


class Model(Protocol):
    """A torch module that scores every entity as the answer to each query.

    Built from its Settings and a data set. One that learns is also a Learner.
    """

    Settings: ClassVar[type[Any]]
    # Whether the scores depend on the context, or only on what was learned.
    reads_context: ClassVar[bool]

    def __call__(self, queries: Queries, context: TemporalGraph) -> Tensor:
        """One row per query, one column per entity."""
        ...

    def to(self, device: Any) -> Any: ...

    def eval(self) -> Any: ...


class Learner(Model, Protocol):
    """A model that is trained: everything random is drawn first, the rest is plain arithmetic."""

    # Whether every step has the same shapes, so that a GPU can record one and replay it.
    recordable: bool
    # How many numbers of each kind are drawn for a query; says how many can be drawn ahead.
    places_per_query: int

    def draw(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seed: Tensor
    ) -> tuple[Tensor, ...]:
        """What the loss of these queries needs, one row per query; one seed for each."""
        ...

    def loss(self, queries: Queries, answers: Tensor, drawn: Sequence[Tensor]) -> Tensor:
        """The mean loss of these queries."""
        ...


def learns(model: Any) -> bool:
    """Whether a model has anything to train."""
    return any(parameter.requires_grad for parameter in model.parameters())


class PerContext:
    """What a model needs to know of a context, made again only when the context is another."""

    def __init__(self, make: Callable[[TemporalGraph], Any]) -> None:
        self.make = make
        self.context: TemporalGraph | None = None
        self.index: Any = None

    def of(self, context: TemporalGraph) -> Any:
        if self.context is not context:
            self.context, self.index = context, self.make(context)
        return self.index
