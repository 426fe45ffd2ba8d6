"""`targcn predict`: the best answers to a question, or to a table of questions."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from targcn.cli import options
from targcn.cli.options import checked, load_predictor, open_source, show_table
from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.files import require_absent, require_ending
from targcn.output.terminal import count_progress, say, show, show_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from targcn.facts.dataset import Dataset
    from targcn.inference.answers import Answers
    from targcn.inference.predictor import Predictor


def _require_frame_file(path: Path) -> None:
    require_ending(path, ".csv", ".jsonl", ".parquet")


def predict_answers(
    run: options.RunFolder,
    subject: str | None = None,
    relation: str | None = None,
    object: str | None = None,
    time: str | None = None,
    /,
    *,
    top: int = 10,
    hide_known: bool = False,
    context: options.Context = None,
    facts: options.NewerFacts = None,
    without: tuple[str, ...] = (),
    given: Annotated[tuple[str, ...], Parameter(name="--with")] = (),
    explain: bool = False,
    queries: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    on_error: Literal["skip", "stop"] = "skip",
    out: Annotated[Path | None, checked(_require_frame_file, require_absent)] = None,
    json: options.AsJson = False,
) -> None:
    """Answer a question: a fact of which one part is '?', in quotes; or judge a complete fact.

    Who or whom: a '?' for the subject or the object. How are they related: for the
    relation. When: for the time and, where facts have a beginning and an end, an
    interval. Is it so: a complete fact, hidden from the context, as an answer to each
    of its entities.

    The rank of an answer is marked with = if others have the same score. The
    probability is the softmax over all entities; of a relation or a time it is the
    share among all of them (docs/questions.md).
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
    understood, above, below = as_written(question, dataset), list[str](), list[str]()
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
        if (interval := tables.interval_over_time(predictor, question, every)) is not None:
            below.append(str(interval))
            content["interval"] = asdict(interval)
    else:
        answers = ask(asked)
    if dataset.additions:
        content["new_entities"] = tables.new_among(predictor, question, answers)
    # Of a complete fact the reasons are shown if the model gives any.
    wanted = predictor.gives_reasons if question.asked == "fact" else explain
    if wanted and len(answers):
        place = "object" if question.asked == "fact" else question.asked
        best = answers.names(dataset)[0]
        explanation = tables.explain_answer(predictor, question, place, best)
        below.append("\n".join(in_words(explanation)))
        content["explanation"] = asdict(explanation)
    if question.asked == "fact" and not (without or given):
        verdict = predictor.judge(*asdict(question).values())
        above = [f"{verdict}.", *(f"  {sign}" for sign in verdict.signs)]
        content["verdict"] = asdict(verdict)
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
    for line in above:
        show(line)
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
    source: Annotated[
        str, Parameter(help="A run folder; or a data set: its name, folder or file, without a run.")
    ],
    /,
    *,
    time: str | None = None,
    relation: str | None = None,
    entity: str | None = None,
    top: int = 100,
    at_least: float = 0.1,
    presume: float = 0.1,
    without_mirrors: bool = False,
    gaps: options.HowFactsAreMissing = None,
    context: options.Context = None,
    facts: options.NewerFacts = None,
    out: options.NewTable = None,
    json: options.AsJson = False,
) -> None:
    """Find the facts that are probably true and not known, and what speaks for each.

    "True with" is the probability that the fact is true: of a hundred facts that
    are true with .9, some ninety are. It is judged by what the known facts hold
    around it; how surely depends on how many are presumed missing, and how (see
    docs/truth.md). A run says besides how probable its model finds the object, and
    the subject, among all entities, if there is one.

    Neighbouring times of one fact are one row.

    Args:
        time: Facts of this time only; any date will do.
        relation: Facts of this relation only.
        entity: Facts of this entity only, as subject or as object.
        top: How many facts to show.
        at_least: Leave out facts that are less probable than this.
        presume: The share of all facts that is presumed missing at most, in each way of --gaps.
        without_mirrors: Leave out facts that repeat a known one under another relation.
    """
    from targcn.inference.missing import MissingFilter, find_missing, missing_table
    from targcn.runs.store import is_run

    wanted = MissingFilter(
        time, relation, entity, top, at_least, presume, with_mirrors=not without_mirrors
    )
    asked: Predictor | Dataset
    if is_run(source):
        asked = load_predictor(Path(source), context, facts)
        dataset, seen = asked.dataset, asked.context
    elif facts is not None:
        raise InputError("--facts joins the context of a run; put them into the data set")
    else:
        asked = dataset = open_source(source, None)
        seen = context or "all"
    found, truth = find_missing(asked, wanted, gaps, context)
    title = f"{dataset.name}{dataset.addition}: probably true and not known, context {seen}"
    show_table(missing_table(found, truth, title, at_least), out, json)
