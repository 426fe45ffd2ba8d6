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
from targcn.models.reasons import NO_FACT, Reasons, Rules

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
    # The reciprocal of a fact is turned back into it.
    subjects, relations, objects, times = _pieces(sample)[:, 0, used]
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
        against = model.weigh_facts(query, sample.facts, model.against_weights).exp()
        against = against[sample.facts.objects == answer]
        name = "facts of the given entity that speak against the answer"
        others.append((name, -float(against.double().sum().log1p())))
    return Reasons(
        subjects=torch.where(backward, objects, subjects),
        relations=torch.where(backward, relations - context.num_relations, relations),
        objects=torch.where(backward, subjects, objects),
        times=times,
        effects=weights / total * total.log1p(),
        scores=model.score(query, sample)[0],
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
    size = model.queries_at_once
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

    Its digits are the query's relation, and the relation and bucket of each fact.
    """
    hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
    sample = model.find(queries, context, hidden)
    rows, places = (model.ends(sample) == answers[:, None]).nonzero(as_tuple=True)
    _, relations, _, times = _pieces(sample)[:, rows, places]
    buckets = model.time_buckets(times - queries.times[rows, None])
    buckets[:, 1] *= relations[:, 1] != NO_FACT
    codes = queries.relations[rows]
    for fact in range(2):
        codes = codes * (model.num_directed + 1) + relations[:, fact] - NO_FACT
        codes = codes * TimeBuckets.COUNT + buckets[:, fact]
    return codes


def _rules_of(model: "Evidence", codes: Tensor, support: Tensor) -> Rules:
    """The rules that some classes stand for."""
    asked = codes
    steps: list[tuple[Tensor, Tensor]] = []
    for _ in range(2):
        asked, buckets = asked // TimeBuckets.COUNT, asked % TimeBuckets.COUNT
        base = model.num_directed + 1
        steps.insert(0, (asked % base + NO_FACT, buckets))
        asked = asked // base
    relations, places = (torch.stack(columns, dim=1) for columns in zip(*steps, strict=True))
    first, last = (ends[places] for ends in model.time_buckets.ranges())
    weights = model.fact_weights(asked, relations[:, :1], places[:, :1])[:, 0]
    paths = (relations[:, 1] != NO_FACT).nonzero().flatten()
    first_facts = relations[paths, :1], places[paths, :1]
    second_facts = relations[paths, 1:, None], places[paths, 1:, None]
    weights[paths] = model.path_weights(asked[paths], *first_facts, *second_facts)[:, 0, 0]
    return Rules(asked, relations, first, last, weights.exp(), support)


def _pieces(sample: "EvidenceSample") -> Tensor:
    """The facts of every piece of evidence for each query: subjects, relations, objects and times.

    Pieces are in the order of their weights. Each has two facts, of which the second is NO_FACT
    where it is no path.
    """
    facts, second = (
        torch.stack([near.subjects, near.relations, near.objects, near.times])
        for near in (sample.facts, sample.second)
    )
    places = sample.first_places.expand(len(facts), *sample.first_places.shape)
    first = facts.gather(2, places)[..., None].expand_as(second)
    paths = torch.stack([first.flatten(2), second.flatten(2)], dim=-1)
    return torch.cat([functional.pad(facts[..., None], (0, 1), value=NO_FACT), paths], dim=2)


def _count(codes: Tensor, counts: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct codes, sorted, and how often each was seen, now that more of them were."""
    counts = torch.cat([counts, torch.ones_like(new)])
    distinct, places = torch.unique(torch.cat([codes, new]), return_inverse=True)
    return distinct, torch.zeros_like(distinct).index_add_(0, places, counts)
