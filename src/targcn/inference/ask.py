"""Ask a run in one call; a `Predictor` is for asking it again and again."""

from pathlib import Path
from typing import TYPE_CHECKING

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context
from targcn.inference.explanation import End, Explanation
from targcn.inference.predictor import Predictor
from targcn.inference.questions import OnError, Time
from targcn.output.terminal import count_progress
from targcn.runs.run import Run

if TYPE_CHECKING:
    import polars as pl


def predict(
    run: Run | Predictor | Path | str,
    subject: str | None,
    relation: str | None,
    object: str | None,
    time: Time | None,
    *,
    top: int = 10,
    hide_known: bool = False,
    context: Context | None = None,
) -> "pl.DataFrame":
    """What best fills the open place of a question, best first; or how good a complete fact is.

    The open place may be the subject, the object, the relation or the time. A complete fact gives
    two rows: its object as the answer to its subject, and its subject as the answer to its object;
    the fact itself is hidden from the context. Any date will do. The context is every known fact,
    or the past of each question if the run was trained with `past_only`, unless another is given.
    To ask a run more than once, make a Predictor of it; it can also use a GPU.

    `rank` is 1 plus the number of candidates with a higher score, `tied` the number of those with
    this very score, shown or not, in an order that means nothing. `probability` is described in
    docs/questions.md; models that are not trained with cross-entropy have none. `true` is the
    probability that the fact is true, where a judge is kept or a complete fact is asked about
    (docs/truth.md). `known` is "then" if some split holds the answer at this time, "at another
    time" if only at others; `hide_known` leaves out those of the first kind, from ranks and
    probabilities too.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> seat = "Illinois Senate seat, class 3"
    >>> targcn.predict(run, None, "holds Senate seat", seat, 2005, top=2, context="train+valid")
    shape: (2, 8)
    ┌─────────┬──────┬──────┬───────────────┬──────────┬─────────────┬──────┬─────────────────┐
    │ asked   ┆ rank ┆ tied ┆ answer        ┆ score    ┆ probability ┆ true ┆ known           │
    │ ---     ┆ ---  ┆ ---  ┆ ---           ┆ ---      ┆ ---         ┆ ---  ┆ ---             │
    │ str     ┆ i64  ┆ i64  ┆ str           ┆ f64      ┆ f64         ┆ f64  ┆ str             │
    ╞═════════╪══════╪══════╪═══════════════╪══════════╪═════════════╪══════╪═════════════════╡
    │ subject ┆ 1    ┆ 1    ┆ Roland Burris ┆ 1.363353 ┆ null        ┆ null ┆ at another time │
    │ subject ┆ 2    ┆ 1    ┆ Mark Kirk     ┆ 0.83085  ┆ null        ┆ null ┆ at another time │
    └─────────┴──────┴──────┴───────────────┴──────────┴─────────────┴──────┴─────────────────┘
    """
    predictor = predictor_of(run, context)
    return predictor.predict(subject, relation, object, time, top=top, hide_known=hide_known)


def predict_many(
    run: Run | Predictor | Path | str,
    questions: object,
    *,
    top: int = 10,
    hide_known: bool = False,
    on_error: OnError = "stop",
    context: Context | None = None,
    progress: Progress | None = None,
) -> "pl.DataFrame":
    """The answers to many questions, as `predict` gives them; `question` counts them from 1.

    Questions are a list of tuples (subject, relation, object, time) with None for what is asked, or
    of `Question`, or a frame or file with these columns. One that cannot be asked is an InputError;
    or it is skipped, and has one row with nothing but the reason, in the column `error`. Complete
    facts are hidden from the context together.
    """
    predictor = predictor_of(run, context)
    with count_progress("answering", "questions", progress) as shown:
        return predictor.predict_many(
            questions, top=top, hide_known=hide_known, on_error=on_error, progress=shown
        )


def explain(
    run: Run | Predictor | Path | str,
    subject: str,
    relation: str,
    object: str,
    time: Time,
    *,
    asked: End = "object",
    top: int = 10,
    context: Context | None = None,
) -> Explanation:
    """The facts behind the answer `object`, or `subject` if that is asked, strongest first.

    A run of evidence: the effect of a piece of evidence is its part of the answer's score; with
    what is not shown and the prior, in `others`, the effects add up to it. A run of targcn: the
    effect of a fact is the answer's probability with all facts, minus its probability without this
    one. A run of t-gap: the effect of a path is its part of the answer's probability. If the
    context holds the explained fact itself, it is hidden.
    """
    predictor = predictor_of(run, context)
    return predictor.explain(subject, relation, object, time, asked=asked, top=top)


def predictor_of(run: Run | Predictor | Path | str, context: Context | None) -> Predictor:
    """The predictor itself, or one for a single call, for which a GPU would not pay."""
    if not isinstance(run, Predictor):
        return Predictor(run, context, "cpu")
    if context not in (None, run.context):
        raise InputError(
            f"this predictor has the context {run.context}, not {context}; make another one"
        )
    return run
