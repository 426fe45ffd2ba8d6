"""Answers for people: a table of them, an interval of times, and what to know about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import torch

from targcn.evaluation.intervals import grow_intervals, usual_lengths
from targcn.facts.dataset import Dataset
from targcn.graph.queries import FactColumns
from targcn.inference.answers import Answers
from targcn.inference.explanation import ENDS, End, Explanation
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Ask, Ids, Question, as_written, ids_of
from targcn.output.tables import Column, Table
from targcn.runs.run import describe_new

if TYPE_CHECKING:
    import polars as pl


def answer_table(predictor: Predictor, question: Question, answers: Answers) -> Table:
    """The answers to one question; of a what-if every rank and value twice, before and after."""
    dataset = predictor.dataset
    asked = as_written(question, dataset)
    title = (
        f"{asked.subject} — {asked.relation} — {asked.object}, {asked.time} "
        f"(context {predictor.context}{dataset.addition})"
    )
    first = ("asked",) if question.asked == "fact" else ()
    notes = notes_on(predictor, question, answers)
    return answers_table(answers, answers.to_frame(dataset), first, title, notes)


def answers_table(
    answers: Answers,
    frame: "pl.DataFrame",
    first: Sequence[str],
    title: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Ranks, answers and their probabilities, or scores if there are none, after other columns.

    A rank that others share is marked.
    """
    sides = {ending: ending.replace("_", " ") for ending in answers.sides}
    has_scores_alone = bool(answers.probabilities.isnan().any())
    key, form = ("score", ".4g") if has_scores_alone else ("probability", ".4f")
    is_judged = "true" in frame.columns and frame["true"].count() > 0
    judged = (Column("true", "true with", ".4f"),) if is_judged else ()
    last = [name for name in ("change", "known", "error") if name in frame.columns]
    columns = (
        *(Column(name, name) for name in first),
        *(Column(f"rank{side}", f"rank{label}") for side, label in sides.items()),
        Column("answer", "answer"),
        *(Column(f"{key}{side}", f"{key}{label}", form) for side, label in sides.items()),
        *judged,
        *(Column(name, name) for name in last),
    )
    rows = frame.to_dicts()
    for row, side in product(rows, sides):
        if (row[f"tied{side}"] or 0) > 1:
            row[f"rank{side}"] = f"{row[f'rank{side}']} ="
    return Table(columns, tuple(rows), title, tuple(notes))


def beside_questions(asked: "pl.DataFrame", answers: "pl.DataFrame") -> "pl.DataFrame":
    """Every answer with its question; both are numbered from 1."""
    numbered = asked.with_row_index("question", offset=1)
    numbered = numbered.cast({"question": answers["question"].dtype})
    return numbered.join(answers, on="question", maintain_order="right")


def notes_on(predictor: Predictor, question: Question, answers: Answers) -> list[str]:
    """What to know about the answers to a question."""
    dataset = predictor.dataset
    ids = ids_of(question, dataset)
    forecast = describe_forecast(dataset, [] if question.asked == "time" else [ids[3]])
    notes = [forecast] if forecast else []
    if question.asked in ENDS:
        notes += [
            f"Every entity has the same score{ending.replace('_', ' ')}: nothing in the context "
            "speaks for any answer."
            for ending, side in answers.sides.items()
            if len(side) and side.tied[0] == len(dataset.entities) > 1
        ]
    if question.asked in ENDS and predictor.knows_truth:
        notes.append(describe_expected(predictor, question.asked, ids))
    if new := new_among(predictor, question, answers):
        notes.append(describe_new(new, predictor.model))
    return notes


def describe_expected(predictor: Predictor, end: Ask, ids: Ids) -> str:
    """How many answers a question for an end is expected to have."""
    facts = FactColumns(*torch.tensor(ids)[:, None])
    asked = predictor.queries(end, facts)
    known = predictor.known["time-aware"].look_up(asked.to(predictor.device))[1]
    expected = predictor.truth.expect_answers(*(int(column) for column in asked.tensors()))
    more = f"About {expected:.1f} more" if expected >= 0.05 else "No more"
    said = f"{more} answers than those known then are expected"
    if len(known) == 0:
        number = f"About {expected:.1f}" if expected >= 0.05 else "No"
        said = f"{number} answers are expected then"
        last = predictor.truth.last_fact(int(asked.subjects))
        if expected < 0.5 and last is not None and last < ids[3]:
            entity = predictor.dataset.entities.names[int(asked.subjects)]
            when = predictor.dataset.timeline.label(last)
            said += f": the last known fact of {entity} is of {when}"
    return said + "; the probability of an answer presumes that there is one."


def describe_forecast(dataset: Dataset, ticks: Sequence[int]) -> str:
    """Say which asked times are after the last known fact; nothing if none is."""
    timeline = dataset.timeline
    last = int(timeline.ticks[-1])
    later = [tick for tick in ticks if tick > last]
    if not later:
        return ""
    after = f"the last known fact ({timeline.last})"
    if len(ticks) == 1:
        ahead = later[0] - last
        unit = f"{timeline.unit}{'' if ahead == 1 else 's'}"
        return f"A forecast: {timeline.label(later[0])} is {ahead:,} {unit} after {after}."
    return f"{len(later):,} questions are about times after {after}: forecasts."


def explain_answer(
    predictor: Predictor, question: Question, asked: str, answer: str, top: int = 10
) -> Explanation:
    """The facts behind an answer, which stands in the place that is asked for."""
    if question.asked != "fact":
        question = replace(question, **{asked: answer})
    words = (str(question.subject), str(question.relation), str(question.object))
    side: End = "subject" if asked == "subject" else "object"
    return predictor.explain(*words, question.time or "", asked=side, top=top)


def new_among(predictor: Predictor, question: Question, answers: Answers) -> list[str]:
    """The entities in a question and its answers that the model was not trained on."""
    new = set(predictor.dataset.new_entities)
    shown = (question.subject, question.object, *answers.names(predictor.dataset))
    return [str(name) for name in dict.fromkeys(shown) if name in new]


@dataclass(frozen=True)
class FoundInterval:
    """When a fact most likely holds, if facts hold over intervals, and how many ticks are usual."""

    first: str
    last: str
    usual_length: int
    unit: str

    def __str__(self) -> str:
        when = self.first if self.first == self.last else f"{self.first} – {self.last}"
        plural = "" if self.usual_length == 1 else "s"
        return (
            f"Most likely {when}: the best time, and those beside it that are as good or within "
            f"{self.usual_length:,} {self.unit}{plural}, which is usual for this relation."
        )


def interval_over_time(
    predictor: Predictor, question: Question, answers: Answers
) -> FoundInterval | None:
    """The interval around the best time of all; None where facts are points or no time is left."""
    dataset, timeline = predictor.dataset, predictor.dataset.timeline
    if not dataset.has_intervals or not len(answers):
        return None
    by_time = answers[answers.ids.argsort()]
    lengths = usual_lengths(dataset.context(predictor.context), len(dataset.relations))
    length = lengths[[ids_of(question, dataset)[1]]]
    first, last = grow_intervals(by_time.scores[None], by_time.ids, length)
    labels = timeline.label(int(first)), timeline.label(int(last))
    return FoundInterval(*labels, int(length), timeline.unit)
