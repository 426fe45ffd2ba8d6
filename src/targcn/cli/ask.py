"""`targcn predict` and `explain`: questions in words, answers and reasons in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli.common import AsJson, Context, load_folder
from targcn.errors import InputError
from targcn.terminal import counting, show, show_json, table_of

if TYPE_CHECKING:
    from targcn.checkpoint import Run


def predict_answers(
    run: Path,
    subject: str | None = None,
    relation: str | None = None,
    object: str | None = None,
    time: str | None = None,
    /,
    *,
    top: int = 10,
    context: Context = "train+valid",
    explain: Annotated[bool, Parameter(negative="")] = False,
    queries: Path | None = None,
    out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Ask a run: write '?' for the entity to find, quoted, or a shell may look for a file.

    Parameters
    ----------
    run
        A run folder, as `train` writes it.
    subject
        The subject, or ? to ask for it.
    relation
        The relation.
    object
        The object, or ? to ask for it.
    time
        Any date, also one that the data does not have.
    top
        How many answers to show.
    explain
        Show the facts that carried the best answer.
    queries
        A table of questions instead: subject, relation, object, time, the open one ? or empty.
    out
        Where the answers to a table go: .csv, .jsonl or .parquet.
    """
    from targcn.prediction import OPEN, predict

    loaded = load_folder(run)
    if queries is not None:
        _answer_table(loaded, queries, out, top, context)
        return
    if relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME, one of them ?")
    answers = predict(loaded, subject, relation, object, time, top=top, context=context)
    best = None
    if explain:
        from targcn.explanation import explain as explain_fact

        first, asks_subject = answers["answer"][0], subject in OPEN
        ends = (first, str(object)) if asks_subject else (str(subject), first)
        side = "subject" if asks_subject else "object"
        best = explain_fact(loaded, ends[0], relation, ends[1], time, context=context, asked=side)
    if json:
        from dataclasses import asdict

        content = {"context": context, "answers": answers.to_dicts()}
        show_json(content | ({"explanation": asdict(best)} if best else {}))
        return
    show(f"{subject} — {relation} — {object}, {time} (context {context})")
    table = table_of("rank", "answer", "probability", "known")
    for row in answers.iter_rows(named=True):
        chance = f"{row['score']:.4g} (score)"
        if row["probability"] is not None:
            chance = f"{row['probability']:.4f}"
        table.add_row(str(row["rank"]), row["answer"], chance, row["known"])
    show(table)
    if best is not None:
        from targcn.explanation import in_words

        show("\n" + "\n".join(in_words(best)))


def explain_answer(
    run: Path,
    subject: str,
    relation: str,
    object: str,
    time: str,
    /,
    *,
    asked: Literal["object", "subject"] = "object",
    top: int = 10,
    context: Context = "train+valid",
    plot: Path | None = None,
    json: AsJson = False,
) -> None:
    """Show which facts carried an answer, each left out in turn.

    Parameters
    ----------
    run
        A run folder, as `train` writes it.
    subject
        The subject.
    relation
        The relation.
    object
        The object.
    time
        The date.
    asked
        Which of the two was the answer.
    top
        How many facts to show.
    plot
        Draw them on a time axis into this file (needs matplotlib).
    """
    from targcn.explanation import explain, in_words
    from targcn.explanation import plot as draw

    loaded = load_folder(run)
    found = explain(loaded, subject, relation, object, time, context=context, asked=asked, top=top)
    if plot is not None:
        draw(found, plot)
    if json:
        from dataclasses import asdict

        show_json(asdict(found) | {"context": context})
        return
    show("\n".join(in_words(found)))


def _answer_table(run: "Run", queries: Path, out: Path | None, top: int, context: Context) -> None:
    from targcn.facts.tables import read_questions, write_frame
    from targcn.files import require_absent
    from targcn.prediction import Question, predict_many

    if out is None:
        raise InputError("answers to a table need --out, a .csv, .jsonl or .parquet to write")
    require_absent(out)
    asked = read_questions(queries)
    questions = [Question(*row) for row in asked.iter_rows()]
    with counting("answering", "questions") as progress:
        answers = predict_many(run, questions, top=top, context=context, progress=progress)
    write_frame(
        asked.with_row_index("question")
        .cast({"question": answers["question"].dtype})
        .join(answers, on="question"),
        out,
    )
    show(f"{out}: {answers.height:,} answers to {len(questions):,} questions, context {context}")
