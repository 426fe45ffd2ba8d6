"""Answers to questions as columns; frames, tables, the server and files are views of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Literal

import torch
from torch import Tensor

from targcn.evaluation.ranking import count_rivals, require_numbers
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.inference.questions import PLACES, name_finders
from targcn.models.base import NO_ENTITY, Shortlist

if TYPE_CHECKING:
    import polars as pl

# Whether some split holds an answer: at the time that is asked about, only at others, or not.
Known = Literal["no", "at another time", "then"]
KNOWN: Final[tuple[Known, ...]] = ("no", "at another time", "then")
THEN: Final = KNOWN.index("then")
# What a what-if does to an answer, by the sign of its coming in among the best.
CHANGE: Final = {1: "came in", 0: "", -1: "dropped out"}
# Which candidates are known: the row of a question, and a candidate.
Pairs = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Answers(Columns):
    """Answers, one per row; those to one question stand together, the best first."""

    # The numbers of the questions, which count from 1.
    questions: Tensor
    # Which place of the question each answer fills (PLACES), and its id, of a time its tick.
    places: Tensor
    ids: Tensor
    # 1 plus the candidates with a higher score, and the candidates with this very score.
    ranks: Tensor
    tied: Tensor
    scores: Tensor
    # NaN where scores do not stand for probabilities.
    probabilities: Tensor
    # Whether the answer is known to be true (KNOWN).
    known: Tensor
    # How probable it is that the fact with this answer is true; 1 if it is known to be, NaN where
    # that was not judged.
    truths: Tensor

    def __len__(self) -> int:
        return len(self.questions)

    @classmethod
    def of_all(cls, parts: Sequence["Answers"]) -> "Answers":
        """The answers of all parts, by the numbers of their questions."""
        columns = zip(*(part.tensors() for part in parts), strict=True)
        every = cls(*map(torch.cat, columns))
        return every[every.questions.argsort(stable=True)]

    @property
    def sides(self) -> dict[str, "Answers"]:
        """The answers by the endings of their columns; a what-if has two sides (Changes)."""
        return {"": self}

    def names(self, dataset: Dataset) -> list[str]:
        """What each answer is called."""
        name_of = name_finders(dataset)
        cells = zip(self.places.tolist(), self.ids.tolist(), strict=True)
        return [name_of[PLACES[place]](answer) for place, answer in cells]

    def cells(self, dataset: Dataset) -> dict[str, list[Any]]:
        """The answers in words, as the columns that people and programs get."""
        probabilities = self.probabilities.tolist()
        return {
            "asked": [PLACES[place] for place in self.places.tolist()],
            "rank": self.ranks.tolist(),
            "tied": self.tied.tolist(),
            "answer": self.names(dataset),
            "score": self.scores.tolist(),
            "probability": [None if math.isnan(value) else value for value in probabilities],
            "true": [None if math.isnan(value) else value for value in self.truths.tolist()],
            "known": [KNOWN[known] for known in self.known.tolist()],
        }

    def rows(self, dataset: Dataset, **same: object) -> list[dict[str, Any]]:
        """The answers in words, one by one, with what is the same for all of them."""
        cells = self.cells(dataset) | {name: repeat(value) for name, value in same.items()}
        return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=False)]

    def to_frame(self, dataset: Dataset, errors: Mapping[int, str] | None = None) -> "pl.DataFrame":
        """The answers in words; questions that were skipped may have a row that says why."""
        import polars as pl

        columns = {"question": self.questions.tolist()} | self.cells(dataset)
        kinds: dict[str, type[pl.DataType]] = dict.fromkeys(("question", "rank", "tied"), pl.Int64)
        kinds |= dict.fromkeys(("score", "probability", "true"), pl.Float64)
        schema = {name: kinds.get(name.partition("_")[0], pl.String) for name in columns}
        frame = pl.DataFrame(columns, schema)
        if errors is None:
            return frame
        schema = {"question": pl.Int64, "error": pl.String}
        skipped = pl.DataFrame(list(errors.items()), schema, orient="row")
        every = pl.concat([frame, skipped], how="diagonal")
        return every.sort("question", maintain_order=True)


@dataclass(frozen=True, eq=False)
class Changes(Answers):
    """The answers after a what-if, and the very same before it."""

    before: Answers
    # An answer that has this rank or a better one is among the best.
    top: int

    @property
    def sides(self) -> dict[str, Answers]:
        return {"_before": self.before, "_after": self}

    def cells(self, dataset: Dataset) -> dict[str, list[Any]]:
        """Every figure twice, and whether the answer came in among the best or dropped out."""
        figures, twice = ("rank", "tied", "score", "probability"), dict[str, list[Any]]()
        for ending, side in self.sides.items():
            cells = Answers.cells(side, dataset)
            twice |= {f"{name}{ending}": cells[name] for name in figures}
        came_in = (self.ranks <= self.top).int() - (self.before.ranks <= self.top).int()
        change = [CHANGE[sign] for sign in came_in.tolist()]
        return {"answer": cells["answer"], **twice, "known": cells["known"], "change": change}


@dataclass(frozen=True, eq=False)
class Scores:
    """One row per question, one column per candidate: an entity, a relation or a time.

    A model that scores only the likely entities has columns for these: ties are counted among them,
    and probabilities are estimated.
    """

    # The number of each question, and the place that it asks for.
    questions: Tensor
    places: Tensor
    num_candidates: int
    values: Tensor
    # None if scores do not stand for probabilities.
    log_probabilities: Tensor | None
    # The candidates that are known to be true at the time that is asked about, and at any time.
    known_then: Pairs
    known_ever: Pairs
    # The ids of candidates; without them, their numbers are their ids.
    ids: Tensor | None = None
    likely: Shortlist | None = None

    def without(self, hidden: Pairs) -> "Scores":
        """The scores with some candidates below all others, and without a probability."""
        if self.likely is not None:
            rows = torch.arange(len(self.values), device=self.values.device)
            is_hidden = torch.isin(
                self._keys(rows[:, None], self.likely.entities), self._keys(*hidden)
            )
            rows, columns = is_hidden.nonzero(as_tuple=True)
            hidden = rows, columns
        nothing = self.values.new_tensor(-torch.inf)
        logs = self.log_probabilities
        if logs is not None:
            logs = _normalized(logs.index_put(hidden, nothing.to(logs.dtype)), self.likely)
        values = self.values.index_put(hidden, nothing)
        return replace(self, values=values, log_probabilities=logs)

    def best(self, top: int, hide_known: bool) -> Answers:
        """The best candidates of each row; those that are known then may be left out."""
        require_numbers(self.values)
        scores = self.without(self.known_then) if hide_known else self
        best = torch.topk(scores.values, min(top, scores.values.shape[1]), dim=1)
        above, level = _count_ties(best.values, scores.values)
        rows = torch.arange(len(above), device=above.device).repeat_interleave(above.shape[1])
        columns = best.indices.flatten()
        answers = scores._answers(rows, columns, above.flatten() + 1, level.flatten())
        return answers[answers.known != THEN] if hide_known else answers

    def among(self, targets: Tensor, hide_known: bool) -> Answers:
        """One candidate of each row, the target, among all others, or among those not known."""
        rows = torch.arange(len(targets), device=targets.device)
        scores = self
        if hide_known:
            known_rows, known = self.known_then
            others = known != targets[known_rows]
            scores = self.without((known_rows[others], known[others]))
        return scores.at(rows, targets)

    def at(self, rows: Tensor, columns: Tensor) -> Answers:
        """Some cells, each among all candidates of its row."""
        values = self.values[rows]
        above, level = count_rivals(values, values.gather(1, columns[:, None]))
        return self._answers(rows, columns, above + 1, level + 1)

    def _answers(self, rows: Tensor, columns: Tensor, ranks: Tensor, tied: Tensor) -> Answers:
        values = self.values[rows, columns].double()
        logs = self.log_probabilities
        nothing = torch.full_like(values, torch.nan)
        numbers = columns if self.likely is None else self.likely.entities[rows, columns]
        keys = self._keys(rows, numbers)
        is_then, is_ever = (
            torch.isin(keys, self._keys(*known)) for known in (self.known_then, self.known_ever)
        )
        answers = Answers(
            self.questions[rows],
            self.places[rows],
            numbers if self.ids is None else self.ids[numbers],
            ranks,
            tied,
            values,
            nothing if logs is None else logs[rows, columns].exp().double(),
            torch.where(is_then, THEN, is_ever.long()),
            nothing,
        )
        return answers[answers.ids != NO_ENTITY].to("cpu")

    def _keys(self, rows: Tensor, numbers: Tensor) -> Tensor:
        """One number for each pair of a row and a candidate."""
        return rows * self.num_candidates + numbers


def score_shortlist(likely: Shortlist, has_probabilities: bool) -> tuple[Tensor, Tensor | None]:
    """The scores of likely entities, and the logarithms of probabilities if they stand for any."""
    require_numbers(likely.scores)
    logs = _normalized(likely.scores, likely) if has_probabilities else None
    return likely.scores.masked_fill(likely.entities == NO_ENTITY, -torch.inf), logs


def _normalized(logs: Tensor, likely: Shortlist | None) -> Tensor:
    """Logarithms of probabilities, each row of which adds up to 1, estimated from a shortlist."""
    if likely is None:
        return logs.log_softmax(dim=1)
    return logs - (logs + likely.log_weights).logsumexp(dim=1, keepdim=True)


def _count_ties(best: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """For the best scores of each row, descending: how many are above each, how many equal it."""
    ascending = -best
    above = torch.searchsorted(ascending, ascending)
    level = torch.searchsorted(ascending, ascending, right=True) - above
    # Only the last of the best can be level with scores that are not among them.
    last = best[:, -1:]
    return above, torch.where(best == last, (scores == last).sum(1, keepdim=True), level)
