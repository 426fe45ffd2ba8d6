"""`targcn predict`: the best answers to a question, or to a table of questions."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli.options import (
    AsJson,
    Context,
    Device,
    NewerFacts,
    NewPicture,
    NewTable,
    RunFolder,
    checked,
    load_predictor,
    show_table,
)
from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.files import require_absent
from targcn.output.terminal import count_progress, say, show, show_json

if TYPE_CHECKING:
    import polars as pl

    from targcn.inference.predictor import Predictor
    from targcn.inference.questions import Question


def _require_ending(path: Path) -> None:
    from targcn.facts.export import require_ending

    require_ending(path)


def predict_answers(
    run: RunFolder,
    subject: str | None = None,
    relation: str | None = None,
    object: str | None = None,
    time: str | None = None,
    /,
    *,
    top: int = 10,
    hide_known: bool = False,
    context: Context = None,
    facts: NewerFacts = None,
    without: tuple[str, ...] = (),
    given: Annotated[tuple[str, ...], Parameter(name="--with")] = (),
    explain: bool = False,
    plot: NewPicture = None,
    queries: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    on_error: Literal["skip", "stop"] = "skip",
    out: Annotated[Path | None, checked(_require_ending, require_absent)] = None,
    json: AsJson = False,
) -> None:
    """Answer a question: a fact of which one part is '?', in quotes; or judge a complete fact.

    Who or whom: a '?' for the subject or the object. How are they related: for the
    relation. When: for the time, with a curve over all times of the data and, where
    facts have a beginning and an end, an interval. Is it so: a complete fact, hidden
    from the context, as an answer to each of its entities.

    The rank of an answer is marked with = if others have the same score. The
    probability is the softmax over all entities, at the run's own temperature; of
    a relation or a time it is the share among all of them (docs/questions.md).
    Models that are not trained with cross-entropy have scores instead. An answer
    is known "then" if the data holds it at this time, "at another time" if only at
    others, else "no".

    What if: --without and --with show the answers before and after facts were
    taken from the context or put into it. A fact is written as
    'SUBJECT | RELATION | OBJECT | TIME'.

    Args:
        subject: The subject, or ? to ask for it.
        relation: The relation, or ? to ask for it.
        object: The object, or ? to ask for it.
        time: Any date, also one that the data does not have; or ? to ask for it.
        top: How many answers to show.
        hide_known: Leave out answers that are known at that time already.
        without: Answer as if this fact of the context were not there; can be given several times.
        given: Answer as if this fact were in the context; can be given several times.
        explain: Show the facts behind the best answer too.
        plot: Plot the curve of a time question into this new file: .png, .svg or .pdf.
        queries: A table of questions: subject, relation, object, time; what is asked is ? or empty;
            - for standard input.
        on_error: Whether a question of a table that cannot be asked is skipped, with the reason in
            its row, or stops the command.
        out: A new file to write the answers to: .csv, .jsonl or .parquet.
    """
    if queries is not None:
        given_too = {"a question in words": subject, "--explain": explain, "--plot": plot}
        if unwanted := [option for option, value in given_too.items() if value]:
            raise InputError(f"--queries answers a table; leave out {' and '.join(unwanted)}")
    elif relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME; one may be ?")
    if (without or given) and (explain or hide_known):
        option = "--explain" if explain else "--hide-known"
        raise InputError(f"{option} is about the context as it is; leave out --with and --without")
    predictor = load_predictor(run, context, facts)
    ask = partial(predictor.predict_many, top=top, hide_known=hide_known)
    if without or given:
        from targcn.inference.what_if import parse_fact

        gone, new = (list(map(parse_fact, facts_in_words)) for facts_in_words in (without, given))
        ask = partial(predictor.what_if, without=gone, given=new, top=top)
    if queries is not None:
        _answer_table(predictor, ask, queries, on_error, out, json)
        return
    from targcn.inference.questions import Question

    question = Question(subject, relation, object, time)
    changes = {"without": without, "with": given} if without or given else {}
    _answer_one(predictor, ask, question, changes, out, plot, explain, json)


def _answer_one(
    predictor: "Predictor",
    ask: "partial[pl.DataFrame]",
    question: "Question",
    changes: dict[str, tuple[str, ...]],
    out: Path | None,
    plot: Path | None,
    explain: bool,
    json: bool,
) -> None:
    from targcn.inference.answer_table import (
        answer_table,
        curve_over_time,
        explain_answer,
        interval_over_time,
        new_among,
        plot_times,
    )
    from targcn.inference.explanation import in_words
    from targcn.inference.questions import as_written, encode

    dataset = predictor.dataset
    understood, below = as_written(question, dataset), list[str]()
    content = {
        "question": asdict(understood),
        "context": predictor.context + dataset.addition,
        "num_entities": len(dataset.entities),
    }
    if question.asked == "time" and not changes:
        top, hide_known = ask.keywords["top"], ask.keywords["hide_known"]
        num_times, queries = len(dataset.timeline.ticks), encode([question], dataset)
        every = predictor.answer(queries, top=num_times, hide_known=hide_known)
        answers = every[:top].to_frame(dataset)
        below.append(curve_over_time(predictor, every))
        if (interval := interval_over_time(predictor, question, every)) is not None:
            below.append(str(interval))
            content["interval"] = asdict(interval)
        if plot is not None:
            plot_times(predictor, question, every, plot)
    elif plot is not None:
        raise InputError("--plot draws the times of a fact; ask for its time with ?")
    else:
        answers = ask([question])
    if dataset.additions:
        content["new_entities"] = new_among(predictor, question, answers)
    # Of a complete fact the reasons are shown if the model gives any.
    wanted = predictor.gives_reasons if question.asked == "fact" else explain
    if wanted and answers.height:
        place = "object" if question.asked == "fact" else question.asked
        explanation = explain_answer(predictor, question, place, answers["answer"][0])
        below.append("\n".join(in_words(explanation)))
        content["explanation"] = asdict(explanation)
    table = answer_table(predictor, question, answers)
    if out is not None:
        import polars as pl

        _write(pl.DataFrame([understood]), answers, out)
    if json:
        rows = answers.drop("question").to_dicts()
        show_json(content | {"notes": table.notes, "answers": rows, **changes})
        return
    show(table)
    for text in below:
        show(f"\n{text}")


def _answer_table(
    predictor: "Predictor",
    ask: "partial[pl.DataFrame]",
    queries: str,
    on_error: Literal["skip", "stop"],
    out: Path | None,
    json: bool,
) -> None:
    from targcn.facts.sources.table_source import read_questions
    from targcn.inference.answer_table import answers_table, beside_questions, describe_forecast
    from targcn.inference.questions import Question

    asked = read_questions(queries)
    questions = [Question(*row) for row in asked.iter_rows()]
    with count_progress("answering", "questions") as progress:
        answers = ask(questions, on_error=on_error, progress=progress)
    if forecast := describe_forecast(predictor, questions):
        say(forecast)
    if "error" in answers.columns:
        if skipped := answers["error"].count():
            of_all = f"{skipped:,} of {len(questions):,} questions"
            say(f"{of_all} were skipped; the column error says why")
        else:
            answers = answers.drop("error")
    if out is not None:
        _write(asked, answers, out)
    if json:
        show_json(beside_questions(asked, answers).to_dicts())
    elif out is None:
        show(answers_table(asked, answers))
    else:
        show(
            f"{out}: {answers['answer'].count():,} answers to {len(questions):,} questions, "
            f"context {predictor.context}{predictor.dataset.addition}"
        )


def _write(asked: "pl.DataFrame", answers: "pl.DataFrame", out: Path) -> None:
    """Write every answer with its question."""
    from targcn.facts.export import write_frame
    from targcn.inference.answer_table import beside_questions

    write_frame(beside_questions(asked, answers), out)


def find_missing_facts(
    run: RunFolder,
    /,
    *,
    time: str | None = None,
    relation: str | None = None,
    entity: str | None = None,
    top: int = 100,
    context: Context = None,
    facts: NewerFacts = None,
    device: Device = "auto",
    out: NewTable = None,
    json: AsJson = False,
) -> None:
    """Find the most probable facts that are not known, each with its best reason.

    Every entity is asked for the objects of each relation that the context holds
    it together with, at every time of the data; its best answers are then looked
    at from their other end. The probability is the smaller of two: that of the
    object among all entities, given the rest, and that of the subject. Facts that
    any split holds at that time are left out. A large graph has very many such
    queries: choose a time, a relation or an entity to ask fewer.

    Args:
        time: Ask about this time only; any date will do.
        relation: Ask about this relation only, in both directions.
        entity: Ask this entity only, as subject and as object.
        top: How many facts to show.
    """
    require_at_least(1, top=top)
    from targcn.inference.missing import find_missing, missing_table, what_to_ask

    predictor = load_predictor(run, context, facts, device)
    sweep = what_to_ask(predictor, time, relation, entity)
    say(f"asking {sweep}")
    with count_progress("asking", "queries") as progress:
        probable = find_missing(predictor, sweep, top, progress)
    title = f"Probable facts that are not known, context {predictor.context}"
    show_table(missing_table(probable, title + predictor.dataset.addition), out, json)
