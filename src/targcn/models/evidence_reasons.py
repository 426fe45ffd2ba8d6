"""What the evidence model used for an answer, piece by piece, and what it has learned, as rules."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from targcn.graph.hidden import HiddenFacts
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.layers.buckets import TimeBuckets
from targcn.models.reasons import EVIDENCE_KINDS, NO_FACT, Reasons, Rules

if TYPE_CHECKING:
    from targcn.models.evidence import Evidence, EvidenceSample

# Classes of evidence that wait to be counted, and rules weighed at once.
MOST_CODES_KEPT = 1 << 20
MOST_RULES = 1 << 16


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
    subjects, relations, objects, times = facts[:, 0, used]
    backward = relations >= context.num_relations
    weights = model.weigh(query, sample)[0, used].double().exp()
    total = weights.sum()
    to_answer = model.prior_objects[answer].double()
    of_relation = model.prior_relations[relation].double()
    of_subject = model.prior_subjects[subject].double()
    others = [
        ("prior of the relation with the answer", float(of_relation @ to_answer)),
        ("prior of the given entity with the answer", float(of_subject @ to_answer)),
        ("prior of the answer alone", float(model.prior_bias[answer])),
    ]
    if model.settings.against:
        against = model.weigh_against(query, sample.facts).exp()[sample.facts.objects == answer]
        name = "facts of the given entity that speak against the answer"
        others.append((name, -float(against.double().sum().log1p())))
    return Reasons(
        subjects=torch.where(backward, objects, subjects),
        relations=torch.where(backward, relations - context.num_relations, relations),
        objects=torch.where(backward, subjects, objects),
        times=times,
        effects=weights / total * total.log1p(),
        scores=model.score(query, sample)[0],
        kinds=kinds[used],
        counts=counts[0, used],
        weights=weights,
        others=tuple(others),
    )


@torch.no_grad()
def find_rules(
    model: "Evidence",
    queries: Queries,
    answers: Tensor,
    context: TemporalGraph,
    top: int,
    progress: Callable[[int, int], None] | None = None,
) -> Rules:
    """The classes of evidence that gave most to true answers: support · log(1 + weight)."""
    size = model.queries_at_once(context)
    codes = support = torch.empty(0, dtype=torch.int64, device=context.device)
    new = [codes]
    for first in range(0, len(queries), size):
        part = slice(first, first + size)
        new.append(_codes_of_true(model, queries[part], answers[part], context))
        done = min(first + size, len(queries))
        if done == len(queries) or sum(map(len, new)) > MOST_CODES_KEPT:
            codes, support = _count(codes, support, torch.cat(new))
            new = []
        if progress is not None:
            progress(done, len(queries))
    best = _rules_of(model, codes[:0], support[:0])
    for some in zip(torch.split(codes, MOST_RULES), torch.split(support, MOST_RULES), strict=True):
        rules = _rules_of(model, *some)
        pairs = zip(best.tensors(), rules.tensors(), strict=True)
        rules = Rules(*map(torch.cat, pairs))
        benefit = rules.support * rules.weights.log1p()
        best = rules[torch.argsort(benefit, descending=True, stable=True)[:top]]
    return best


def _codes_of_true(
    model: "Evidence", queries: Queries, answers: Tensor, context: TemporalGraph
) -> Tensor:
    """The class of each piece of evidence that ends in its query's answer, as one number.

    Its digits are the query's relation, the relation and bucket of each fact, and the kind.
    """
    hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
    sample = model.find(queries, context, hidden)
    rows, places = (model.ends(sample) == answers[:, None]).nonzero(as_tuple=True)
    kinds, counts, (_, relations, _, times) = _pieces(sample)
    kinds, counts, relations = kinds[places], counts[rows, places], relations[rows, places]
    buckets = model.time_buckets(times[rows, places] - queries.times[rows, None])
    is_partner = kinds == EVIDENCE_KINDS.index("partner")
    buckets[:, 0] = torch.where(is_partner, model.count_buckets(counts), buckets[:, 0])
    buckets[:, 1] *= relations[:, 1] != NO_FACT
    codes = queries.relations[rows]
    for fact in range(2):
        codes = codes * (model.num_directed + 1) + relations[:, fact] - NO_FACT
        codes = codes * TimeBuckets.COUNT + buckets[:, fact]
    return codes * len(EVIDENCE_KINDS) + kinds


def _rules_of(model: "Evidence", codes: Tensor, support: Tensor) -> Rules:
    """The rules that some classes stand for."""
    kinds, asked = codes % len(EVIDENCE_KINDS), codes // len(EVIDENCE_KINDS)
    steps: list[tuple[Tensor, Tensor]] = []
    for _ in range(2):
        asked, buckets = asked // TimeBuckets.COUNT, asked % TimeBuckets.COUNT
        base = model.num_directed + 1
        steps.insert(0, (asked % base + NO_FACT, buckets))
        asked = asked // base
    relations, places = (torch.stack(columns, dim=1) for columns in zip(*steps, strict=True))
    first, last = (ends[places] for ends in model.time_buckets.ranges())
    weights = model.relation_weights[asked] + model.relation_bucket_weights[places[:, 0]]
    for number, kind in enumerate(EVIDENCE_KINDS):
        rows = (kinds == number).nonzero().flatten()
        evidence = asked[rows], relations[rows, :1], places[rows, :1]
        if kind == "fact":
            weights[rows] = model.fact_weights(*evidence)[:, 0]
        elif kind == "path":
            then = relations[rows, 1:, None], places[rows, 1:, None]
            weights[rows] = model.path_weights(*evidence, *then)[:, 0, 0]
        elif kind == "partner":
            weights[rows] = model.partner_weights(*evidence)[:, 0]
            least, most = model.count_buckets.ranges()
            first[rows, 0], last[rows, 0] = least[places[rows, 0]], most[places[rows, 0]]
    return Rules(kinds, asked, relations, first, last, weights.exp(), support)


def _pieces(sample: "EvidenceSample") -> tuple[Tensor, Tensor, Tensor]:
    """The kind of every piece of evidence, and for each query its count and facts.

    Pieces are in the order of their weights; the facts are four columns, the second facts of paths
    beside the first.
    """
    facts, of_relation, second = (
        torch.stack([near.subjects, near.relations, near.objects, near.times])
        for near in (sample.facts, sample.of_relation, sample.second)
    )
    places = sample.first_places.expand(len(facts), *sample.first_places.shape)
    first = facts.gather(2, places)[..., None].expand_as(second)
    partners = sample.partners
    others = torch.stack([partners.relations, partners.partners, torch.zeros_like(partners.counts)])
    owners = facts[:1, :, :1].expand(1, *others.shape[1:])
    alone, of_relation_alone, partners_alone = (
        functional.pad(columns[..., None], (0, 1), value=NO_FACT)
        for columns in (facts, of_relation, torch.cat([owners, others]))
    )
    paths = torch.stack([first.flatten(2), second.flatten(2)], dim=-1)
    by_kind = [alone, of_relation_alone, paths, partners_alone]
    sizes = [facts_of_kind.shape[2] for facts_of_kind in by_kind]
    kinds = torch.cat([facts.new_full((size,), kind) for kind, size in enumerate(sizes)])
    once = torch.ones_like(by_kind[0][0, :, :1, 0]).expand(-1, sum(sizes[:-1]))
    return kinds, torch.cat([once, partners.counts], dim=1), torch.cat(by_kind, dim=2)


def _count(codes: Tensor, counts: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct codes, sorted, and how often each was seen, now that more of them were."""
    counts = torch.cat([counts, torch.ones_like(new)])
    distinct, places = torch.unique(torch.cat([codes, new]), return_inverse=True)
    return distinct, torch.zeros_like(distinct).index_add_(0, places, counts)
