"""The most probable facts that are not known, over the whole graph.

A fact is judged from both ends: p(o | s, r, t), if s has such a fact then, and p(s | r, o, t), if o
has. What counts is the smaller of the two. A senator of 1950, asked for his state in 2006, names it
with certainty; his state, asked for its senator, names another.
"""

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress, in_batches, require_numbers, rows_at_once
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import reciprocal_of
from targcn.inference.explanation import End, describe_reason
from targcn.inference.questions import PLACES, Ids, Time, name_finders
from targcn.output.tables import Column, Table

if TYPE_CHECKING:
    import polars as pl

    from targcn.inference.predictor import Predictor

# Answers to a query that are looked at from their other end. All that are as probable as one in so
# many are among them.
ANSWERS: Final = 10
# From each of which a fact may be found.
ENDS_OF_A_FACT: Final = 2
# What is less probable from either end is not looked at.
LEAST_PROBABILITY: Final = 0.01


@dataclass(frozen=True, eq=False)
class Sweep:
    """What is asked first: for the object of each pair of a subject and a relation, at each time.

    A relation may be a reciprocal one, which asks for subjects.
    """

    subjects: Tensor
    relations: Tensor
    times: Tensor

    @property
    def num_queries(self) -> int:
        return len(self.subjects) * len(self.times)

    def __str__(self) -> str:
        plural = "" if len(self.times) == 1 else "s"
        return (
            f"{self.num_queries:,} queries and what their answers say: {len(self.subjects):,} "
            "pairs of an entity and a relation that the context holds together, at "
            f"{len(self.times):,} time{plural}"
        )

    def queries(self, numbers: Tensor) -> Queries:
        """Some of the queries, which are in the order of time, relation and subject."""
        pairs = numbers % len(self.subjects)
        times = self.times[torch.div(numbers, len(self.subjects), rounding_mode="floor")]
        return Queries(self.subjects[pairs], self.relations[pairs], times)


def what_to_ask(
    predictor: "Predictor", time: Time | None, relation: str | None, entity: str | None
) -> Sweep:
    """The pairs of a subject and a relation that the context holds together, and the times.

    The time is one, or all of the data; the relation may be given, and an entity, which is asked
    for subjects too.
    """
    graph, dataset = predictor.graph, predictor.dataset
    keys = torch.unique(graph.relations.long() * graph.num_entities + graph.subjects)
    relations = torch.div(keys, graph.num_entities, rounding_mode="floor")
    subjects = keys % graph.num_entities
    if entity is None:
        # Whatever can be asked from the other end is the same fact.
        wanted = relations < graph.num_relations
    else:
        wanted = subjects == dataset.entities.find(entity)
    if relation is not None:
        wanted &= relations % graph.num_relations == dataset.relations.find(relation)
    if not wanted.any():
        raise InputError("the context holds no such pair of an entity and a relation; ask wider")
    ticks = dataset.timeline.ticks.tolist() if time is None else [dataset.timeline.tick(time)]
    times = torch.tensor(ticks, device=graph.device)
    return Sweep(subjects[wanted], relations[wanted], times)


def find_missing(
    predictor: "Predictor", sweep: Sweep, top: int, progress: Progress | None = None
) -> "pl.DataFrame":
    """The most probable facts that no split holds, best first, each with its best reason."""
    import polars as pl

    # A fact of an entity with itself may be found from both ends.
    facts, values = search(predictor, sweep, ENDS_OF_A_FACT * top, progress)
    values = values.exp() if predictor.has_probabilities else values
    best: dict[Ids, tuple[float, float]] = {}
    for fact, (of_object, of_subject) in zip(facts.tolist(), values.tolist(), strict=True):
        subject, relation, object_, time = fact
        if relation >= predictor.graph.num_relations:
            relation -= predictor.graph.num_relations
            subject, object_, of_object, of_subject = object_, subject, of_subject, of_object
        best.setdefault((subject, relation, object_, time), (of_object, of_subject))
    rows = [_describe(predictor, ids, *of_ends) for ids, of_ends in islice(best.items(), top)]
    kind = "probability" if predictor.has_probabilities else "score"
    figures = (kind, f"object_{kind}", f"subject_{kind}")
    schema = dict.fromkeys(PLACES, pl.String) | dict.fromkeys(figures, pl.Float64)
    frame = pl.DataFrame(rows, schema | {"reason": pl.String}, orient="row")
    return frame.with_row_index("rank", offset=1)


def _describe(
    predictor: "Predictor", ids: Ids, of_object: float, of_subject: float
) -> tuple[str | float | None, ...]:
    """A fact in words, its probability from both ends, and its best reason."""
    named = zip(name_finders(predictor.dataset).values(), ids, strict=True)
    words = [name_of(id) for name_of, id in named]
    # The reason is that of the less probable end.
    asked: End = "object" if of_object <= of_subject else "subject"
    reason = None
    if predictor.gives_reasons:
        why = predictor.explain(*words, asked=asked, top=1)
        reason = describe_reason(why.reasons[0], why.unit) if why.reasons else None
    return (*words, min(of_object, of_subject), of_object, of_subject, reason)


def missing_table(frame: "pl.DataFrame", title: str) -> Table:
    """The facts for people."""
    kind = "probability" if "probability" in frame.columns else "score"
    form = ".4f" if kind == "probability" else ".4g"
    columns = (
        Column("rank", "rank"),
        *(Column(name, name) for name in PLACES),
        Column(kind, kind, form),
        Column(f"object_{kind}", f"{kind} of the object", form, shown=False),
        Column(f"subject_{kind}", f"{kind} of the subject", form, shown=False),
        Column("reason", "best reason"),
    )
    none = f"no missing fact has a probability of {LEAST_PROBABILITY} or more from both of its ends"
    notes = (none,) if kind == "probability" and frame.is_empty() else ()
    return Table(columns, tuple(frame.to_dicts()), title, notes)


def search(
    predictor: "Predictor", sweep: Sweep, count: int, progress: Progress | None = None
) -> tuple[Tensor, Tensor]:
    """The best facts, of equally good ones those asked first, and what both of their ends have.

    Queries are asked in batches, and their best answers looked at from their other end. A row is
    the subject, relation, object and time of what was asked, and what the object has as the answer
    and the subject from the other end; nothing but the best so far is kept.
    """
    graph = predictor.graph
    size = rows_at_once(graph.num_entities, graph.device)
    least = math.log(LEAST_PROBABILITY) if predictor.has_probabilities else -math.inf
    facts = torch.empty(0, 4, dtype=torch.int64, device=graph.device)
    values = torch.empty(0, 2, dtype=torch.float64, device=graph.device)

    def search_batch(rows: slice) -> Tensor:
        nonlocal facts, values
        queries = sweep.queries(torch.arange(rows.start, rows.stop, device=graph.device))
        scores = _score(predictor, queries)
        scores[predictor.known["time-aware"].look_up(queries)] = -torch.inf
        top = torch.topk(scores, min(ANSWERS, scores.shape[1]), dim=1)
        needed = float(values.amin(1).min()) if len(values) == count else -math.inf
        worth = (top.values > max(needed, least)) & (top.values > -torch.inf)
        row = worth.nonzero()[:, 0]
        subjects, relations, times = (column[row] for column in queries.tensors())
        given = torch.stack([subjects, relations, top.indices[worth], times], dim=1)
        back = _from_the_other_end(predictor, given, size)
        both = torch.stack([top.values[worth].double(), back], dim=1)
        every, of_each = torch.cat([facts, given]), torch.cat([values, both])
        order = of_each.amin(1).argsort(descending=True, stable=True)
        order = order[of_each[order, 1] >= least][:count]
        facts, values = every[order], of_each[order]
        return row[:0]

    for _ in in_batches(search_batch, sweep.num_queries, size, progress):
        pass
    return facts, values


def _from_the_other_end(predictor: "Predictor", facts: Tensor, size: int) -> Tensor:
    """What each subject has as the answer to its object; equal queries are asked once."""
    subjects, relations, objects, times = facts.T
    back = reciprocal_of(relations, predictor.graph.num_relations)
    distinct, places = torch.unique(torch.stack([objects, back, times]), dim=1, return_inverse=True)
    values = torch.empty_like(subjects, dtype=torch.float64)
    for start in range(0, distinct.shape[1], size):
        scores = _score(predictor, Queries(*distinct[:, start : start + size].contiguous()))
        mine = ((places >= start) & (places < start + size)).nonzero().flatten()
        values[mine] = scores[places[mine] - start, subjects[mine]].double()
    return values


def _score(predictor: "Predictor", queries: Queries) -> Tensor:
    """The log-probabilities of all entities, or their scores if there are none."""
    scores: Tensor = predictor.model(queries, predictor.graph)
    require_numbers(scores)
    logs = predictor.log_probabilities(scores)
    return scores if logs is None else logs
