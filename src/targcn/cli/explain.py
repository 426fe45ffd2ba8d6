"""`targcn explain`: the facts behind an answer."""

from dataclasses import asdict
from typing import Literal

from targcn.cli import options
from targcn.cli.options import load_folder, load_predictor, show_table
from targcn.output.terminal import show, show_json


def explain_answer(
    run: options.RunFolder,
    subject: str,
    relation: str,
    object: str,
    time: str,
    /,
    *,
    asked: Literal["object", "subject"] = "object",
    top: int = 10,
    context: options.Context = None,
    plot: options.NewPicture = None,
    json: options.AsJson = False,
) -> None:
    """Show the facts behind an answer, and the effect of each.

    A run of evidence: the effects are parts of the answer's score, and add up to
    it. A run of t-gap: they are parts of its probability. A run of targcn, or a
    fused one: what leaving the fact out would take from the probability. Other
    models do not explain their answers.

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

    explanation = load_predictor(run, context).explain(
        subject, relation, object, time, asked=asked, top=top
    )
    if plot is not None:
        plot_explanation(explanation, plot)
    if json:
        show_json(asdict(explanation))
    else:
        show("\n".join(in_words(explanation)))


def list_rules(
    run: options.RunFolder,
    /,
    *,
    relation: str | None = None,
    top: int = 20,
    out: options.NewTable = None,
    json: options.AsJson = False,
) -> None:
    """Show what a run of evidence has learned about facts that speak for an answer.

    "A ← B, 1 day before: × 14, seen 312 times": where A is asked for, a fact B one
    day before speaks for its answer and adds 14 to a sum that is 1 without
    evidence. "B, then C" is a path of two facts.

    First come the rules that gave most to true answers: seen × log(1 + weight).
    Rules that were never seen are left out.

    Args:
        relation: Only the rules for questions about this relation, in both directions.
        top: How many rules to show.
    """
    from targcn.inference.rules import rules, rules_table

    listed = rules(load_folder(run), relation=relation, top=top)
    show_table(rules_table(listed), out, json)
