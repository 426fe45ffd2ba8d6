"""`targcn missing`: the most probable facts that are not known."""

from targcn.cli.options import (
    AsJson,
    Context,
    Device,
    NewerFacts,
    NewTable,
    RunFolder,
    load_predictor,
    show_table,
)
from targcn.config import require_at_least
from targcn.output.terminal import count_progress, say


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
    asking = what_to_ask(predictor, time, relation, entity)
    say(f"asking {asking}")
    with count_progress("asking", "queries") as progress:
        found = find_missing(predictor, asking, top, progress)
    title = f"Probable facts that are not known, context {predictor.context}"
    show_table(missing_table(found, title + predictor.dataset.addition), out, json)
