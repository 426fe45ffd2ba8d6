"""Which facts carried an answer: each is left out in turn, and the answer asked for again.

Takes a run and a whole fact; gives the facts its subject's neighbourhood was made of, each with
the change of the answer's probability that leaving it out makes. Exact. Next room: cli.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

import torch
from torch import Tensor

from targcn.checkpoint import Run
from targcn.drawing import new_figure, require_picture, save_picture
from targcn.errors import InputError
from targcn.evaluation import require_numbers, rows_at_once
from targcn.facts.dataset import Context
from targcn.models.contract import Queries
from targcn.prediction import Question, context_graph, encode, require_some
from targcn.sampling import Neighborhood

Asked = Literal["object", "subject"]
ASKED: Final[tuple[Asked, ...]] = ("object", "subject")


@dataclass(frozen=True)
class Reason:
    """A fact that was looked at, and what it did for the answer."""

    subject: str
    relation: str
    object: str
    time: str
    # Ticks from the question to the fact; negative: before.
    delta: int
    # The answer's probability with every fact, less the one without this fact.
    effect: float


@dataclass(frozen=True)
class Explanation:
    """An answer, its probability and rank, and the facts behind it, strongest first."""

    subject: str
    relation: str
    object: str
    time: str
    unit: str
    probability: float
    rank: int
    num_facts: int
    reasons: tuple[Reason, ...]


def explain(
    run: Run,
    subject: str,
    relation: str,
    object: str,
    time: str | int | date,
    *,
    context: Context = "train+valid",
    asked: Asked = "object",
    top: int = 10,
) -> Explanation:
    """Explain why a run gives this object to this subject (or, asked="subject", the reverse)."""
    if asked not in ASKED:
        raise InputError(f"asked {asked!r} is unknown; choose one of {', '.join(ASKED)}")
    require_some(top, "fact")
    model = run.model
    if not hasattr(model, "neighborhoods"):
        raise InputError(
            f"{run.model_name} does not draw on single facts that could be left out; explain "
            "a run of targcn"
        )
    dataset = run.dataset
    asks_subject = asked == "subject"
    question = Question(
        None if asks_subject else subject, relation, object if asks_subject else None, time
    )
    query = encode(run, [question])
    answer = dataset.entities.id_of(subject if asks_subject else object)
    model = model.to("cpu").eval()
    with torch.inference_mode():
        seen = model.neighborhoods(query, context_graph(run, context), seed=0)
        places = seen[0].filled[0].nonzero().flatten()
        scores = model.score(query, seen)
        require_numbers(scores)
        chance = _chances(scores, answer)
        effects = torch.cat(
            [
                chance - _chances(_scores_without_each(model, query, seen, left_out), answer)
                for left_out in places.split(_variants_at_once(model, seen, scores.shape[1]))
            ]
        )
    order = effects.abs().argsort(descending=True, stable=True)[:top]
    root = int(query.subjects[0])
    tick = int(query.times[0])
    reasons = []
    for position in order.tolist():
        place = places[position]
        delta = int(seen[0].deltas[0, place])
        other, incoming = int(seen[0].entities[0, place]), int(seen[0].relations[0, place])
        ends = (other, root) if incoming < len(dataset.relations) else (root, other)
        reasons.append(
            Reason(
                dataset.entities.names[ends[0]],
                dataset.relations.names[incoming % len(dataset.relations)],
                dataset.entities.names[ends[1]],
                dataset.timeline.label(tick + delta),
                delta,
                float(effects[position]),
            )
        )
    return Explanation(
        subject,
        relation,
        object,
        dataset.timeline.label(tick),
        dataset.timeline.unit,
        float(chance),
        int((scores[0] > scores[0, answer]).sum()) + 1,
        len(places),
        tuple(reasons),
    )


def _chances(scores: Tensor, answer: int) -> Tensor:
    return scores.log_softmax(1)[:, answer].exp().double()


def _scores_without_each(
    model: Any, query: Queries, seen: list[Neighborhood], places: Tensor
) -> Tensor:
    """The scores of one query, one row without the fact in each of these places."""
    rows = torch.zeros(len(places), dtype=torch.long)
    near, *far = (
        Neighborhood(*(column.repeat(len(places), 1) for column in step)) for step in seen
    )
    near.filled[torch.arange(len(places)), places] = False
    scores: Tensor = model.score(query[rows], [near, *far])
    return scores


def _variants_at_once(model: Any, seen: list[Neighborhood], num_entities: int) -> int:
    """How many neighbourhoods, each without one fact, memory comfortably holds."""
    num_places = sum(step.filled.numel() for step in seen)
    # An activation inside f needs the vector of every place.
    per_place = model.settings.size if model.settings.activation_inside else 1
    return rows_at_once(num_entities + per_place * num_places, torch.device("cpu"))


def in_words(explanation: Explanation) -> list[str]:
    """The explanation as sentences, the first about the answer."""
    lines = [
        f"{explanation.subject} — {explanation.relation} — {explanation.object}, "
        f"{explanation.time}: probability {explanation.probability:.3f}, rank {explanation.rank}, "
        f"from {explanation.num_facts} facts"
    ]
    for reason in explanation.reasons:
        unit = explanation.unit + ("" if abs(reason.delta) == 1 else "s")
        when = f"{abs(reason.delta):,} {unit} {'before' if reason.delta < 0 else 'after'}"
        lines.append(
            f"{reason.effect:+.4f}  {reason.subject} — {reason.relation} — {reason.object}, "
            f"{reason.time} ({when if reason.delta else 'at that time'})"
        )
    return lines


def plot(explanation: Explanation, path: Path | str) -> None:
    """Draw the reasons on a time axis, what speaks for the answer above, against it below."""
    path = Path(path)
    require_picture(path)
    figure = new_figure()
    axes: Any = figure.add_subplot()
    deltas: Sequence[int] = [reason.delta for reason in explanation.reasons]
    effects = [reason.effect for reason in explanation.reasons]
    colors = ["#1b7837" if effect >= 0 else "#b2182b" for effect in effects]
    axes.vlines(deltas, 0, effects, colors=colors, linewidth=2)
    axes.scatter(deltas, effects, c=colors, zorder=3)
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
    axes.set_ylabel("change of probability")
    title = f"{explanation.subject} — {explanation.relation} — {explanation.object}"
    axes.set_title(title, parse_math=False)
    save_picture(figure, path)
