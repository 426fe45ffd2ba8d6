"""What factorisation models share: a score is the product of a query's and a candidate's vector.

A model says how subject, relation and time make the query's vector, and which factors to keep
small. The product with every entity, the loss and the regularisers are here.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from targcn.config import require_least
from targcn.facts.dataset import OPEN, Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, ModelSettings
from targcn.models.layers.arithmetic import in_parts, sum_of_powers
from targcn.models.layers.losses import cross_entropy
from targcn.models.layers.sums import rows_and_table


@dataclass(frozen=True)
class FactorSettings(ModelSettings):
    dim: int = 100
    """Numbers per vector, which are complex or have more parts where the model's numbers do."""

    factor_weight: float = 0.01
    """Weight of the powers of the factors, per query (N3 if the power is 3)."""

    time_weight: float = 0.01
    """Weight of the powers of the changes from one time to the next."""

    power: int = 3
    """The power of both regularisers."""

    init_scale: float = 0.01
    """Standard deviation of the initial weights."""

    def __post_init__(self) -> None:
        # The first power has no gradient at 0.
        require_least(self, dim=1, power=2, factor_weight=0, time_weight=0, init_scale=0)


@dataclass(frozen=True)
class StaticFactorSettings(FactorSettings):
    """The settings of a model without time."""

    time_weight: float = 0.0
    """Without effect: there is no table of times."""


class Factorization(Learner):
    """Scores all entities in one product; a model adds its `combine`, and tables of its own."""

    Settings = FactorSettings
    can_filter_loss = True
    settings: FactorSettings
    # How many real numbers make one of the `dim` numbers of an entity: 2 for complex ones.
    parts: ClassVar[int] = 2
    # The same for a relation and for a time.
    relation_parts: ClassVar[int] = 2
    time_parts: ClassVar[int] = 2
    # The weight of the subject's and the object's powers, relative to the relation's.
    entity_share: ClassVar[float] = 1.0
    uses_time: ClassVar[bool] = True
    times: "TimeTable"

    def __init__(self, settings: FactorSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        self.num_relations = len(dataset.relations)
        self.entities = self.table(len(dataset.entities), self.parts)
        self.add_tables(dataset)

    def add_tables(self, dataset: Dataset) -> None:
        """Make the tables of relations and times."""
        self.relations = self.table(2 * self.num_relations, self.relation_parts)
        if self.uses_time:
            self.times = self.time_table(dataset, self.time_parts)

    def embeddings(self) -> dict[str, Tensor]:
        tables: dict[str, Tensor] = {"entities": self.entities, "relations": self.relations}
        return tables | ({"times": self.times.rows} if self.uses_time else {})

    @abstractmethod
    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        """The queries' vectors, and the factors of relation and time to keep small, `in_parts`."""

    def table(self, num_rows: int, parts: int, dim: int | None = None) -> nn.Parameter:
        """A table with `dim` numbers per row, each of several parts, laid out part by part."""
        width = (dim or self.settings.dim) * parts
        return nn.Parameter(torch.randn(num_rows, width) * self.settings.init_scale)

    def time_table(self, dataset: Dataset, parts: int, dim: int | None = None) -> "TimeTable":
        """A table of the same kind with one row per time that can be learned."""
        ticks = learned_ticks(dataset)
        return TimeTable(ticks, self.table(len(ticks), parts, dim))

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        vectors, _ = self.combine(self.entities[queries.subjects], queries)
        return vectors @ self.entities.T

    def loss(
        self, queries: Queries, answers: Tensor, sample: Columns, others: Tensor | None = None
    ) -> Tensor:
        """Cross-entropy of the answers against all entities, and the regularisers."""
        ends, entities = rows_and_table(self.entities, torch.cat([queries.subjects, answers]))
        vectors, factors = self.combine(ends[: len(answers)], queries)
        loss = cross_entropy(vectors @ entities.T, answers, others)
        settings = self.settings
        if settings.factor_weight > 0:
            powers = sum(sum_of_powers(factor, settings.power) for factor in factors)
            of_ends = sum_of_powers(in_parts(ends, self.parts), settings.power)
            powers = powers + self.entity_share * of_ends
            loss = loss + settings.factor_weight / len(answers) * powers
        if settings.time_weight > 0 and self.uses_time:
            moved = self.time_changes()
            powers = sum_of_powers(in_parts(moved, self.time_parts), settings.power)
            loss = loss + settings.time_weight * (powers / max(len(moved), 1))
        return loss

    def time_changes(self) -> Tensor:
        """The difference of each row of the time table to the one before, to be kept small."""
        return self.times.rows.diff(dim=0)


class StaticFactorization(Factorization):
    """A factorisation model without time."""

    Settings = StaticFactorSettings
    uses_time = False


def learned_ticks(dataset: Dataset) -> Tensor:
    """The times that train holds; the row of any other would keep its initial weights.

    Of intervals, the first and last ticks that are known: those between are interpolated.
    """
    times = dataset.train.times if len(dataset.train) else dataset.timeline.ticks
    if dataset.train.has_intervals:
        ends = dataset.train.columns[3:]
        times = ends[ends != OPEN]
    if len(times) == 0:
        return torch.zeros(1, dtype=torch.int64)
    return torch.from_numpy(np.unique(times).astype(np.int64))


class TimeTable(nn.Module):
    """One row per learned time; a time between two of them is interpolated.

    A time before the first or after the last takes the nearest row.
    """

    def __init__(self, ticks: Tensor, rows: nn.Parameter) -> None:
        super().__init__()
        self.rows = rows
        self.register_buffer("ticks", ticks, persistent=False)
        self.ticks: Tensor

    def forward(self, times: Tensor) -> Tensor:
        last = len(self.ticks) - 1
        after = torch.searchsorted(self.ticks, times.contiguous()).clamp(max=last)
        before = (after - 1).clamp(min=0)
        gap = (self.ticks[after] - self.ticks[before]).clamp(min=1)
        share = ((times - self.ticks[before]).to(self.rows.dtype) / gap).clamp(min=0, max=1)
        early, late = self.rows.index_select(0, torch.cat([before, after])).chunk(2)
        return late.lerp(early, 1 - share[:, None])
