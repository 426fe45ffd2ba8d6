"""What a server says to questions: rows of answers, with what is to be known about them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

from targcn.inference.answer_table import describe_forecast
from targcn.inference.answers import KNOWN, Answers
from targcn.inference.explanation import Asked as End
from targcn.inference.explanation import describe_reason
from targcn.inference.predictor import Predictor
from targcn.inference.questions import PLACES, Ask, Encoded, Ids, Question, Time, ids_of

# A reason is found for one answer at a time; a complete fact needs a context of its own.
COST_OF_REASON: Final = 10
COST_OF_FACT: Final = 100


@dataclass(frozen=True, eq=False)
class Asked:
    """A question and the ids that it stands for."""

    question: Question
    ids: Ids

    @cached_property
    def place(self) -> Ask:
        return self.question.asked


@dataclass(frozen=True)
class HowToAnswer:
    """How many answers, and which."""

    top: int = 10
    hide_known: bool = False
    why: bool = False


def ask(question: Question, predictor: Predictor) -> Asked:
    """The question with its ids; one that cannot be asked is an InputError."""
    return Asked(question, ids_of(question, predictor.dataset))


def cost_of(asked: Asked, how: HowToAnswer, predictor: Predictor) -> int:
    """How long a question takes, counted in questions for an entity that are answered together."""
    costs = {
        "relation": len(predictor.dataset.relations),
        "time": len(predictor.dataset.timeline.ticks),
        "fact": COST_OF_FACT,
    }
    return costs.get(asked.place, 1) + (COST_OF_REASON * how.top if how.why else 0)


def answer(predictor: Predictor, asked: Sequence[Asked], how: HowToAnswer) -> list[dict[str, Any]]:
    """The answers to each question, best first, with what is to be said about them.

    Complete facts are hidden from the context one at a time: whoever asks at the same moment does
    not change an answer.
    """
    numbered = [(number, question.place, question.ids) for number, question in enumerate(asked)]
    alone = [[question] for question in numbered if question[1] == "fact"]
    together = [question for question in numbered if question[1] != "fact"]
    rows: list[list[dict[str, Any]]] = [[] for _ in asked]
    for part in (together, *alone) if together else alone:
        encoded = Encoded.of(part, len(predictor.dataset.relations), {})
        answers = predictor.answer(encoded, top=how.top, hide_known=how.hide_known)
        for number, row in _rows(answers, predictor):
            rows[number].append(row)
    return [
        _complete(predictor, question, found, how)
        for question, found in zip(asked, rows, strict=True)
    ]


def _rows(answers: Answers, predictor: Predictor) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of a question, and one of its answers."""
    has_probabilities = predictor.has_probabilities
    cells = zip(
        answers.names(predictor.dataset),
        *(column.tolist() for column in answers.tensors()),
        strict=True,
    )
    for name, number, place, _, rank, tied, score, probability, known in cells:
        yield (
            number,
            {
                "rank": rank,
                "tied": tied,
                "asked": PLACES[place],
                "answer": name,
                "score": score,
                "probability": probability if has_probabilities else None,
                "known": KNOWN[known],
                "why": None,
            },
        )


def _complete(
    predictor: Predictor, asked: Asked, rows: list[dict[str, Any]], how: HowToAnswer
) -> dict[str, Any]:
    """The answers to one question beside the question as it was understood."""
    question, timeline = asked.question, predictor.dataset.timeline
    notes = []
    is_forecast = asked.place != "time" and asked.ids[3] > int(timeline.ticks[-1])
    if is_forecast:
        notes.append(describe_forecast(predictor, [question]))
    if asked.place in ("subject", "object"):
        num_entities = len(predictor.dataset.entities)
        if rows and rows[0]["tied"] == num_entities > 1:
            notes.append(
                "Every entity has the same score: nothing in the context speaks for any answer."
            )
    if how.why and predictor.gives_reasons and asked.place != "time":
        for row in rows:
            row["why"] = _why(predictor, question, row)
    return {
        "question": _as_understood(asked, predictor),
        "asked": asked.place,
        "forecast": is_forecast,
        "note": " ".join(notes) or None,
        "error": None,
        "suggestions": [],
        "rows": rows,
    }


def _as_understood(asked: Asked, predictor: Predictor) -> dict[str, str | None]:
    """The words of a question as the data write them; nothing in the place that is asked for."""
    dataset, (subject, relation, object_, time) = predictor.dataset, asked.ids
    words = {
        "subject": dataset.entities.names[subject],
        "relation": dataset.relations.names[relation],
        "object": dataset.entities.names[object_],
        "time": dataset.timeline.label(time),
    }
    return {place: None if place == asked.place else word for place, word in words.items()}


def _why(predictor: Predictor, question: Question, row: dict[str, Any]) -> str | None:
    """The strongest reason for an answer, in words."""
    place = row["asked"]
    if question.asked != "fact":
        question = replace(question, **{place: row["answer"]})
    words = (str(question.subject), str(question.relation), str(question.object))
    side: End = "subject" if place == "subject" else "object"
    found = predictor.explain(
        *words, "" if question.time is None else question.time, asked=side, top=1
    )
    return describe_reason(found.reasons[0]) if found.reasons else None


def explain(
    predictor: Predictor,
    subject: str,
    relation: str,
    object: str,
    time: Time,
    asked: End,
    top: int,
) -> dict[str, Any]:
    """The facts behind an answer as plain data, each with its tick."""
    found = asdict(predictor.explain(subject, relation, object, time, asked=asked, top=top))
    found["tick"] = tick = predictor.dataset.timeline.tick(found["time"])
    for reason in found["reasons"]:
        for fact in reason["facts"]:
            at = fact["tick"] = None if fact["delta"] is None else tick + fact["delta"]
            # An interval in words, and a time at which the fact can be asked about again.
            fact["when"] = fact["time"]
            fact["time"] = None if at is None else predictor.dataset.timeline.label(at)
    return found
