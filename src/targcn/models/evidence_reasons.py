"""What the evidence model used for an answer, piece by piece, and what it has learned, as rules."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from targcn.graph.nearest import NearestFacts
from targcn.graph.neighbors import HiddenFacts
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import KINDS, NO_FACT, Kind, Reasons, Rules
from targcn.models.layers.buckets import TimeBuckets

if TYPE_CHECKING:
    from targcn.models.evidence import Evidence, EvidenceSample

# Facts laid out at once where rules are counted; bounds memory, not results.
MOST_FACTS_AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 22}
# Distinct codes, sorted, and how often each was seen.
Seen = tuple[Tensor, Tensor]


@torch.no_grad()
def find_reasons(model: "Evidence", query: Queries, answer: int, context: TemporalGraph) -> Reasons:
    """The pieces of evidence for an answer: each has its share of log(1 + Σ exp c)."""
    subject, relation, time = (int(column) for column in query.tensors())
    hidden = None
    if len(context.positions_of(subject, relation, answer, time)):
        answers = torch.tensor([answer], device=context.device)
        hidden = HiddenFacts(query.subjects, query.relations, answers, query.times)
    sample = model.find(query, context, hidden)
    used = (model.ends(sample)[0] == answer).nonzero().flatten()
    kinds, counts, facts = _pieces(sample)
    # The reciprocal of a fact is turned back into it.
    subjects, relations, objects, times = facts[:, used]
    backward = relations >= context.num_relations
    weights = model.weigh(query, sample)[0, used].double().exp()
    total = weights.sum()
    to_answer = model.prior_objects[answer].double()
    of_relation = model.prior_relations[relation].double()
    of_subject = model.prior_subjects[subject].double()
    return Reasons(
        subjects=torch.where(backward, objects, subjects),
        relations=torch.where(backward, relations - context.num_relations, relations),
        objects=torch.where(backward, subjects, objects),
        times=times,
        effects=weights / total * total.log1p(),
        scores=model.score(query, sample)[0],
        kinds=kinds[used],
        counts=counts[used],
        weights=weights,
        others=(
            ("prior of the relation with the answer", float(of_relation @ to_answer)),
            ("prior of the given entity with the answer", float(of_subject @ to_answer)),
            ("prior of the answer alone", float(model.prior_bias[answer])),
        ),
    )


@torch.no_grad()
def find_rules(
    model: "Evidence",
    queries: Queries,
    answers: Tensor,
    context: TemporalGraph,
    progress: Callable[[int, int], None] | None,
) -> Rules:
    """The weight of every class of facts and counts that ended in a true answer.

    Paths have too many classes for their rules to say much, and are left out.
    """
    seen: dict[Kind, Seen] = {}
    size = max(MOST_FACTS_AT_ONCE[context.device.type] // model.settings.facts, 1)
    for first in range(0, max(len(queries), 1), size):
        part = slice(first, first + size)
        for kind, codes in _codes_of_true(model, queries[part], answers[part], context):
            seen[kind] = _count(codes, seen.get(kind))
        if progress is not None:
            progress(min(first + size, len(queries)), len(queries))
    parts = [
        _rules_of(model, kind, *some).tensors()
        for kind, found in seen.items()
        for some in zip(*(torch.split(column, size) for column in found), strict=True)
    ]
    return Rules(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _codes_of_true(
    model: "Evidence", queries: Queries, answers: Tensor, context: TemporalGraph
) -> Iterator[tuple[Kind, Tensor]]:
    """A code for the class of each piece of evidence that ends in the query's answer."""
    hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
    facts, of_relation, partners = model.find_direct(queries, context, hidden)

    def codes(is_true: Tensor, relations: Tensor, buckets: Tensor) -> Tensor:
        asked = queries.relations[is_true.nonzero()[:, 0]]
        pairs = asked * model.num_relations + relations[is_true]
        return pairs * TimeBuckets.COUNT + buckets

    kinds: tuple[tuple[Kind, NearestFacts], ...] = ("fact", facts), ("relation", of_relation)
    for kind, near in kinds:
        is_true = near.filled & (near.objects == answers[:, None])
        deltas = (near.times - queries.times[:, None])[is_true]
        yield kind, codes(is_true, near.relations, model.time_buckets(deltas))
    is_true = (partners.counts > 0) & (partners.partners == answers[:, None])
    buckets = model.count_buckets(partners.counts[is_true])
    yield "partner", codes(is_true, partners.relations, buckets)


def _rules_of(model: "Evidence", kind: Kind, codes: Tensor, support: Tensor) -> Rules:
    """The rules that some codes stand for."""
    pairs, buckets = codes // TimeBuckets.COUNT, codes % TimeBuckets.COUNT
    asked, found = pairs // model.num_relations, pairs % model.num_relations
    if kind == "relation":
        weights = model.relation_weights[asked] + model.relation_bucket_weights[buckets]
    else:
        weigh = model.fact_weights if kind == "fact" else model.partner_weights
        weights = weigh(asked, found[:, None], buckets[:, None])[:, 0]
    ranges = (model.count_buckets if kind == "partner" else model.time_buckets).ranges()
    return Rules(
        kinds=torch.full_like(codes, KINDS.index(kind)),
        asked=asked,
        found=found,
        first=ranges[0][buckets],
        last=ranges[1][buckets],
        weights=weights.exp(),
        support=support,
    )


def _pieces(sample: "EvidenceSample") -> tuple[Tensor, Tensor, Tensor]:
    """The kind, the count and the facts of every piece of evidence of one query.

    Pieces are in the order of their weights; the facts are four columns, the second facts of paths
    beside the first.
    """
    facts, of_relation, second = (
        torch.stack([near.subjects, near.relations, near.objects, near.times])[:, 0]
        for near in (sample.facts, sample.of_relation, sample.second)
    )
    first = facts[:, sample.first[0]][..., None].expand_as(second)
    relations, others, counts = (column[0] for column in sample.partners.tensors())
    owner = facts[0, :1].expand_as(others)
    partners = torch.stack([owner, relations, others, torch.zeros_like(others)])
    nothing = facts.new_tensor(NO_FACT)
    by_kind = [
        torch.stack([one, two.expand_as(one)], dim=-1)
        for one, two in (
            (facts, nothing),
            (of_relation, nothing),
            (first.flatten(1), second.flatten(1)),
            (partners, nothing),
        )
    ]
    kinds = torch.cat([torch.full_like(one[0, :, 0], kind) for kind, one in enumerate(by_kind)])
    often = torch.ones_like(kinds)
    often[len(kinds) - len(counts) :] = counts
    return kinds, often, torch.cat(by_kind, dim=1)


def _count(codes: Tensor, before: Seen | None) -> Seen:
    """How often each code was seen, with what was counted before."""
    counts = torch.ones_like(codes)
    if before is not None:
        codes, counts = torch.cat([before[0], codes]), torch.cat([before[1], counts])
    distinct, places = torch.unique(codes, return_inverse=True)
    return distinct, torch.zeros_like(distinct).index_add_(0, places, counts)
