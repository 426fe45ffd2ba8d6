"""`targcn predict`: the best answers to a question, or to a table of questions."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from targcn.cli.options import (
    AsJson,
    Context,
    Flag,
    NewerFacts,
    RunFolder,
    load_folder,
)
from targcn.errors import InputError
from targcn.files import require_absent
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress, say, show, show_json

if TYPE_CHECKING:
    import polars as pl

    from targcn.inference.explanation import Explanation
    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question

    Answerer = Callable[..., pl.DataFrame]

FactsInWords = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]


def predict_answers(
    run: RunFolder,
    subject: str | None = None,
    relation: str | None = None,
    object: str | None = None,
    time: str | None = None,
    /,
    *,
    top: int = 10,
    context: Context = None,
    facts: NewerFacts = None,
    without: FactsInWords = (),
    given: Annotated[FactsInWords, Parameter(name="--with")] = (),
    explain: Flag = False,
    queries: Path | None = None,
    out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Answer a question: a fact whose subject or object is '?', in quotes.

    The rank of an answer is marked with = if other entities have the same score.
    The probability is the softmax of the scores over all entities, for models
    trained with cross-entropy; it is not calibrated. For other models the score
    itself is shown. An answer is known "then" if the data holds it at this time,
    "at another time" if only at others, else "no".

    What if: --without and --with show the answers before and after facts were
    taken from the context or put into it. A fact is written as
    'SUBJECT | RELATION | OBJECT | TIME'.

    Args:
        subject: The subject, or ? to ask for it.
        relation: The relation.
        object: The object, or ? to ask for it.
        time: Any date, also one that the data does not have.
        top: How many answers to show.
        without: Answer as if this fact of the context were not there; can be given several times.
        given: Answer as if this fact were in the context; can be given several times.
        explain: Show the facts behind the best answer too.
        queries: A table of questions: subject, relation, object, time; what is asked is ? or empty.
        out: A new file to write the answers to: .csv, .jsonl or .parquet; required with --queries.
    """
    if out is not None:
        from targcn.facts.question_tables import require_ending

        require_ending(out)
        require_absent(out)
    if queries is not None:
        others = {"a question in words": subject is not None, "--explain": explain, "--json": json}
        unwanted = [option for option, is_given in others.items() if is_given]
        if unwanted:
            raise InputError(f"--queries answers a table; leave out {' and '.join(unwanted)}")
        if out is None:
            raise InputError("answers to a table need --out, a .csv, .jsonl or .parquet to write")
    elif relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME, one of them ?")
    is_changed = bool(without or given)
    if is_changed and explain:
        raise InputError("--explain is about the context as it is; leave out --with and --without")
    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question

    predictor = Predictor(load_folder(run), context, "cpu")
    if facts is not None:
        predictor.add(facts)
        for sentence in predictor.dataset.additions:
            say(sentence)
    answer = _what_if(predictor, without, given) if is_changed else predictor.predict_many
    if queries is not None and out is not None:
        _answer_table(predictor, answer, queries, out, top)
        return
    question = Question(subject, str(relation), object, str(time))
    answers = answer([question], top=top)
    explanation = _explain_best(predictor, question, answers) if explain else None
    if out is not None:
        import polars as pl

        _write(pl.DataFrame([question]), answers, out)
    if json:
        content = {
            "context": predictor.context + predictor.dataset.addition,
            "num_entities": len(predictor.dataset.entities),
            "answers": answers.drop("question").to_dicts(),
        }
        if is_changed:
            content |= {"without": list(without), "with": list(given)}
        if facts is not None:
            content["new_entities"] = _new_among(predictor, question, answers)
        show_json(content | ({"explanation": asdict(explanation)} if explanation else {}))
        return
    show(_table_of(predictor, question, answers, is_changed))
    if explanation is not None:
        from targcn.inference.explanation import in_words

        show("\n" + "\n".join(in_words(explanation)))


def _what_if(predictor: "Predictor", without: Sequence[str], given: Sequence[str]) -> "Answerer":
    from targcn.inference.what_if import parse_fact

    absent, supposed = [parse_fact(one) for one in without], [parse_fact(one) for one in given]
    return partial(predictor.what_if, without=absent, given=supposed)


def _explain_best(
    predictor: "Predictor", question: "Question", answers: "pl.DataFrame"
) -> "Explanation":
    relation, time, best = question.relation, question.time, answers["answer"][0]
    if question.asks_subject:
        return predictor.explain(best, relation, str(question.object), time, asked="subject")
    return predictor.explain(str(question.subject), relation, best, time)


def _table_of(
    predictor: "Predictor", question: "Question", answers: "pl.DataFrame", is_changed: bool
) -> Table:
    """The answers for people: of a what-if every rank and value twice, before and after."""
    from targcn.runs.run import describe_new

    dataset = predictor.dataset
    sides = {"_before": " before", "_after": " after"} if is_changed else {"": ""}
    rows = answers.to_dicts()
    for row, side in product(rows, sides):
        tie = " =" if row[f"tied{side}"] > 1 else ""
        row[f"rank{side}"] = f"{row[f'rank{side}']}{tie}"
    key, form = "probability", ".4f"
    if answers[f"probability{next(iter(sides))}"].null_count():
        key, form = "score", ".4g"
    columns = [
        *(Column(f"rank{side}", f"rank{label}") for side, label in sides.items()),
        Column("answer", "answer"),
        *(Column(f"{key}{side}", f"{key}{label}", form) for side, label in sides.items()),
        *([Column("change", "change")] if is_changed else []),
        Column("known", "known"),
    ]
    when = dataset.timeline.label(dataset.timeline.tick(question.time))
    notes = []
    for side, label in sides.items():
        if answers[f"tied{side}"][0] == len(dataset.entities) > 1:
            notes.append(
                f"Every entity has the same score{label}: nothing in the context speaks for any "
                "answer."
            )
    if new := _new_among(predictor, question, answers):
        notes.append(describe_new(new, predictor.model))
    title = (
        f"{question.subject} — {question.relation} — {question.object}, {when} "
        f"(context {predictor.context}{dataset.addition})"
    )
    return Table(tuple(columns), tuple(rows), title, tuple(notes))


def _new_among(predictor: "Predictor", question: "Question", answers: "pl.DataFrame") -> list[str]:
    """The entities in a question and its answers that the model was not trained on."""
    new = set(predictor.dataset.new_entities)
    shown = (question.subject, question.object, *answers["answer"])
    return [str(name) for name in dict.fromkeys(shown) if name in new]


def _answer_table(
    predictor: "Predictor",
    answer: "Answerer",
    queries: Path,
    out: Path,
    top: int,
) -> None:
    from targcn.facts.question_tables import read_questions
    from targcn.inference.questions import Question

    asked = read_questions(queries)
    questions = [Question(*row) for row in asked.iter_rows()]
    with count_progress("answering", "questions") as progress:
        answers = answer(questions, top=top, progress=progress)
    _write(asked, answers, out)
    show(
        f"{out}: {answers.height:,} answers to {len(questions):,} questions, context "
        f"{predictor.context}{predictor.dataset.addition}"
    )


def _write(asked: "pl.DataFrame", answers: "pl.DataFrame", out: Path) -> None:
    """Write every answer with its question."""
    from targcn.facts.question_tables import write_frame

    numbered = asked.with_row_index("question").cast({"question": answers["question"].dtype})
    write_frame(numbered.join(answers, on="question"), out)
