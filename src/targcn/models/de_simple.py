"""DE-SimplE: SimplE whose entities change with the date.

"Diachronic Embedding for Temporal Knowledge Graph Completion" (Goel et al., 2020). A share of each
entity's numbers is constant; each of the others is Σ α sin(ω u + φ) over the date's year, month and
day u, so it is defined for any date. Trained against all entities, where the paper samples 500.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from targcn.config import require_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries
from targcn.graph.random import combine, uniform
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner, ModelSettings
from targcn.models.layers.losses import cross_entropy
from targcn.models.layers.sums import own_products


@dataclass(frozen=True)
class DESimplESettings(ModelSettings):
    dim: int = 64
    """Numbers per vector; every entity and relation has one for each direction."""

    static_share: float = 0.68
    """Share of an entity's numbers that do not change with the date."""

    dropout: float = 0.4
    """Share of the numbers of each product dropped in training."""

    def __post_init__(self) -> None:
        require_least(self, dim=2)
        if not 0 <= self.static_share <= 1:
            raise InputError(f"static_share is {self.static_share}; 0 up to 1 was expected")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; 0 up to below 1 was expected")


@dataclass(frozen=True, eq=False)
class DropoutAndDates(Columns):
    """Which numbers dropout keeps, and the year, month and day; one row per query."""

    kept: Tensor
    dates: Tensor


class DESimplE(Learner):
    """score = ½ (⟨a_s(t), u_r, b_o(t)⟩ + ⟨a_o(t), u′_r, b_s(t)⟩), for heads a and tails b."""

    Settings = DESimplESettings
    can_filter_loss = True
    # Batches differ in how many years, months and days they have.
    has_static_shapes = False
    settings: DESimplESettings

    def __init__(self, settings: DESimplESettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        self.timeline, self.sample_width = dataset.timeline, 2 * settings.dim
        self.num_relations, num_entities = len(dataset.relations), len(dataset.entities)
        still = round(settings.dim * settings.static_share)
        moving = settings.dim - still
        # Two roles each: as head and as tail, for relations there and back.
        self.static = _xavier(num_entities, 2, still)
        self.amplitudes = _xavier(3, num_entities, 2, moving)
        self.frequencies = _xavier(3, num_entities, 2, moving)
        self.phases = _xavier(3, num_entities, 2, moving)
        self.relations = _xavier(self.num_relations, 2, settings.dim)

    @property
    def tables(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.amplitudes, self.frequencies, self.phases

    def embeddings(self) -> dict[str, Tensor]:
        waves = zip(("amplitudes", "frequencies", "phases"), self.tables, strict=True)
        tables: dict[str, Tensor] = {"entities.static": self.static, "relations": self.relations}
        tables |= {f"entities.{name}": table.transpose(0, 1) for name, table in waves}
        return {name: table.flatten(1) for name, table in tables.items()}

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        return self.score(queries, self.dates(queries.times))

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> DropoutAndDates:
        """What dropout keeps, and the dates, which are looked up for many steps at once."""
        rows = combine(seeds, queries.subjects, queries.relations, queries.times)
        columns = torch.arange(2 * self.settings.dim, device=rows.device)
        kept = uniform(rows[:, None], columns) >= self.settings.dropout
        return DropoutAndDates(kept, self.dates(queries.times).T)

    def loss(
        self,
        queries: Queries,
        answers: Tensor,
        sample: DropoutAndDates,
        others: Tensor | None = None,
    ) -> Tensor:
        """Cross-entropy of the answers against all entities."""
        return cross_entropy(self.score(queries, sample.dates.T, sample.kept), answers, others)

    def score(self, queries: Queries, dates: Tensor, kept: Tensor | None = None) -> Tensor:
        own = (table.index_select(1, queries.subjects) for table in self.tables)
        static = self.static.index_select(0, queries.subjects)
        subjects = torch.cat([static, waves(dates[..., None, None], *own).sum(0)], dim=-1)
        relations = self.relations.index_select(0, queries.relations % self.num_relations)
        turned = (queries.relations >= self.num_relations)[:, None, None]
        relations = torch.where(turned, relations.flip(1), relations)
        # The subject as head meets the candidate as tail, and the other way round.
        wanted = (subjects * relations).flip(1) / 2
        if kept is not None:
            wanted = wanted * kept.view_as(wanted) / (1 - self.settings.dropout)
        parts = wanted.tensor_split([self.static.shape[-1]], dim=-1)
        of_still, of_moving = (part.flatten(1) for part in parts)
        scores = of_still @ self.static.flatten(1).T
        for unit in range(3):
            # Many queries share a year, month or day; its waves are computed once.
            values, which = torch.unique(dates[unit], return_inverse=True)
            of_unit = (table[unit] for table in self.tables)
            candidates = waves(values[:, None, None, None], *of_unit)
            scores = scores + own_products(of_moving, which, candidates.flatten(2))
        return scores

    def dates(self, times: Tensor) -> Tensor:
        """The year, month and day of each time, in three rows."""
        parts = torch.from_numpy(self.timeline.calendar(times.cpu().numpy()))
        return parts.to(times.device, self.static.dtype)


def waves(values: Tensor, amplitudes: Tensor, frequencies: Tensor, phases: Tensor) -> Tensor:
    """α sin(ω u + φ)."""
    return amplitudes * torch.sin(frequencies * values + phases)


def _xavier(*shape: int) -> nn.Parameter:
    reach = (6 / (shape[-3] + 2 * shape[-1])) ** 0.5
    return nn.Parameter(torch.empty(shape).uniform_(-reach, reach))
