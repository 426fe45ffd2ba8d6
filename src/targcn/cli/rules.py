"""`targcn rules`: what a model has learned, in sentences."""

from targcn.cli.options import AsJson, NewTable, RunFolder, load_folder, show_table
from targcn.output.terminal import count_progress


def list_rules(
    run: RunFolder,
    /,
    *,
    relation: str | None = None,
    top: int = 20,
    out: NewTable = None,
    json: AsJson = False,
) -> None:
    """Show what a run of evidence has learned about facts that speak for an answer.

    "A ← B, 1 day before: × 14, seen 312 times": where A is asked for, a fact B one
    day before speaks for its answer and adds 14 to a sum that is 1 without
    evidence. A fact counts if it is the given entity's, or anybody's if the rule
    says so; "B, then C" is a path of two facts, "at 3 times" is about any time.
    A⁻¹ is A read from its object back to its subject. The weights are the model's
    own. Seen is how often such evidence ended in the true answer to a query of
    train, whose own fact is hidden.

    First come the rules that gave most to true answers: seen × log(1 + weight).
    Rules that were never seen are left out.

    Args:
        relation: Only the rules for questions about this relation, in both directions.
        top: How many rules to show.
    """
    from targcn.inference.rules import rules, rules_table

    loaded = load_folder(run)
    with count_progress("counting", "queries") as progress:
        found = rules(loaded, relation=relation, top=top, progress=progress)
    show_table(rules_table(found), out, json)
