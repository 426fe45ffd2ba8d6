"""Explanations: an answer and the facts behind it, as values, in words and as a plot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from torch import Tensor

from targcn.evaluation.filters import Filter
from targcn.evaluation.ranking import Ties
from targcn.facts.dataset import NO_FACTS, OPEN, Context, Dataset, Facts
from targcn.models.reasons import NO_FACT, Measure, Part, Reasons
from targcn.output.plots import Lane, plot_lanes, require_picture
from targcn.output.tables import Shown, Table

End = Literal["object", "subject"]
ENDS: Final[tuple[End, ...]] = ("object", "subject")
# What the rank of an explained answer is under.
RANK_FILTER: Final[Filter] = "time-aware"
RANK_TIES: Final[Ties] = "mean"


@dataclass(frozen=True)
class DatedFact:
    """A fact in words."""

    subject: str
    relation: str
    object: str
    # Of the times at which it holds the one nearest to the question's, and its tick.
    time: str
    tick: int
    # Ticks from the question to the fact, 0 while it holds; negative if the fact is earlier.
    delta: int
    # Its time, or its interval if it holds for more than one tick.
    when: str
    lasts: bool = False


@dataclass(frozen=True)
class Reason:
    """A piece of evidence that was used for an answer, and its effect."""

    # One fact of the given entity, or those of a path from there to the answer.
    facts: tuple[DatedFact, ...]
    effect: float
    # What it adds to a sum that is 1 without evidence, and its share of what all evidence adds.
    weight: float | None = None
    share: float | None = None

    @property
    def kind(self) -> Literal["fact", "path"]:
        return "fact" if len(self.facts) == 1 else "path"


@dataclass(frozen=True)
class ScorePart:
    """A part of a score besides the reasons: the other pieces of evidence, or the prior."""

    name: str
    effect: float
    weight: float | None = None
    share: float | None = None


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """An answer, its score, probability and rank, and the evidence for it, strongest first.

    An effect is a part of the score or of the probability, and with `others` the effects add up to
    it; or it is what leaving the fact out would change, and such effects do not add up.
    """

    subject: str
    relation: str
    object: str
    time: str
    tick: int
    # Which of the two is the answer.
    asked: End
    # The context, and how many facts were added to it.
    context: str
    unit: str
    score: float
    # None if the model's scores do not stand for probabilities.
    probability: float | None
    rank: float
    # Whether the context holds the explained fact itself, which was then hidden.
    fact_was_hidden: bool
    # How many pieces of evidence were used; the reasons may be only the strongest of them.
    num_pieces: int
    reasons: tuple[Reason, ...]
    measure: Measure = "change of probability"
    others: tuple[ScorePart, ...] = ()
    # For a fused run: the members, with what each says about the answer.
    parts: tuple[Part, ...] = ()
    filter: Filter = RANK_FILTER
    ties: Ties = RANK_TIES

    def as_table(self) -> Table:
        """The reasons and the other parts of the score; `in_words` has sentences."""
        rows = [
            (f"{reason.effect:+.4f}", describe_reason(reason, self.unit)) for reason in self.reasons
        ]
        rows += [(f"{part.effect:+.4f}", part.name) for part in self.others]
        return Table.of_text((self.measure, "reason"), rows, in_words(self)[0])


def name_reasons(
    reasons: Reasons, dataset: Dataset, tick: int, top: int, context: Context = "all"
) -> tuple[Reason, ...]:
    """The strongest reasons in words, for a question about this tick, from the facts of a context.

    Where facts hold over intervals, models know only their moments nearest to the tick.
    """
    known = dataset.context(context) if dataset.has_intervals else NO_FACTS
    total = float(reasons.effects.sum())
    named = []
    for row in _strongest_first(reasons)[:top].tolist():
        effect, weight, share = float(reasons.effects[row]), None, None
        if reasons.measure != "change of probability":
            share = effect / total
        if reasons.weights is not None:
            weight = float(reasons.weights[row])
        columns = [column[row].tolist() for column in reasons.tensors()[:4]]
        facts = [fact for fact in zip(*columns, strict=True) if fact[1] != NO_FACT]
        dated = tuple(_name(fact, dataset, tick, known) for fact in facts)
        named.append(Reason(dated, effect, weight, share))
    return tuple(named)


def name_others(reasons: Reasons, top: int) -> tuple[ScorePart, ...]:
    """What the score has besides the strongest reasons, if reasons are parts of it."""
    if reasons.measure == "change of probability":
        return ()
    parts = [ScorePart(name, effect) for name, effect in reasons.others]
    rest = _strongest_first(reasons)[top:]
    if len(rest):
        effect = float(reasons.effects[rest].sum())
        weight = None if reasons.weights is None else float(reasons.weights[rest].sum())
        share = effect / float(reasons.effects.sum())
        name = _count_pieces(len(rest), reasons.measure, "more ")
        parts.insert(0, ScorePart(name, effect, weight, share))
    return tuple(parts)


def in_words(explanation: Explanation) -> list[str]:
    """The explanation as sentences: first about the answer, then one per piece of evidence."""
    measure = explanation.measure
    value = f"score {explanation.score:.4g}"
    if explanation.probability is not None:
        value = f"probability {explanation.probability:.3f}"
    rank = f"{explanation.rank:,.1f}".removesuffix(".0")
    number = explanation.num_pieces
    lines = [
        f"{explanation.subject} — {explanation.relation} — {explanation.object}, "
        f"{explanation.time}: {value}, rank {rank} ({explanation.filter} filter, "
        f"{explanation.ties} rank on ties), from {_count_pieces(number, measure)} of the context "
        f"{explanation.context}"
    ]
    if explanation.fact_was_hidden:
        lines.append("The fact itself is in the context and was hidden.")
    for part in explanation.parts:
        said = f"gives the probability {part.probability:.3f}, its weight is {part.weight:.3g}"
        lines.append(f"The member {part.name} {said}.")
    if number == 0:
        lines.append(f"Nothing in the context speaks for {_WITHOUT_PIECES[measure]}.")
    if measure == "part of score":
        lines.append(
            f"Its score {explanation.score:.4f} is the sum of these parts; beside each piece of "
            "evidence its share of all evidence, and what it adds to a sum that is 1 without any:"
        )
    elif measure == "part of probability" and number:
        lines.append("Its probability is the sum of these parts; beside each path its share:")
    for reason in explanation.reasons:
        facts = describe_reason(reason, explanation.unit)
        if measure == "change of probability":
            lines.append(f"{reason.effect:+.4f}  {facts}")
        else:
            lines.append(f"{_figures(reason)}{reason.kind}  {facts}")
    lines += [_figures(part) + part.name for part in explanation.others]
    return lines


def describe_reason(reason: Reason, unit: str | None = None) -> str:
    """The facts of a reason in words; with a unit, how far each is from the asked time, too."""
    return ", then ".join(_in_words(fact, unit) for fact in reason.facts)


def plot(explanation: Explanation, path: Path | str) -> None:
    """Plot the reasons on a time line, one lane each, and a bar for each effect."""
    path = Path(path)
    require_picture(path)
    plot_lanes(
        lanes_of(explanation),
        path,
        title=f"{explanation.subject} — {explanation.relation} — {explanation.object}",
        across=f"{explanation.unit}s from {explanation.time}",
        measure=explanation.measure,
    )


def lanes_of(explanation: Explanation) -> list[Lane]:
    """A lane for each reason, and for each other part of the score."""
    lanes = []
    for reason in explanation.reasons:
        label = "\n".join(
            f"{fact.subject} — {fact.relation} — {fact.object}" for fact in reason.facts
        )
        lanes.append(Lane(label, [fact.delta for fact in reason.facts], reason.effect))
    return lanes + [Lane(part.name, (), part.effect) for part in explanation.others]


def _strongest_first(reasons: Reasons) -> Tensor:
    return reasons.effects.abs().argsort(descending=True, stable=True)


def _name(fact: tuple[int, ...], dataset: Dataset, tick: int, known: Facts) -> DatedFact:
    """A fact in words, seen from a tick."""
    subject, relation, object_, time = fact
    entities, relations = dataset.entities.names, dataset.relations.names
    said = entities[subject], relations[relation], entities[object_]
    first, last = _find_interval(known, fact, tick)
    when = dataset.timeline.label_interval(first, last)
    at = dataset.timeline.label(time), time, time - tick
    return DatedFact(*said, *at, when, first != last or first == OPEN)


def _find_interval(known: Facts, fact: tuple[int, ...], tick: int) -> tuple[int, int]:
    """The first and last tick of a fact whose moment nearest to a tick is given as its time.

    A fact that is not known, such as one of a what-if question, has that time alone.
    """
    said = (known.columns[:3] == np.array(fact[:3])[:, None]).all(0)
    said &= np.clip(tick, known.times, known.ends) == fact[3]
    if not known.has_intervals or not said.any():
        return fact[3], fact[3]
    first, last = known.columns[3:, said.argmax()].tolist()
    return first, last


def _in_words(fact: DatedFact, unit: str | None) -> str:
    named = f"{fact.subject} — {fact.relation} — {fact.object}, "
    if unit is None:
        return f"{named}{fact.when}"
    plural = "" if abs(fact.delta) == 1 else "s"
    when = f"{abs(fact.delta):,} {unit}{plural} {'before' if fact.delta < 0 else 'after'}"
    if fact.lasts:
        when = f"{'ended' if fact.delta < 0 else 'begins'} {when}" if fact.delta else "holds"
    return f"{named}{fact.when} ({when if fact.delta or fact.lasts else 'at that time'})"


def _figures(part: Reason | ScorePart) -> str:
    """The effect, the share and the weight, as far as there are any, in columns."""
    figures = f"{part.effect:+8.4f}  "
    if part.share is not None:
        figures += f"{100 * part.share:5.1f} %  "
    if part.weight is not None:
        figures += f"{multiple(part.weight):>12}  "
    return figures


def multiple(weight: float) -> str:
    """A weight as a multiple of the sum without evidence.

    >>> multiple(14.32), multiple(0.001234), multiple(12345.6)
    ('× 14.3', '× 0.00123', '× 12,346')
    """
    return f"× {weight:,.0f}" if weight >= 1000 else f"× {weight:.3g}"


def _count_pieces(number: int, measure: Measure, more: str = "") -> str:
    plural = "" if number == 1 else "s"
    return f"{number:,} {more}" + _PIECES[measure].format(plural)


_PIECES: Final[dict[Measure, str]] = {
    "change of probability": "fact{}",
    "part of score": "piece{} of evidence",
    "part of probability": "path{}",
}
# What is said of an answer that rests on none of them.
_WITHOUT_PIECES: Final[dict[Measure, str]] = {
    "change of probability": "any answer; this one rests on the learned weights alone",
    "part of score": "this answer; it rests on the prior alone",
    "part of probability": "this answer; no path of the flow leads to it",
}
