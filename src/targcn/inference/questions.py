"""Questions in words, and the queries they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import torch

from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.queries import Queries

Time = str | int | date
# What may stand for the entity that is asked for.
OPEN: Final = (None, "", "?")


@dataclass(frozen=True)
class Question:
    """A fact with one entity left open, which is None, empty or a question mark."""

    subject: str | None
    relation: str
    object: str | None
    time: Time

    @property
    def asks_subject(self) -> bool:
        return self.subject in OPEN


def list_questions(questions: object) -> Sequence[Question]:
    """Questions that are given as such, as tuples of four, or as a frame or file of them.

    >>> list_questions([("Obama", "succeeded", None, 2005)])
    [Question(subject='Obama', relation='succeeded', object=None, time=2005)]
    """
    if not isinstance(questions, list | tuple):
        from targcn.facts.question_tables import read_questions

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


def encode(questions: Sequence[Question], dataset: Dataset) -> Queries:
    """Turn words into ids; a question for a subject is asked under the reciprocal relation."""
    subjects, relations, times = [], [], []
    for number, question in enumerate(questions, 1):
        where = f"question {number}: " if len(questions) > 1 else ""
        asks_subject = question.asks_subject
        if asks_subject == (question.object in OPEN):
            raise InputError(f"{where}leave exactly one of subject and object open, as ?")
        try:
            given = question.object if asks_subject else question.subject
            subjects.append(dataset.entities.id_of(str(given)))
            relation = dataset.relations.id_of(question.relation)
            relations.append(relation + len(dataset.relations) * asks_subject)
            times.append(dataset.timeline.tick(question.time))
        except InputError as error:
            raise InputError(f"{where}{error}") from None
    return Queries(torch.tensor(subjects), torch.tensor(relations), torch.tensor(times))
