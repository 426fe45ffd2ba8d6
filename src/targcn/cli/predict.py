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
    from collections.abc import Callable

    from targcn.inference.answers import Answers
    from targcn.inference.predictor import Predictor


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
        queries: A table of questions: subject, relation, object, time; what is asked is ? or empty;
            - for standard input.
        on_error: Whether a question of a table that cannot be asked is skipped, with the reason in
            its row, or stops the command.
        out: A new file to write the answers to: .csv, .jsonl or .parquet.
    """
    if queries is not None:
        given_too = {"a question in words": subject, "--explain": explain}
        if unwanted := [option for option, value in given_too.items() if value]:
            raise InputError(f"--queries answers a table; leave out {' and '.join(unwanted)}")
    elif relation is None or time is None:
        raise InputError("a question has four parts: SUBJECT RELATION OBJECT TIME; one may be ?")
    if (without or given) and (explain or hide_known):
        option = "--explain" if explain else "--hide-known"
        raise InputError(f"{option} is about the context as it is; leave out --with and --without")
    require_at_least(1, top=top)
    predictor = load_predictor(run, context, facts)
    dataset = predictor.dataset
    ask: Callable[..., Answers] = partial(predictor.answer, top=top, hide_known=hide_known)
    if without or given:
        from targcn.inference.what_if import ask_what_if, parse_fact

        gone, new = (list(map(parse_fact, facts_in_words)) for facts_in_words in (without, given))
        ask = partial(ask_what_if, predictor, without=gone, given=new, top=top)
    if queries is not None:
        _answer_table(predictor, ask, queries, on_error, out, json)
        return
    import targcn.inference.answer_table as tables
    from targcn.inference.explanation import in_words
    from targcn.inference.questions import Question, as_written, encode

    question = Question(subject, relation, object, time)
    understood, below = as_written(question, dataset), list[str]()
    content = {
        "question": asdict(understood),
        "context": predictor.context + dataset.addition,
        "num_entities": len(dataset.entities),
    }
    asked = encode([question], dataset)
    if question.asked == "time" and not (without or given):
        num_times = len(dataset.timeline.ticks)
        every = predictor.answer(asked, top=num_times, hide_known=hide_known)
        answers: Answers = every[:top]
        below.append(tables.curve_over_time(predictor, every))
        if (interval := tables.interval_over_time(predictor, question, every)) is not None:
            below.append(str(interval))
            content["interval"] = asdict(interval)
    else:
        answers = ask(asked)
    if dataset.additions:
        content["new_entities"] = tables.new_among(predictor, question, answers.names(dataset))
    # Of a complete fact the reasons are shown if the model gives any.
    wanted = predictor.gives_reasons if question.asked == "fact" else explain
    if wanted and len(answers):
        place = "object" if question.asked == "fact" else question.asked
        best = answers.names(dataset)[0]
        explanation = tables.explain_answer(predictor, question, place, best)
        below.append("\n".join(in_words(explanation)))
        content["explanation"] = asdict(explanation)
    table = tables.answer_table(predictor, question, answers)
    if out is not None:
        import polars as pl

        from targcn.facts.export import write_frame

        frame = answers.to_frame(dataset)
        write_frame(tables.beside_questions(pl.DataFrame([understood]), frame), out)
    if json:
        content |= {"notes": table.notes, "answers": answers.rows(dataset)}
        show_json(content | ({"without": without, "with": given} if without or given else {}))
        return
    show(table)
    for text in below:
        show(f"\n{text}")


def _answer_table(
    predictor: "Predictor",
    ask: "Callable[..., Answers]",
    queries: str,
    on_error: Literal["skip", "stop"],
    out: Path | None,
    json: bool,
) -> None:
    from targcn.facts.sources.table_source import read_questions
    from targcn.inference.answer_table import answers_table, beside_questions, describe_forecast
    from targcn.inference.questions import Question, encode

    questions, dataset = read_questions(queries), predictor.dataset
    asked = encode([Question(*row) for row in questions.iter_rows()], dataset, on_error)
    with count_progress("answering", "questions") as progress:
        answers = ask(asked, progress=progress)
    if forecast := describe_forecast(dataset, asked.ticks):
        say(forecast)
    if asked.errors:
        of_all = f"{len(asked.errors):,} of {len(questions):,} questions"
        say(f"{of_all} were skipped; the column error says why")
    frame = beside_questions(questions, answers.to_frame(dataset, asked.errors or None))
    if out is not None:
        from targcn.facts.export import write_frame

        write_frame(frame, out)
    if json:
        show_json(frame.to_dicts())
    elif out is None:
        show(answers_table(answers, frame, ("question", *questions.columns)))
    else:
        show(
            f"{out}: {len(answers):,} answers to {len(questions):,} questions, "
            f"context {predictor.context}{dataset.addition}"
        )


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
