"""BoxTE: a fact is true if the points of its two entities lie in the relation's boxes.

"Temporal Knowledge Graph Completion Using Box Embeddings" (Messner et al., 2022). The bump of an
entity moves the other entity of a fact; the bumps of a time, weighted by the relation, move both.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.config import require_least
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries
from targcn.models.factorization import TimeTable, learned_ticks
from targcn.models.negative_sampling import NegativeSampling, NegativeSamplingSettings, rows_of


@dataclass(frozen=True)
class BoxTESettings(NegativeSamplingSettings):
    time_bumps: int = 2
    """Bumps of each time."""

    time_weight: float = 0.1
    """Weight of the fourth powers of the changes from one time to the next."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_least(self, time_bumps=1, time_weight=0)


class BoxTE(NegativeSampling):
    """score = −‖d(e_s + b_o + τ, head box)‖ − ‖d(e_o + b_s + τ, tail box)‖, with d the `distance`.

    τ = Σ a_rj β_tj over the bumps β of the time. Points and corners are mapped by tanh.
    """

    Settings = BoxTESettings
    layers = 2
    settings: BoxTESettings

    def __init__(self, settings: BoxTESettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim, bumps = settings.dim, settings.time_bumps
        reach = 0.5 / math.sqrt(dim)
        # Two rows per entity, its bump and its point; two per relation, the head and the tail box.
        self.entities = _uniform(-reach, reach, self.num_entities, 2, dim)
        self.centres = _uniform(-reach, reach, self.num_relations, 2, dim)
        self.widths = nn.Parameter(torch.rand(self.num_relations, 2, dim).clamp(min=1e-3).log())
        self.sizes = _uniform(-reach, reach, self.num_relations, 2, 1)
        self.shares = nn.Parameter(torch.empty(self.num_relations, bumps, 1).normal_(1.0, 0.1))
        ticks = learned_ticks(dataset)
        self.times = TimeTable(ticks, _uniform(-reach, reach, len(ticks), bumps * dim))

    def embeddings(self) -> dict[str, Tensor]:
        boxes = {name: getattr(self, name) for name in ("centres", "widths", "sizes", "shares")}
        tables = {"entities": self.entities, "times": self.times.rows}
        tables |= {f"relations.{name}": table for name, table in boxes.items()}
        return {name: table.flatten(1) for name, table in tables.items()}

    def score(self, queries: Queries, candidates: Tensor) -> Tensor:
        relations = queries.relations % self.num_relations
        shares = rows_of(self.shares, relations)
        bumps = self.times(queries.times).view(-1, self.settings.time_bumps, self.settings.dim)
        known = rows_of(self.entities, queries.subjects).flip(1)
        known = known + (shares * bumps).sum(1, keepdim=True)
        # The candidate's bump moves the known entity, whose own bump moves the candidate.
        points = torch.tanh(rows_of(self.entities, candidates) + known[:, None])
        centres, spans = self.boxes(relations)
        # Asked for a subject, the known entity is the tail.
        turned = (queries.relations >= self.num_relations)[:, None, None]
        centres = torch.where(turned, centres.flip(1), centres)[:, None]
        spans = torch.where(turned, spans.flip(1), spans)[:, None]
        far: Tensor = torch.linalg.vector_norm(distance(points, centres, spans), dim=-1)
        return -far.sum(-1)

    def boxes(self, relations: Tensor) -> tuple[Tensor, Tensor]:
        """The centres and widths of the relations' boxes, the head's and the tail's."""
        widths = rows_of(self.widths, relations)
        # The size of a box is a single number: the widths of its shape have a geometric mean of 1.
        shape = torch.exp(widths - widths.mean(-1, keepdim=True))
        half = shape * (functional.elu(rows_of(self.sizes, relations)) + 1)
        centres = rows_of(self.centres, relations)
        low, high = torch.tanh(centres - half), torch.tanh(centres + half)
        return (low + high) / 2, high - low

    def penalty(self) -> Tensor | float:
        moved = self.times.rows.diff(dim=0)
        mean = moved.pow(4).sum() / max(len(moved), 1) / self.settings.time_bumps
        return self.settings.time_weight * mean


def distance(points: Tensor, centres: Tensor, spans: Tensor) -> Tensor:
    """The distance of a point to a box's centre, which grows slowly inside the box, fast outside.

    With w the box's width plus 1, it is |p − c| / w inside and |p − c| w − ½ (w − 1)(w − 1/w)
    outside. The two are equal at the edge, and each is the larger one where it holds.
    """
    offsets = (points - centres).abs()
    width = spans + 1
    outside = torch.addcmul(-spans * (width - 1 / width) / 2, offsets, width)
    return torch.maximum(offsets * (1 / width), outside)


def _uniform(low: float, high: float, *shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).uniform_(low, high))
