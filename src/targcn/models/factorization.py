"""What factorisation models share: a score is a query's vector times a candidate's.

A model says how it makes the query's vector (subject, relation, time → vector) and which factors
to keep small; the product with every entity, the loss and the regularisers are here, once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.graph import TemporalGraph
from targcn.models.arithmetic import changes, in_parts, sum_of_powers
from targcn.models.contract import Queries
from targcn.models.sums import rows_and_table


@dataclass(frozen=True)
class FactorSettings:
    """Size and regularisers of a factorisation model."""

    rank: int = 100
    """Numbers per vector, complex ones (or wider) where the model's are."""

    factor_weight: float = 0.0
    """Weight of the factors' powers, per query (N3 where the power is 3)."""

    time_weight: float = 0.0
    """Weight of the powers of what changes from one time to the next."""

    power: int = 3
    """The power of both regularisers."""

    init_scale: float = 0.01
    """Standard deviation of the first weights."""

    def __post_init__(self) -> None:
        # The first power of a number has no slope at 0.
        for name, least in (("rank", 1), ("power", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; at least {least} was expected")
        for name in ("factor_weight", "time_weight", "init_scale"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; it cannot be negative")


class Factorization(nn.Module):
    """The scores of all entities as one product; a model adds its tables and its `combine`."""

    Settings: ClassVar[type[Any]] = FactorSettings
    # Real numbers that make one of an entity's `rank` numbers: 2 for complex ones.
    parts: ClassVar[int] = 2
    # Likewise for a row of the time table, if there is one.
    time_parts: ClassVar[int] = 2
    # How much the subject's and the object's powers count beside the relation's.
    entity_share: ClassVar[float] = 1.0

    # Made by `add_tables` where the model knows time.
    times: "TimeTable"

    reads_context = False
    recordable = True
    places_per_query = 0

    def __init__(self, settings: FactorSettings, dataset: Dataset) -> None:
        super().__init__()
        self.settings = settings
        self.num_relations = len(dataset.relations)
        self.entities = self.table(len(dataset.entities), self.parts)
        self.add_tables(dataset)

    def add_tables(self, dataset: Dataset) -> None:
        """Make the tables of relations and times."""
        raise NotImplementedError

    def combine(self, subjects: Tensor, queries: Queries) -> tuple[Tensor, list[Tensor]]:
        """The queries' vectors, and the factors of relation and time to keep small, in parts."""
        raise NotImplementedError

    def table(self, num_rows: int, parts: int, rank: int | None = None) -> nn.Parameter:
        """A table of `rank` numbers a row, each of so many parts, which lie side by side."""
        width = (rank or self.settings.rank) * parts
        return nn.Parameter(torch.randn(num_rows, width) * self.settings.init_scale)

    def time_table(self, dataset: Dataset, parts: int, rank: int | None = None) -> "TimeTable":
        """A table of the times that can be learned, likewise."""
        ticks = learned_ticks(dataset)
        return TimeTable(ticks, self.table(len(ticks), parts, rank))

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        """One row per query, one column per entity; the context is not looked at."""
        vectors, _ = self.combine(self.entities[queries.subjects], queries)
        return vectors @ self.entities.T

    def draw(self, *_: Any) -> tuple[Tensor, ...]:
        """Nothing is random in a step."""
        return ()

    def loss(self, queries: Queries, answers: Tensor, drawn: Sequence[Tensor]) -> Tensor:
        """Cross-entropy of the answers against all entities, and the regularisers."""
        ends, entities = rows_and_table(self.entities, torch.cat([queries.subjects, answers]))
        vectors, factors = self.combine(ends[: len(answers)], queries)
        loss = functional.cross_entropy(vectors @ entities.T, answers)
        settings = self.settings
        if settings.factor_weight > 0:
            powers = sum(sum_of_powers(factor, settings.power) for factor in factors)
            of_ends = sum_of_powers(in_parts(ends, self.parts), settings.power)
            powers = powers + self.entity_share * of_ends
            loss = loss + settings.factor_weight / len(answers) * powers
        if settings.time_weight > 0 and hasattr(self, "times"):
            loss = loss + settings.time_weight * self.time_roughness()
        return loss

    def time_roughness(self) -> Tensor:
        """How much the time table changes from row to row, on average."""
        moved = self.time_changes()
        powers = sum_of_powers(in_parts(moved, self.time_parts), self.settings.power)
        return powers / max(len(moved), 1)

    def time_changes(self) -> Tensor:
        """What is to be small: the difference of each row of the time table to the one before."""
        return changes(self.times.rows)


def learned_ticks(dataset: Dataset) -> Tensor:
    """The times that train holds; a row of any other would stay as it was drawn."""
    times = dataset.train.times if len(dataset.train) else dataset.timeline.ticks
    return torch.from_numpy(np.unique(times).astype(np.int64))


class TimeTable(nn.Module):
    """One row per learned time; a date between two of them is interpolated.

    A date before the first or after the last takes the nearest row.
    """

    def __init__(self, ticks: Tensor, rows: nn.Parameter) -> None:
        super().__init__()
        self.rows = rows
        self.register_buffer("ticks", ticks, persistent=False)
        self.ticks: Tensor

    def forward(self, times: Tensor) -> Tensor:
        """The vector of each time."""
        last = len(self.ticks) - 1
        after = torch.searchsorted(self.ticks, times.contiguous()).clamp(max=last)
        before = (after - 1).clamp(min=0)
        gap = (self.ticks[after] - self.ticks[before]).clamp(min=1)
        share = ((times - self.ticks[before]).to(self.rows.dtype) / gap).clamp(min=0, max=1)
        early, late = self.rows.index_select(0, torch.cat([before, after])).chunk(2)
        return late.lerp(early, 1 - share[:, None])
