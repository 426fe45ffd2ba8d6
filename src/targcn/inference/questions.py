"""Questions in words, and the ids they stand for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

import torch
from torch import Tensor

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Dataset
from targcn.graph.queries import FactColumns, time_order

Time = str | int | date
# What a question asks for: one place of a fact, or whether a complete fact is so.
Ask = Literal["subject", "relation", "object", "time", "fact"]
PLACES: Final[tuple[Ask, ...]] = ("subject", "relation", "object", "time")
# What may stand in the place that is asked for, and its id.
OPEN: Final = (None, "", "?")
OPEN_ID: Final = -1
OnError = Literal["skip", "stop"]


@dataclass(frozen=True)
class Question:
    """A fact with one place left open, which is None, empty or a question mark; or with none."""

    subject: str | None
    relation: str | None
    object: str | None
    time: Time | None

    @property
    def asked(self) -> Ask:
        """What is asked for."""
        places = [place for place in PLACES if getattr(self, place) in OPEN]
        if len(places) > 1:
            raise InputError(f"leave one place open, as ?, not {' and '.join(places)}")
        return places[0] if places else "fact"


def list_questions(questions: object) -> Sequence[Question]:
    """Questions that are given as such, as tuples of four, or as a frame or file of them.

    >>> list_questions([("Obama", "succeeded", None, 2005)])
    [Question(subject='Obama', relation='succeeded', object=None, time=2005)]
    """
    if not isinstance(questions, list | tuple):
        from targcn.facts.sources.table_source import read_questions

        return [Question(*row) for row in read_questions(questions).iter_rows()]
    listed = []
    for number, given in enumerate(questions, 1):
        if isinstance(given, Question):
            listed.append(given)
        elif isinstance(given, list | tuple) and len(given) == 4:
            listed.append(Question(*given))
        else:
            raise InputError(
                f"question {number} is {given!r}; give (subject, relation, object, time), with "
                "None for what is asked"
            )
    return listed


Ids = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class QuestionIds:
    """Questions as ids, by what they ask for, each with its number; and what is wrong with others.

    Numbers count from 1. The id of what is asked for is OPEN_ID. All that ask for the same place
    are in the order of times.
    """

    numbers: dict[Ask, Tensor]
    facts: dict[Ask, FactColumns]
    # None if questions that cannot be asked are not skipped.
    errors: dict[int, str] | None = None

    @property
    def ticks(self) -> list[int]:
        """The times that questions are about."""
        timed = (facts.times.tolist() for place, facts in self.facts.items() if place != "time")
        return [tick for ticks in timed for tick in ticks]

    def facts_of(self, numbers: Tensor) -> Tensor:
        """The facts with these numbers, one per column."""
        columns = [torch.stack(facts.tensors()) for facts in self.facts.values()]
        in_order, order = torch.cat(list(self.numbers.values())).sort()
        return torch.cat(columns, dim=1)[:, order[torch.searchsorted(in_order, numbers)]]

    def batches(
        self, at_once: Callable[[Ask], int], progress: Progress | None = None
    ) -> Iterator[tuple[Ask, Tensor, FactColumns]]:
        """Questions that ask for the same place, so many at once, with their numbers."""
        num_done = len(self.errors or ())
        num_all = num_done + sum(map(len, self.numbers.values()))
        for place, numbers in self.numbers.items():
            for rows in torch.split(torch.arange(len(numbers)), at_once(place)):
                yield place, numbers[rows], self.facts[place][rows]
                num_done += len(rows)
                if progress is not None:
                    progress(num_done, num_all)


def encode(
    questions: Sequence[Question], dataset: Dataset, on_error: OnError = "stop"
) -> QuestionIds:
    """Turn words into ids; a question that cannot be asked is an InputError, or is skipped.

    At least one question must be left.
    """
    if not questions:
        raise InputError("there are no questions to answer")
    rows: dict[Ask, list[tuple[int, ...]]] = {}
    errors = {}
    for number, question in enumerate(questions, 1):
        try:
            place, ids = question.asked, ids_of(question, dataset)
        except InputError as error:
            if on_error == "stop":
                where = f"question {number}: " if len(questions) > 1 else ""
                raise InputError(f"{where}{error}", error.suggestions, error.field) from None
            errors[number] = str(error)
            continue
        rows.setdefault(place, []).append((number, *ids))
    if not rows:
        raise InputError(f"no question can be asked; question 1: {errors[1]}")
    numbers, facts = {}, {}
    for place, of_place in rows.items():
        columns = torch.tensor(of_place).T
        numbers[place], *columns_of_facts = columns[:, time_order(columns[-1])].contiguous()
        facts[place] = FactColumns(*columns_of_facts)
    return QuestionIds(numbers, facts, errors if on_error == "skip" else None)


def ids_of(question: Question, dataset: Dataset) -> Ids:
    """Subject, relation, object and tick; the InputError about a part that is wrong names it."""
    finders: dict[Ask, Callable[[Any], int]] = {
        "subject": lambda name: dataset.entities.find(str(name)),
        "relation": lambda name: dataset.relations.find(str(name)),
        "object": lambda name: dataset.entities.find(str(name)),
        "time": dataset.timeline.tick,
    }
    open_place, ids = question.asked, []
    for place, find in finders.items():
        try:
            ids.append(OPEN_ID if place == open_place else find(getattr(question, place)))
        except InputError as error:
            error.field = place
            raise
    subject, relation, object_, time = ids
    return subject, relation, object_, time


def as_written(question: Question, dataset: Dataset, ids: Ids | None = None) -> Question:
    """The question with names and time as the data write them, and ? for what is asked."""
    asked, ids = question.asked, ids or ids_of(question, dataset)
    named = zip(name_finders(dataset).items(), ids, strict=True)
    return Question(*("?" if place == asked else name_of(id) for (place, name_of), id in named))


def name_finders(dataset: Dataset) -> dict[Ask, Callable[[int], str]]:
    """What an id is called in each place of a fact."""
    entity, relation = dataset.entities.names.__getitem__, dataset.relations.names.__getitem__
    return dict(zip(PLACES, (entity, relation, entity, dataset.timeline.label), strict=True))
