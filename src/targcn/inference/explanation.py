"""Explanations: an answer and the facts behind it, as values, in words and as a plot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from targcn.evaluation.filters import Filter
from targcn.evaluation.ranking import Ties
from targcn.facts.dataset import Dataset
from targcn.models.base import Part, Reasons
from targcn.output.plots import new_figure, require_picture, save_picture

Asked = Literal["object", "subject"]
ASKED: Final[tuple[Asked, ...]] = ("object", "subject")
# What the rank of an explained answer is under.
FILTER: Final[Filter] = "time-aware"
TIES: Final[Ties] = "mean"


@dataclass(frozen=True)
class Reason:
    """A fact that was used for an answer, and its effect."""

    subject: str
    relation: str
    object: str
    time: str
    # Ticks from the question to the fact; negative if the fact is earlier.
    delta: int
    # The answer's probability with all facts, minus its probability without this one.
    effect: float


@dataclass(frozen=True)
class Explanation:
    """An answer, its score, probability and rank, and the facts behind it, strongest first."""

    subject: str
    relation: str
    object: str
    time: str
    # Which of the two is the answer.
    asked: Asked
    # The context, and how many facts were added to it.
    context: str
    unit: str
    score: float
    # None if the model's scores do not stand for probabilities.
    probability: float | None
    rank: float
    # Whether the context holds the explained fact itself, which was then hidden.
    fact_was_hidden: bool
    # How many facts were used; the reasons may be only the strongest of them.
    num_facts: int
    reasons: tuple[Reason, ...]
    # For a fused run: the members, with what each says about the answer.
    parts: tuple[Part, ...] = ()
    filter: Filter = FILTER
    ties: Ties = TIES


def name_reasons(reasons: Reasons, dataset: Dataset, tick: int, top: int) -> tuple[Reason, ...]:
    """The strongest reasons in words, for a question about this tick."""
    entities, relations = dataset.entities.names, dataset.relations.names
    named = []
    for row in reasons.effects.abs().argsort(descending=True, stable=True)[:top].tolist():
        subject, relation, object_, time = (int(one[row]) for one in reasons.tensors()[:4])
        fact = entities[subject], relations[relation], entities[object_]
        label, effect = dataset.timeline.label(time), float(reasons.effects[row])
        named.append(Reason(*fact, label, time - tick, effect))
    return tuple(named)


def in_words(explanation: Explanation) -> list[str]:
    """The explanation as sentences: first about the answer, then one per fact behind it."""
    value = f"score {explanation.score:.4g}"
    if explanation.probability is not None:
        value = f"probability {explanation.probability:.3f}"
    rank = f"{explanation.rank:,.1f}".removesuffix(".0")
    facts = "1 fact" if explanation.num_facts == 1 else f"{explanation.num_facts} facts"
    lines = [
        f"{explanation.subject} — {explanation.relation} — {explanation.object}, "
        f"{explanation.time}: {value}, rank {rank} ({explanation.filter} filter, "
        f"{explanation.ties} rank on ties), from {facts} of the context {explanation.context}"
    ]
    if explanation.fact_was_hidden:
        lines.append("The fact itself is in the context and was hidden.")
    for part in explanation.parts:
        said = f"gives the probability {part.probability:.3f}, its weight is {part.weight:.3g}"
        lines.append(f"The member {part.name} {said}.")
    if explanation.num_facts == 0:
        why = "this one rests on the learned weights alone"
        lines.append(f"Nothing in the context speaks for any answer; {why}.")
    for reason in explanation.reasons:
        unit = explanation.unit + ("" if abs(reason.delta) == 1 else "s")
        when = f"{abs(reason.delta):,} {unit} {'before' if reason.delta < 0 else 'after'}"
        lines.append(
            f"{reason.effect:+.4f}  {reason.subject} — {reason.relation} — {reason.object}, "
            f"{reason.time} ({when if reason.delta else 'at that time'})"
        )
    return lines


def plot(explanation: Explanation, path: Path | str) -> None:
    """Plot the reasons on a time axis: those for the answer above it, those against it below."""
    path = Path(path)
    require_picture(path)
    figure = new_figure()
    axes: Any = figure.add_subplot()
    for reason in explanation.reasons:
        color = "#1b7837" if reason.effect >= 0 else "#b2182b"
        axes.vlines(reason.delta, 0, reason.effect, colors=color, linewidth=2)
        axes.scatter(reason.delta, reason.effect, c=color, zorder=3)
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes.axvline(0, color="0.5", linewidth=0.8, linestyle=":")
    for reason in explanation.reasons[:6]:
        axes.annotate(
            f"{reason.subject}\n{reason.relation}\n{reason.object}",
            (reason.delta, reason.effect),
            xytext=(0, 6 if reason.effect >= 0 else -6),
            textcoords="offset points",
            fontsize=6,
            ha="center",
            va="bottom" if reason.effect >= 0 else "top",
            parse_math=False,
        )
    axes.margins(x=0.12, y=0.25)
    axes.set_xlabel(f"{explanation.unit}s from {explanation.time}", parse_math=False)
    axes.set_ylabel("effect on the probability")
    title = f"{explanation.subject} — {explanation.relation} — {explanation.object}"
    axes.set_title(title, parse_math=False)
    save_picture(figure, path)
