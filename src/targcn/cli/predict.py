"""`targcn predict`: the best answers to a question, or to a table of questions."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from targcn.cli.options import AsJson, Context, Flag, RunFolder, load_folder
from targcn.errors import InputError
from targcn.files import require_absent
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress, show, show_json

if TYPE_CHECKING:
    import polars as pl

    from targcn.inference.explanation import Explanation
    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question


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

    Args:
        subject: The subject, or ? to ask for it.
        relation: The relation.
        object: The object, or ? to ask for it.
        time: Any date, also one that the data does not have.
        top: How many answers to show.
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
        given = [option for option, is_given in others.items() if is_given]
        if given:
            raise InputError(f"--queries answers a table; leave out {' and '.join(given)}")
        _answer_table(run, queries, out, top, context)
        return
    if relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME, one of them ?")
    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question

    predictor = Predictor(load_folder(run), context, "cpu")
    question = Question(subject, relation, object, time)
    answers = predictor.predict_many([question], top=top)
    explanation = _explain_best(predictor, question, answers) if explain else None
    if out is not None:
        import polars as pl

        _write(pl.DataFrame([question]), answers, out)
    if json:
        content = {
            "context": predictor.context,
            "num_entities": len(predictor.dataset.entities),
            "answers": answers.drop("question").to_dicts(),
        }
        show_json(content | ({"explanation": asdict(explanation)} if explanation else {}))
        return
    show(_table_of(predictor, question, answers))
    if explanation is not None:
        from targcn.inference.explanation import in_words

        show("\n" + "\n".join(in_words(explanation)))


def _explain_best(
    predictor: "Predictor", question: "Question", answers: "pl.DataFrame"
) -> "Explanation":
    relation, time, best = question.relation, question.time, answers["answer"][0]
    if question.asks_subject:
        return predictor.explain(best, relation, str(question.object), time, asked="subject")
    return predictor.explain(str(question.subject), relation, best, time)


def _table_of(predictor: "Predictor", question: "Question", answers: "pl.DataFrame") -> Table:
    value = Column("probability", "probability", ".4f")
    if answers["probability"].null_count():
        value = Column("score", "score", ".4g")
    rows = answers.to_dicts()
    for row in rows:
        row["rank"] = f"{row['rank']} =" if row["tied"] > 1 else str(row["rank"])
    timeline = predictor.dataset.timeline
    when = timeline.label(timeline.tick(question.time))
    notes: tuple[str, ...] = ()
    if answers["tied"][0] == len(predictor.dataset.entities) > 1:
        notes = ("Every entity has the same score: nothing in the context speaks for any answer.",)
    return Table(
        (Column("rank", "rank"), Column("answer", "answer"), value, Column("known", "known")),
        tuple(rows),
        f"{question.subject} — {question.relation} — {question.object}, {when} "
        f"(context {predictor.context})",
        notes,
    )


def _answer_table(run: Path, queries: Path, out: Path | None, top: int, context: Context) -> None:
    from targcn.facts.question_tables import read_questions
    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question

    if out is None:
        raise InputError("answers to a table need --out, a .csv, .jsonl or .parquet to write")
    predictor = Predictor(load_folder(run), context, "cpu")
    asked = read_questions(queries)
    questions = [Question(*row) for row in asked.iter_rows()]
    with count_progress("answering", "questions") as progress:
        answers = predictor.predict_many(questions, top=top, progress=progress)
    _write(asked, answers, out)
    done = f"{answers.height:,} answers to {len(questions):,} questions"
    show(f"{out}: {done}, context {predictor.context}")


def _write(asked: "pl.DataFrame", answers: "pl.DataFrame", out: Path) -> None:
    """Write every answer with its question."""
    from targcn.facts.question_tables import write_frame

    numbered = asked.with_row_index("question").cast({"question": answers["question"].dtype})
    write_frame(numbered.join(answers, on="question"), out)
