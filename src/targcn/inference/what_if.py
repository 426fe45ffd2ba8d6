"""What if a fact were not there, or were: the changed context, and the answers before and after."""

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor

from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.evaluation.ranking import Progress, require_numbers
from targcn.facts.dataset import NO_FACTS, OPEN, Dataset, Facts
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.answers import Answers, Changes, Scores
from targcn.inference.explanation import ENDS
from targcn.inference.questions import Ask, QuestionIds, Time
from targcn.runs.run import require_reader

if TYPE_CHECKING:
    from targcn.inference.predictor import Predictor

# Subject, relation, object and time in words; of an interval the start and the end instead of the
# time, either of which may be None: open.
Fact = tuple[str, str, str, Time] | tuple[str, str, str, Time | None, Time | None]
SEPARATOR: Final = "|"


def parse_fact(text: str) -> Fact:
    """Read a fact as it is written on the command line.

    >>> parse_fact("Barack Obama | junior senator of | Illinois | 2005")
    ('Barack Obama', 'junior senator of', 'Illinois', '2005')
    >>> parse_fact("Barack Obama | junior senator of | Illinois | 2005 |")
    ('Barack Obama', 'junior senator of', 'Illinois', '2005', None)
    """
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if len(parts) not in (4, 5) or not all(parts[:3]) or not any(parts[3:]):
        raise InputError(
            f"{text!r} is not a fact; write 'SUBJECT {SEPARATOR} RELATION {SEPARATOR} OBJECT "
            f"{SEPARATOR} TIME', or START {SEPARATOR} END instead of TIME"
        )
    subject, relation, object_, *times = parts
    if len(times) == 1:
        return subject, relation, object_, times[0]
    return subject, relation, object_, times[0] or None, times[1] or None


def change_context(
    graph: TemporalGraph, dataset: Dataset, without: Sequence[Fact], given: Sequence[Fact]
) -> TemporalGraph:
    """The graph without some of its facts and with others; what changes nothing is refused.

    Where facts hold over intervals, one to leave out may be named by a time at which it holds.
    """
    if not without and not given:
        raise InputError("name a fact to leave out or to add")
    gone, new = [], []
    for fact in without:
        ids = _encode(fact, dataset)
        held = _find(graph, ids)
        if not held:
            raise InputError(
                f"the context does not hold {_in_words(fact)}, so it cannot be left out"
                + _other_times(graph, dataset, ids)
            )
        gone += held
    for fact in given:
        ids = _encode(fact, dataset)
        if len(ids) == 4 and ids[3] < 0:
            raise _too_early(fact, dataset)
        if _find(graph, ids):
            raise InputError(f"the context holds {_in_words(fact)} already; nothing would change")
        new.append((*ids, ids[3]) if graph.has_intervals and len(ids) == 4 else ids)
    return graph.changed(_columns(gone), _columns(new))


def ask_what_if(
    predictor: "Predictor",
    asked: QuestionIds,
    without: Sequence[Fact],
    given: Sequence[Fact],
    top: int,
    progress: Progress | None = None,
) -> Changes:
    """The answers in the context of a predictor, and in one without some facts and with others."""
    require_at_least(1, top=top)
    require_reader(predictor.model, predictor.model_name, "facts left out or put in")
    if others := [place for place in asked.facts if place not in ENDS]:
        raise InputError(f"what if is asked for a subject or an object, not for a {others[0]}")
    changed = change_context(predictor.graph, predictor.dataset, without, given)
    # A model of its own, since one that indexes its context keeps the index of one only.
    model = deepcopy(predictor.model)

    def at_once(place: Ask) -> int:
        # A row of scores is laid out for each of the best answers, before and after.
        return max(predictor.questions_at_once(place) // (2 * top), 1)

    score, parts = predictor.score_entities, []
    for end, numbers, facts in asked.batches(at_once, progress):
        questions = end, facts.to(predictor.device), numbers.to(predictor.device)
        with torch.inference_mode():
            scores_before = score(predictor.model, *questions, predictor.graph)
            scores_after = score(model, *questions, changed)
            parts.append(_compare(scores_before, scores_after, top))
    sides = [Answers.of_all(side) for side in zip(*parts, strict=True)]
    keys = *(answers.ranks.numpy() for answers in sides), sides[0].questions.numpy()
    order = torch.from_numpy(np.lexsort(keys))
    before, after = (answers[order] for answers in sides)
    return Changes(**vars(after), before=before, top=top)


def _compare(before: Scores, after: Scores, top: int) -> tuple[Answers, Answers]:
    """The answers that are among the best before or after, on both sides."""
    is_best = torch.zeros_like(before.values, dtype=torch.bool)
    for scores in (before, after):
        require_numbers(scores.values)
        best = torch.topk(scores.values, min(top, scores.values.shape[1]), dim=1)
        is_best.scatter_(1, best.indices, True)
    rows, columns = is_best.nonzero(as_tuple=True)
    return before.at(rows, columns), after.at(rows, columns)


def _encode(fact: Fact, dataset: Dataset) -> tuple[int, ...]:
    subject, relation, object_, *times = fact
    names = dataset.entities.find(subject), dataset.relations.find(relation)
    ids = (*names, dataset.entities.find(object_))
    if len(times) == 1:
        return (*ids, *(dataset.timeline.tick(time) for time in times if time is not None))
    if not dataset.has_intervals:
        raise InputError(f"{_in_words(fact)}: facts of {dataset.name} have one time, not two")
    first, last = (None if time is None else dataset.timeline.tick(time) for time in times)
    if min(first or 0, last or 0) < 0:
        raise _too_early(fact, dataset)
    if first is not None and last is not None and last < first:
        raise InputError(f"{_in_words(fact)} ends before it starts")
    return (*ids, OPEN if first is None else first, OPEN if last is None else last)


def _too_early(fact: Fact, dataset: Dataset) -> InputError:
    return InputError(
        f"{_in_words(fact)} is before {dataset.timeline.label(0)}, where the data begin; "
        "give a later fact"
    )


def _find(graph: TemporalGraph, ids: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The facts of a graph that say the same at a time, or over that very interval."""
    positions = graph.positions_of(*ids)
    if not graph.has_intervals:
        return [ids] * (len(positions) > 0)
    return [
        (*ids[:3], first, last) for first, last in zip(*_intervals(graph, positions), strict=True)
    ]


def _intervals(graph: TemporalGraph, positions: Tensor) -> tuple[list[int], list[int]]:
    """The first and the last ticks of some facts."""
    lasts = graph.ends[positions]
    still = lasts == torch.iinfo(lasts.dtype).max
    return graph.times[positions].tolist(), lasts.masked_fill(still, OPEN).tolist()


def _columns(facts: Sequence[tuple[int, ...]]) -> Facts:
    return Facts.of(*zip(*sorted(set(facts)), strict=True)) if facts else NO_FACTS


def _in_words(fact: Fact) -> str:
    subject, relation, object_, *times = fact
    said = f"{subject} — {relation} — {object_}, "
    return said + " – ".join("open" if time is None else str(time) for time in times)


def _other_times(graph: TemporalGraph, dataset: Dataset, ids: tuple[int, ...]) -> str:
    """When the context does hold a fact, up to three times."""
    subject, relation, object_, time, *_ = ids
    incoming = slice(*graph.offsets[object_ : object_ + 2].tolist())
    held = (graph.subjects[incoming] == subject) & (graph.relations[incoming] == relation)
    positions = held.nonzero().flatten() + int(incoming.start)
    intervals = set(zip(*_intervals(graph, positions), strict=True))
    nearest = sorted(intervals, key=lambda interval: abs(interval[0] - time))[:3]
    labels = ", ".join(dataset.timeline.label_interval(*ends) for ends in sorted(nearest))
    return f"; it holds it at {labels}" if labels else ""
