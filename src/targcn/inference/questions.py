"""Questions in words, and the ids they stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

import torch
from torch import Tensor

from targcn.errors import InputError
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
        from targcn.facts.reading.questions import read_questions

        return [Question(*row) for row in read_questions(questions).iter_rows()]
    listed = []
    for number, one in enumerate(questions, 1):
        if not isinstance(one, Question) and not (isinstance(one, list | tuple) and len(one) == 4):
            raise InputError(
                f"question {number} is {one!r}; give (subject, relation, object, time), with None "
                "for what is asked"
            )
        listed.append(one if isinstance(one, Question) else Question(*one))
    return listed


@dataclass(frozen=True, eq=False)
class Encoded:
    """Questions as ids, by what they ask for, each with its number; and what is wrong with others.

    Numbers count from 1. The id of what is asked for is OPEN_ID.
    """

    numbers: dict[Ask, Tensor]
    facts: dict[Ask, FactColumns]
    errors: dict[int, str]


def encode(questions: Sequence[Question], dataset: Dataset, on_error: OnError = "stop") -> Encoded:
    """Turn words into ids; a question that cannot be asked is an InputError, or is skipped.

    At least one question must be left. Those that ask for the same are in the order of their times.
    """
    if not questions:
        raise InputError("there are no questions to answer")
    rows: dict[Ask, list[tuple[int, ...]]] = {}
    errors = {}
    for number, question in enumerate(questions, 1):
        try:
            row = (number, *ids_of(question, dataset))
        except InputError as error:
            if on_error == "stop":
                where = f"question {number}: " if len(questions) > 1 else ""
                raise InputError(f"{where}{error}", error.suggestions, error.field) from None
            errors[number] = str(error)
        else:
            rows.setdefault(question.asked, []).append(row)
    if not rows:
        number, reason = next(iter(errors.items()))
        raise InputError(f"no question can be asked; question {number}: {reason}")
    numbers, facts = {}, {}
    for asked, of_asked in rows.items():
        columns = torch.tensor(of_asked).T
        numbers[asked], *ids = columns[:, time_order(columns[-1])].contiguous()
        facts[asked] = FactColumns(*ids)
    return Encoded(numbers, facts, errors)


def ids_of(question: Question, dataset: Dataset) -> tuple[int, int, int, int]:
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


def as_written(question: Question, dataset: Dataset) -> Question:
    """The question with names and time as the data write them, and ? for what is asked."""
    asked = question.asked
    subject, relation, object_, time = ids_of(question, dataset)
    return Question(
        "?" if asked == "subject" else dataset.entities.names[subject],
        "?" if asked == "relation" else dataset.relations.names[relation],
        "?" if asked == "object" else dataset.entities.names[object_],
        "?" if asked == "time" else dataset.timeline.label(time),
    )
