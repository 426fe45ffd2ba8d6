"""What a model has learned, as sentences: which evidence speaks for an answer, and how much."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Dataset
from targcn.graph.queries import queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.explanation import End, multiple
from targcn.models.layers.buckets import ENDLESS
from targcn.models.reasons import NO_FACT, Rules
from targcn.output.tables import Column, Table
from targcn.output.terminal import count_progress
from targcn.runs.run import Run
from targcn.runs.store import open_run

# What a relation is marked with where it is read from its object to its subject.
BACKWARD: Final = "⁻¹"
NOTE: Final = (
    f"A relation is read from its subject to its object, and with {BACKWARD} back. The weight is "
    "what one such piece of evidence adds to a sum that is 1 without any; seen: how often one "
    "ended in the true answer to a query of train."
)


@dataclass(frozen=True)
class Clause:
    """One fact of a rule: its relation, and when it is."""

    relation: str
    # Whether it is read from its object to its subject.
    backward: bool
    # From how many ticks after the query to how many, negative if before. None: however many.
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Rule:
    """Evidence of this class speaks with this weight for an answer to queries of a relation."""

    relation: str
    # Which end of the relation the answer is.
    asked: End
    # What leads from the given entity to the answer: the two facts of a path, or one.
    evidence: tuple[Clause, ...]
    # What such a piece of evidence adds to a sum that is 1 without any.
    weight: float
    # How often such a piece ended in the true answer to a query of train.
    support: int
    unit: str
    # Whether facts hold over intervals.
    lasting: bool = False

    def __str__(self) -> str:
        asked = self.relation + BACKWARD * (self.asked == "subject")
        return f"{asked} ← {', then '.join(self._in_words(clause) for clause in self.evidence)}"

    def _in_words(self, clause: Clause) -> str:
        name = clause.relation + BACKWARD * clause.backward
        when = _while if self.lasting else _when
        return f"{name}, {when(clause.first, clause.last, self.unit)}"


def rules(
    run: Run | Path | str,
    *,
    relation: str | None = None,
    top: int = 20,
    progress: Progress | None = None,
) -> tuple[Rule, ...]:
    """What a run of evidence has learned, or only about queries of one relation.

    First come the rules that gave most to true answers: support · log(1 + weight). The weights are
    read from the model's tables. The support is counted in all queries of train, whose own facts
    are hidden; a rule that was never seen is left out.
    """
    require_at_least(1, top=top)
    loaded = open_run(run)
    dataset, model = loaded.dataset, loaded.model.to("cpu").eval()
    queries, answers = queries_of(dataset.train, len(dataset.relations))
    if relation is not None:
        wanted = queries.relations % len(dataset.relations) == dataset.relations.find(relation)
        queries, answers = queries[wanted], answers[wanted]
    context = TemporalGraph.of_context(dataset, "train", loaded.recipe.training.past_only)
    with count_progress("counting", "queries", progress) as shown:
        learned = model.rules(queries, answers, context, top, shown)
    if learned is None:
        raise InputError(
            f"{loaded.recipe.model} has learned no weights of kinds of facts that could be told as "
            "rules; give a run of evidence"
        )
    return name_rules(learned, dataset)


def name_rules(rules: Rules, dataset: Dataset) -> tuple[Rule, ...]:
    """The rules in words."""
    names, named = dataset.relations.names, []
    for row in zip(*(column.tolist() for column in rules.tensors()), strict=True):
        asked, relations, first, last, weight, support = row
        clauses = tuple(
            Clause(
                relation=names[relation % len(names)],
                backward=relation >= len(names),
                first=None if start == -ENDLESS else start,
                last=None if end == ENDLESS else end,
            )
            for relation, start, end in zip(relations, first, last, strict=True)
            if relation != NO_FACT
        )
        end: End = "subject" if asked >= len(names) else "object"
        about = names[asked % len(names)], end, clauses
        unit, lasting = dataset.timeline.unit, dataset.has_intervals
        named.append(Rule(*about, weight, support, unit, lasting))
    return tuple(named)


def rules_table(rules: Sequence[Rule]) -> Table:
    """A row per rule: a sentence for people, and all values for programs."""
    shown = (
        Column("rule", "rule"),
        Column("weight", "weight", lambda value: multiple(float(value or 0))),
        Column("support", "support", lambda value: f"seen {value:,} time{'s' * (value != 1)}"),
    )
    parts = [field.name for field in fields(Clause)]
    clauses = [f"{prefix}{part}" for prefix in ("first_", "second_") for part in parts]
    hidden = ("relation", "asked", *clauses, "unit")
    rows = []
    for rule in rules:
        row = {"rule": str(rule), **asdict(rule)}
        for prefix, clause in zip(("first_", "second_"), row.pop("evidence"), strict=False):
            row |= {f"{prefix}{key}": value for key, value in clause.items()}
        rows.append(row)
    columns = (*shown, *(Column(key, key, shown=False) for key in hidden))
    return Table(columns, tuple(rows), notes=(NOTE,))


def _when(first: int | None, last: int | None, unit: str) -> str:
    """From when to when, in ticks after a query.

    >>> _when(-10, -8, "day"), _when(1, 1, "day"), _when(0, 0, "day"), _when(None, -1626, "day")
    ('8 to 10 days before', '1 day after', 'at the same time', 'over 1,625 days before')
    """
    if first == last == 0:
        return "at the same time"
    if first is not None and first >= 0:
        least, most, side = first, last, "after"
    else:
        least, most, side = -(last or 0), None if first is None else -first, "before"
    return f"{_range(least, most)} {unit}{'' if most == 1 else 's'} {side}"


def _while(first: int | None, last: int | None, unit: str) -> str:
    """The same for facts that hold over intervals.

    >>> _while(0, 0, "day"), _while(0, 2, "day")
    ('while it holds', 'while it holds, or begins 0 to 2 days after')
    >>> _while(-10, -8, "day"), _while(1, 1, "day")
    ('ended 8 to 10 days before', 'begins 1 day after')
    """
    if first == last == 0:
        return "while it holds"
    side = "begins" if first is not None and first >= 0 else "ended"
    return ("while it holds, or " if first == 0 else "") + f"{side} {_when(first, last, unit)}"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"over {least - 1:,}"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
