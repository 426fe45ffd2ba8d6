"""`targcn explain`: the facts behind an answer."""

from dataclasses import asdict
from typing import Literal

from targcn.cli.options import AsJson, Context, NewPicture, RunFolder, load_predictor
from targcn.output.terminal import show, show_json


def explain_answer(
    run: RunFolder,
    subject: str,
    relation: str,
    object: str,
    time: str,
    /,
    *,
    asked: Literal["object", "subject"] = "object",
    top: int = 10,
    context: Context = None,
    plot: NewPicture = None,
    json: AsJson = False,
) -> None:
    """Show the facts behind an answer, and the effect of each.

    A run of evidence: an answer's score is the sum of the effects. A piece of
    evidence is a fact of the given entity, a fact of the relation, whosever it
    is, a path of two facts, or a partner: what happened between the two at any
    time. The log of (1 + the weights × of all pieces) is shared out among them;
    the rest is the prior, what was learned about the names themselves.

    A run of targcn: the effect is the answer's probability with all facts, minus
    its probability without this one. A run of t-gap: the effect of a path of
    facts is its part of the answer's probability, and all paths add up to it. A
    fused run: an effect is that of leaving out a fact or piece of evidence on a
    member's probability, times its weight. All of these are before the run's
    temperature. Other models do not explain their answers.

    If the context holds the explained fact itself, it is hidden.

    Args:
        subject: The subject of the fact to explain.
        relation: Its relation.
        object: Its object.
        time: Its date.
        asked: Which of the two is the answer.
        top: How many facts or pieces of evidence to show.
        plot: Plot them on a time line into this new file: .png, .svg or .pdf (needs matplotlib).
    """
    from targcn.inference.explanation import in_words
    from targcn.inference.explanation import plot as plot_explanation

    found = load_predictor(run, context).explain(
        subject, relation, object, time, asked=asked, top=top
    )
    if plot is not None:
        plot_explanation(found, plot)
    if json:
        show_json(asdict(found))
    else:
        show("\n".join(in_words(found)))
