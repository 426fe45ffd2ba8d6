"""The settings of the evidence model."""

from dataclasses import dataclass

from targcn.config import require_least, require_positive
from targcn.errors import InputError
from targcn.models.base import ModelSettings


@dataclass(frozen=True)
class EvidenceSettings(ModelSettings):
    """How much evidence is looked at, and the sizes of what is learned about it."""

    facts: int = 128
    """Facts of the subject, the nearest in time."""

    relation_facts: int = 128
    """Facts of the query's relation, the nearest in time; 0: none."""

    first_facts: int = 16
    """Facts of the subject that paths start with, those of the largest weight; 0: no paths."""

    second_facts: int = 16
    """Facts of the next entity that paths go on with, the nearest in time."""

    partners: int = 128
    """Distinct pairs of a relation and a partner of the subject, most frequent first; 0: none."""

    against: bool = False
    """Whether facts of the subject may also speak against the entities that they end in."""

    dim: int = 64
    """Hidden units that weigh a piece of evidence."""

    prior_dim: int = 128
    """Numbers per vector of the prior; 0: no prior."""

    prior_dropout: float = 0.5
    """Share of each query vector of the prior dropped in training."""

    fact_dropout: float = 0.15
    """Share of the subject's facts dropped in training."""

    candidates: int = 0
    """Entities drawn for the softmax of a training step, beside those with evidence; 0: all are in
    it. For a million entities and more (docs/scale.md)."""

    time_unit: float | None = None
    """Ticks to a unit of time: buckets are exact up to 8 units, then three per doubling; none: a
    third of the typical gap between the facts of an entity, at least one tick."""

    def __post_init__(self) -> None:
        require_least(self, facts=1, relation_facts=0, first_facts=0, second_facts=1, partners=0)
        require_least(self, dim=1, prior_dim=0, candidates=0)
        if self.time_unit is not None:
            require_positive(self, "time_unit")
        for name in ("prior_dropout", "fact_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; 0 up to below 1 was expected")
