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
