"""`targcn predict` and `explain`: questions in words, answers and reasons in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli.common import AsJson, Context, load_folder
from targcn.errors import InputError
from targcn.terminal import counting, show, show_json, table_of

if TYPE_CHECKING:
    import polars as pl


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
        A new file for the answers, which those to a table need: .csv, .jsonl or .parquet.
    """
    if out is not None:
        from targcn.facts.tables import require_ending
        from targcn.files import require_absent

        require_ending(out)
        require_absent(out)
    if queries is not None:
        beside = {"a question in words": subject is not None, "--explain": explain, "--json": json}
        given = [option for option, is_given in beside.items() if is_given]
        if given:
            raise InputError(f"--queries answers a table; leave out {' and '.join(given)}")
        _answer_table(run, queries, out, top, context)
        return
    if relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME, one of them ?")
    from targcn.prediction import OPEN, Question, predict_many

    loaded = load_folder(run)
    question = Question(subject, relation, object, time)
    answers = predict_many(loaded, [question], top=top, context=context)
    best = None
    if explain:
        from targcn.explanation import Asked
        from targcn.explanation import explain as explain_fact

        first, asks_subject = answers["answer"][0], subject in OPEN
        ends = (first, str(object)) if asks_subject else (str(subject), first)
        side: Asked = "subject" if asks_subject else "object"
        best = explain_fact(loaded, ends[0], relation, ends[1], time, context=context, asked=side)
    if out is not None:
        import polars as pl

        _write(pl.DataFrame([question]), answers, out)
    if json:
        from dataclasses import asdict

        content = {"context": context, "answers": answers.drop("question").to_dicts()}
        show_json(content | ({"explanation": asdict(best)} if best else {}))
        return
    timeline = loaded.dataset.timeline
    when = timeline.label(timeline.tick(time))
    show(f"{subject} — {relation} — {object}, {when} (context {context})")
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
        Draw them on a time axis into this new file (needs matplotlib).
    """
    from targcn.drawing import require_picture
    from targcn.explanation import explain, in_words
    from targcn.explanation import plot as draw
    from targcn.files import require_absent

    if plot is not None:
        require_picture(plot)
        require_absent(plot)
    loaded = load_folder(run)
    found = explain(loaded, subject, relation, object, time, context=context, asked=asked, top=top)
    if plot is not None:
        draw(found, plot)
    if json:
        from dataclasses import asdict

        show_json(asdict(found) | {"context": context})
        return
    show("\n".join(in_words(found)))


def _answer_table(run: Path, queries: Path, out: Path | None, top: int, context: Context) -> None:
    from targcn.facts.tables import read_questions
    from targcn.prediction import Question, predict_many

    if out is None:
        raise InputError("answers to a table need --out, a .csv, .jsonl or .parquet to write")
    loaded = load_folder(run)
    asked = read_questions(queries)
    questions = [Question(*row) for row in asked.iter_rows()]
    with counting("answering", "questions") as progress:
        answers = predict_many(loaded, questions, top=top, context=context, progress=progress)
    _write(asked, answers, out)
    show(f"{out}: {answers.height:,} answers to {len(questions):,} questions, context {context}")


def _write(asked: "pl.DataFrame", answers: "pl.DataFrame", out: Path) -> None:
    """Write every answer beside its question."""
    from targcn.facts.tables import write_frame

    numbered = asked.with_row_index("question").cast({"question": answers["question"].dtype})
    write_frame(numbered.join(answers, on="question"), out)
