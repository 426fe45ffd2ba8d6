"""From the scores of all candidates to tables of answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor

from targcn.evaluation.ranking import count_rivals, require_numbers
from targcn.inference.questions import Ask, OnError
from targcn.models.base import NO_ENTITY, Shortlist

if TYPE_CHECKING:
    import polars as pl

# Which candidates are known: the row of a question, and a candidate.
Cells = tuple[Tensor, Tensor]
FIGURES: Final = ("rank", "tied", "answer", "score", "probability", "known")


@dataclass(frozen=True, eq=False)
class Scores:
    """One row per question, one column per candidate: an entity, a relation or a time."""

    values: Tensor
    # None if scores do not stand for probabilities.
    log_probabilities: Tensor | None
    # The candidates that are known to be true at the time that is asked about, and at any time.
    known_then: Cells
    known_ever: Cells

    def without(self, hidden: Cells) -> "Scores":
        """The scores with some candidates below all others, and without a probability."""
        nothing = self.values.new_tensor(-torch.inf)
        logs = self.log_probabilities
        if logs is not None:
            logs = logs.index_put(hidden, nothing.to(logs.dtype)).log_softmax(dim=1)
        values = self.values.index_put(hidden, nothing)
        return replace(self, values=values, log_probabilities=logs)


def best_answers(scores: Scores, top: int, hide_known: bool) -> dict[str, Any]:
    """The best candidates of each row as columns; `row` and `candidate` say which they are."""
    require_numbers(scores.values)
    scores = scores.without(scores.known_then) if hide_known else scores
    values = scores.values
    best = torch.topk(values, min(top, values.shape[1]), dim=1)
    above, level = _count_ties(best.values, values)
    rows = torch.arange(len(values), device=values.device).repeat_interleave(best.values.shape[1])
    return _columns(scores, rows, best.indices.flatten(), above.flatten() + 1, level.flatten())


def best_of_shortlist(
    likely: Shortlist,
    temperature: float | None,
    known: tuple[Cells, Cells],
    width: int,
    top: int,
    hide_known: bool,
) -> dict[str, Any]:
    """`best_answers` where not every entity was scored; `width` is the number of entities.

    Probabilities are estimated. Ties are counted among the entities that were scored.
    """
    require_numbers(likely.scores.masked_fill(likely.scores == -torch.inf, 0))
    rows = torch.arange(len(likely.entities), device=likely.entities.device)
    cells = rows[:, None] * width + likely.entities
    is_named = likely.entities != NO_ENTITY
    values = likely.scores
    if hide_known:
        of_rows, answers = known[0]
        is_known = torch.isin(cells, of_rows * width + answers)
        values = values.masked_fill(is_named & is_known, -torch.inf)
    named = values.masked_fill(~is_named, -torch.inf)
    best = torch.topk(named, min(top, named.shape[1]), dim=1)
    above, level = _count_ties(best.values, named)
    logs = values / (temperature or 1.0)
    logs = logs - (logs + likely.log_weights).logsumexp(dim=1, keepdim=True)
    # An answer for each of fewer named entities than were asked for.
    exists = best.values > -torch.inf
    cells, columns = cells.gather(1, best.indices)[exists], best.indices
    probabilities = logs.gather(1, columns)[exists].exp().double().cpu().numpy()
    then, ever = (torch.isin(cells, one * width + other).tolist() for one, other in known)
    pairs = zip(then, ever, strict=True)
    return {
        "row": rows[:, None].expand_as(columns)[exists].cpu(),
        "candidate": likely.entities.gather(1, columns)[exists].cpu(),
        "rank": (above + 1)[exists].cpu().numpy(),
        "tied": level[exists].cpu().numpy(),
        "score": best.values[exists].double().cpu().numpy(),
        "probability": None if temperature is None else probabilities,
        "known": [_say_known(now, at_all) for now, at_all in pairs],
    }


def given_answers(scores: Scores, targets: Tensor, hide_known: bool) -> dict[str, Any]:
    """One candidate of each row, the target, among all others, or among those not known."""
    if hide_known:
        rows, known = scores.known_then
        others = known != targets[rows]
        scores = scores.without((rows[others], known[others]))
    values = scores.values
    above, level = count_rivals(values, values.gather(1, targets[:, None]))
    rows = torch.arange(len(targets), device=targets.device)
    return _columns(scores, rows, targets, above + 1, level + 1)


def answer_frame(
    columns: dict[str, Any], numbers: Tensor, asked: Ask, names: Sequence[str]
) -> "pl.DataFrame":
    """The answers in words, under the numbers of their questions."""
    import polars as pl

    rows, candidates = columns.pop("row"), columns.pop("candidate")
    frame = pl.DataFrame(
        {
            "question": numbers[rows].numpy(),
            "asked": [asked] * len(rows),
            "answer": [names[candidate] for candidate in candidates.tolist()],
            **columns,
        },
        schema_overrides={"probability": pl.Float64, "asked": pl.String, "answer": pl.String},
    )
    return frame.select("question", "asked", *FIGURES)


def errors_last(answers: "pl.DataFrame", on_error: OnError) -> "pl.DataFrame":
    """The answers, with a column of errors only if questions may be skipped."""
    columns = [name for name in answers.columns if name != "error"]
    return answers.select(*columns, *(["error"] if on_error == "skip" else []))


def _columns(
    scores: Scores, rows: Tensor, candidates: Tensor, ranks: Tensor, tied: Tensor
) -> dict[str, Any]:
    logs = scores.log_probabilities
    probabilities = None if logs is None else logs[rows, candidates].exp().double().cpu().numpy()
    return {
        "row": rows.cpu(),
        "candidate": candidates.cpu(),
        "rank": ranks.cpu().numpy(),
        "tied": tied.cpu().numpy(),
        "score": scores.values[rows, candidates].double().cpu().numpy(),
        "probability": probabilities,
        "known": when_known(scores, rows, candidates),
    }


def when_known(scores: Scores, rows: Tensor, candidates: Tensor) -> list[str]:
    """Whether each answer is known to be true: then, at another time, or not at all."""
    width = scores.values.shape[1]
    cells = rows * width + candidates
    then, ever = (
        torch.isin(cells, of_rows * width + known).tolist()
        for of_rows, known in (scores.known_then, scores.known_ever)
    )
    pairs = zip(then, ever, strict=True)
    return [_say_known(now, at_all) for now, at_all in pairs]


def _say_known(now: bool, at_all: bool) -> str:
    return "then" if now else "at another time" if at_all else "no"


def _count_ties(best: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """For the best scores of each row, descending: how many are above each, how many equal it."""
    ascending = -best
    above = torch.searchsorted(ascending, ascending)
    level = torch.searchsorted(ascending, ascending, right=True) - above
    # Only the last of the best can be level with scores that are not among them.
    last = best[:, -1:]
    return above, torch.where(best == last, (scores == last).sum(1, keepdim=True), level)
