"""Evidence, piece by piece."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oracle.graph import facts_from, nearest
from oracle.worlds import Fact, Query, World
from targcn.models.evidence import Evidence, EvidenceSettings

Path = tuple[Fact, Fact]


@dataclass(frozen=True)
class FoundEvidence:
    """What speaks for the answers to one query; each kind is sorted."""

    facts: list[Fact]
    paths: list[Path]


def find_evidence(
    world: World,
    query: Query,
    how: EvidenceSettings,
    first: Sequence[Fact],
    hidden: Fact | None = None,
    past_only: bool = False,
) -> FoundEvidence:
    """Paths start with the facts `first`. A hidden fact leaves its places in the windows empty."""
    s, _, t = query
    num_relations = world.num_relations
    own = set()
    if hidden is not None:
        back = (hidden[1] + num_relations) % (2 * num_relations)
        own = {hidden, (hidden[2], back, hidden[0], hidden[3])}

    def near(entity: int, count: int) -> list[Fact]:
        facts = facts_from(world.facts, num_relations, entity)
        return [fact for fact in nearest(facts, t, count, past_only) if fact not in own]

    return FoundEvidence(
        near(s, how.facts),
        sorted(
            (one, other)
            for one in first
            for other in near(one[2], how.second_facts)
            if other[2] != s
        ),
    )


def time_bucket(delta: int, unit: int = 1) -> int:
    """Exact below 8 units, then the number of thirds of doublings; 32 more for the past."""
    side = abs(delta) // unit
    if side >= 8:
        side = min(8 + (abs(delta) ** 3 // (8 * unit) ** 3).bit_length() - 1, 31)
    return side + (32 if delta < 0 else 0)


def fact_weight(tables: Mapping[str, Any], asked: int, found: int, bucket: int) -> float:
    """Of a FactWeights whose tables were made lists."""
    rows = (tables["asked"][asked], tables["found"][found], tables["bucket"][bucket])
    units = zip(tables["out"], *rows, strict=True)
    return float(
        sum(w * max(a + b + c, 0) for w, a, b, c in units)
        + tables["asked_found"][asked][found]
        + tables["found_bucket"][found][bucket]
        + tables["asked_bucket"][asked][bucket]
        + tables["bias"]
    )


def path_weight(
    tables: Mapping[str, Any], asked: int, one: int, one_bucket: int, two: int, two_bucket: int
) -> float:
    """Of a PathWeights whose tables were made lists."""
    rows = (
        tables["asked"][asked],
        tables["first"][one],
        tables["first_bucket"][one_bucket],
        tables["second"][two],
        tables["second_bucket"][two_bucket],
    )
    units = zip(tables["out"], *rows, strict=True)
    return float(
        sum(w * max(sum(numbers), 0) for w, *numbers in units)
        + tables["asked_second"][asked][two]
        + tables["second_and_bucket"][two][two_bucket]
        + tables["bias"]
    )


def tables_of(module: torch.nn.Module) -> dict[str, Any]:
    return {name: weight.tolist() for name, weight in module.named_parameters()}


def evidence_scores(
    model: Evidence, query: Query, found: FoundEvidence, kept: Sequence[bool] | None = None
) -> list[float]:
    """log(1 + Σ exp c) − log(1 + Σ exp d) + (p[r] + p'[s]) · q[o] + β[o].

    `kept` of the prior is not dropped out; d is there only if facts may speak against answers.
    """
    s, r, t = query
    unit = round(model.settings.time_unit)
    tables = tables_of(model)
    of_facts, of_paths = tables_of(model.fact_weights), tables_of(model.path_weights)
    num_entities = len(tables["prior_bias"])
    sums, against = [0.0] * num_entities, [0.0] * num_entities
    for _, r_, o, t_ in found.facts:
        sums[o] += math.exp(fact_weight(of_facts, r, r_, time_bucket(t_ - t, unit)))
        if model.settings.against:
            of_against = tables_of(model.against_weights)
            against[o] += math.exp(fact_weight(of_against, r, r_, time_bucket(t_ - t, unit)))
    for (_, one, _, t_1), (_, two, o, t_2) in found.paths:
        buckets = time_bucket(t_1 - t, unit), time_bucket(t_2 - t, unit)
        sums[o] += math.exp(path_weight(of_paths, r, one, buckets[0], two, buckets[1]))
    asked = [
        a + b
        for a, b in zip(tables["prior_relations"][r], tables["prior_subjects"][s], strict=True)
    ]
    if kept is not None:
        share = 1 - model.settings.prior_dropout
        asked = [a / share if keep else 0.0 for a, keep in zip(asked, kept, strict=True)]
    return [
        math.log(1 + sums[o])
        - math.log(1 + against[o])
        + sum(a * b for a, b in zip(asked, tables["prior_objects"][o], strict=True))
        + tables["prior_bias"][o]
        for o in range(num_entities)
    ]
