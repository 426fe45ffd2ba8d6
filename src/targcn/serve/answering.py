"""What a server says to questions: rows of answers, with what is to be known about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import torch
from typing_extensions import TypedDict

from targcn.inference.answer_table import explain_answer, notes_on
from targcn.inference.answers import Answers, Known
from targcn.inference.explanation import describe_reason
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Ask, Question, as_written, encode, ids_of

# A reason is found for one answer at a time; a complete fact needs a context of its own.
COST_OF_REASON: Final = 10
COST_OF_FACT: Final = 100


@dataclass(frozen=True)
class HowToAnswer:
    """How many answers, and which."""

    top: int = 10
    hide_known: bool = False
    why: bool = False


class Row(TypedDict):
    """An answer; `asked` is the place it stands in, `tied` how many have its very score."""

    asked: Ask
    rank: int
    tied: int
    answer: str
    score: float
    probability: float | None
    # How probable it is that the fact with this answer is true; the one above presumes that there
    # is an answer.
    true: float | None
    known: Known
    why: str | None


@dataclass(frozen=True)
class Answer:
    """The answers to a question as it was understood; or, in `error`, why it cannot be asked."""

    question: Question | None
    asked: Ask | None
    forecast: bool = False
    note: str | None = None
    error: str | None = None
    suggestions: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


def cost_of(question: Question, how: HowToAnswer, predictor: Predictor) -> int:
    """How long a question takes, counted in answers to one for an entity."""
    costs = {
        "relation": len(predictor.dataset.relations),
        "time": len(predictor.dataset.timeline.ticks),
        "fact": COST_OF_FACT,
    }
    cost = max(costs.get(question.asked, 1), how.top)
    return cost + (COST_OF_REASON * how.top if how.why else 0)


def answer(predictor: Predictor, questions: Sequence[Question], how: HowToAnswer) -> list[Answer]:
    """The answers to questions that can be asked, best first, with what is to be said about them.

    Complete facts are hidden from the context one at a time: whoever asks at the same moment does
    not change an answer.
    """
    together = [number for number, question in enumerate(questions) if question.asked != "fact"]
    alone = [[number] for number, question in enumerate(questions) if question.asked == "fact"]
    answers: dict[int, Answer] = {}
    for numbers in (together, *alone) if together else alone:
        part = [questions[number] for number in numbers]
        asked = encode(part, predictor.dataset)
        best = predictor.answer(asked, top=how.top, hide_known=how.hide_known)
        ends = torch.bincount(best.questions, minlength=len(part) + 1).cumsum(0).tolist()
        for number, question, first, last in zip(numbers, part, ends, ends[1:], strict=False):
            answers[number] = _complete(predictor, question, best[first:last], how)
    return [answers[number] for number in range(len(questions))]


def _complete(
    predictor: Predictor, question: Question, answers: Answers, how: HowToAnswer
) -> Answer:
    """The answers to one question beside the question as it was understood."""
    dataset, asked = predictor.dataset, question.asked
    ids = ids_of(question, dataset)
    understood = as_written(question, dataset, ids)
    rows = cast(list[Row], answers.rows(dataset, why=None))
    if how.why and predictor.gives_reasons and asked != "time":
        for row in rows:
            row["why"] = _why(predictor, understood, row)
    return Answer(
        understood if asked == "fact" else replace(understood, **{asked: None}),
        asked,
        forecast=asked != "time" and ids[3] > int(dataset.timeline.ticks[-1]),
        note=" ".join(notes_on(predictor, question, answers)) or None,
        rows=tuple(rows),
    )


def _why(predictor: Predictor, question: Question, row: Row) -> str | None:
    """The strongest reason for an answer, in words."""
    explanation = explain_answer(predictor, question, row["asked"], row["answer"], top=1)
    return describe_reason(explanation.reasons[0]) if explanation.reasons else None
