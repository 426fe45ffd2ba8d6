"""Names in, names out: the best answers to questions, and the facts behind an answer."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.filters import known_answers
from targcn.evaluation.ranking import (
    Progress,
    count_rivals,
    ranks_of,
    require_numbers,
    rows_at_once,
)
from targcn.facts.dataset import Context
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.explanation import (
    ASKED,
    FILTER,
    TIES,
    Asked,
    Explanation,
    name_others,
    name_reasons,
)
from targcn.inference.questions import Question, Time, encode, list_questions
from targcn.inference.what_if import Fact, change_context
from targcn.output.terminal import count_progress
from targcn.runs.run import Run, require_reader
from targcn.runs.store import open_run

if TYPE_CHECKING:
    import polars as pl

# A model may need much more memory for a question than its scores take.
MOST_QUESTIONS_AT_ONCE: Final = 256


class Predictor:
    """A run that answers questions: its model, the facts it may see and the known answers.

    All of it is loaded once, so that further questions are fast. The model is a copy; the run and
    its model stay as they are.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> predictor = Predictor(run, context="train")
    >>> predictor.predict("Barack Obama", "junior senator of", None, 2005)["answer"][0]
    'Illinois'
    """

    def __init__(
        self,
        run: Run | Path | str,
        context: Context | None = None,
        device: str | torch.device = "auto",
    ) -> None:
        self.device = choose_device(device)
        loaded = open_run(run)
        self.context: Context = context or loaded.default_context("test")
        self._take(replace(loaded, model=deepcopy(loaded.model)) if loaded is run else loaded)

    def _take(self, run: Run) -> None:
        self.run = run
        self.model = run.model.to(self.device).eval()
        self.model_name = run.recipe.model
        self.dataset = run.dataset
        self.graph = TemporalGraph.of_context(self.dataset, self.context).to(self.device)
        self.known = known_answers(self.dataset, "cpu")

    def add(self, facts: object) -> None:
        """Let newer facts, of a file or a frame, join the context; they are known from now on.

        Entities and times may be new, relations may not. `dataset.additions` says what was added,
        and what the model can say about `dataset.new_entities`.
        """
        self._take(self.run.with_facts(facts, self.context))

    def predict(
        self, subject: str | None, relation: str, object: str | None, time: Time, *, top: int = 10
    ) -> "pl.DataFrame":
        """The best answers to one question; see `targcn.predict`."""
        question = Question(subject, relation, object, time)
        return self.predict_many([question], top=top).drop("question")

    def predict_many(
        self, questions: object, *, top: int = 10, progress: Progress | None = None
    ) -> "pl.DataFrame":
        """The best answers to each question; see `targcn.predict_many`."""
        import polars as pl

        questions = list_questions(questions)
        queries = self._encode(questions, top)
        most = rows_at_once(self.graph.num_entities, self.device)
        batches = _in_batches(queries, most, progress)
        return pl.concat([self._answer(part, start, top) for start, part in batches])

    def what_if(
        self,
        questions: object,
        *,
        without: Sequence[Fact] = (),
        given: Sequence[Fact] = (),
        top: int = 10,
        progress: Progress | None = None,
    ) -> "pl.DataFrame":
        """The answers before and after facts are taken from the context and others put into it.

        A row is an answer that is among the best before, after, or both; `change` says which ones
        came in and which dropped out. What is known stays what the data say.
        """
        import polars as pl

        require_reader(self.model, self.model_name, "facts left out or put in")
        questions = list_questions(questions)
        queries = self._encode(questions, top)
        changed = change_context(self.graph, self.dataset, without, given)
        # A model of its own, since one that indexes its context keeps the index of one only.
        model = deepcopy(self.model)
        # A row of scores is laid out for each of the best answers, before and after.
        most = max(rows_at_once(self.graph.num_entities, self.device) // (2 * top), 1)
        frames = []
        for start, part in _in_batches(queries, most, progress):
            with torch.inference_mode():
                asked = part.to(self.device)
                before, after = self.model(asked, self.graph), model(asked, changed)
                frames.append(self._compare(before, after, part, start, top))
        order = ["question", "rank_after", "rank_before"]
        return pl.concat(frames).sort(order, maintain_order=True)

    def explain(
        self,
        subject: str,
        relation: str,
        object: str,
        time: Time,
        *,
        asked: Asked = "object",
        top: int = 10,
    ) -> Explanation:
        """The facts behind one answer; see `targcn.explain`."""
        if asked not in ASKED:
            raise InputError(f"asked {asked!r} is unknown; choose one of {', '.join(ASKED)}")
        _require_some(top, "fact")
        if asked == "subject":
            question, answer = Question(None, relation, object, time), subject
        else:
            question, answer = Question(subject, relation, None, time), object
        query = encode([question], self.dataset)
        target = self.dataset.entities.id_of(answer)
        with torch.inference_mode():
            reasons = self.model.reasons(query.to(self.device), target, self.graph)
            if reasons is None:
                raise InputError(
                    f"{self.model_name} does not say what single facts do to an answer; explain a "
                    "run of evidence, t-gap or targcn"
                )
            reasons = reasons.to("cpu")
            scores = reasons.scores.view(1, -1)
            ranks = ranks_of(scores, torch.tensor([target]), query, self.known, TIES)
            logs = self.model.log_probabilities(scores)
        probability = None if logs is None else float(logs[0, target].exp())
        tick = int(query.times[0])
        return Explanation(
            subject=subject,
            relation=relation,
            object=object,
            time=self.dataset.timeline.label(tick),
            asked=asked,
            context=self.context + self.dataset.addition,
            unit=self.dataset.timeline.unit,
            score=float(scores[0, target]),
            probability=probability,
            rank=float(ranks[FILTER]),
            fact_was_hidden=self._holds(query, target),
            num_pieces=len(reasons.effects),
            reasons=name_reasons(reasons, self.dataset, tick, top),
            measure=reasons.measure,
            others=name_others(reasons, top),
            parts=reasons.parts,
        )

    def _encode(self, questions: Sequence[Question], top: int) -> Queries:
        _require_some(top, "answer")
        if not questions:
            raise InputError("there are no questions to answer")
        return encode(questions, self.dataset)

    def _answer(self, queries: Queries, start: int, top: int) -> "pl.DataFrame":
        """The best answers to a batch of questions, the first of which has the number `start`."""
        import polars as pl

        with torch.inference_mode():
            scores = self.model(queries.to(self.device), self.graph)
            require_numbers(scores)
            best = torch.topk(scores, min(top, scores.shape[1]), dim=1)
            logs = self.model.log_probabilities(scores)
            probabilities = None
            if logs is not None:
                probabilities = logs.gather(1, best.indices).exp().flatten().double().cpu().numpy()
            num_above, num_level = _count_ties(best.values, scores)
        num_questions, num_answers = best.indices.shape
        rows = torch.arange(num_questions).repeat_interleave(num_answers)
        answers = best.indices.flatten().cpu()
        return pl.DataFrame(
            {
                "question": (start + rows).numpy(),
                "rank": (num_above + 1).flatten().cpu().numpy(),
                "tied": num_level.flatten().cpu().numpy(),
                "answer": self._names(answers),
                "score": best.values.flatten().double().cpu().numpy(),
                "probability": probabilities,
                "known": self._when_known(rows, answers, queries),
            },
            schema_overrides={"probability": pl.Float64},
        )

    def _compare(
        self, before: Tensor, after: Tensor, queries: Queries, start: int, top: int
    ) -> "pl.DataFrame":
        """The best answers of two rows of scores per question, beside each other."""
        import polars as pl

        is_best = torch.zeros_like(before, dtype=torch.bool)
        for scores in (before, after):
            require_numbers(scores)
            best = torch.topk(scores, min(top, scores.shape[1]), dim=1)
            is_best.scatter_(1, best.indices, True)
        rows, answers = is_best.nonzero(as_tuple=True)
        columns: dict[str, Tensor | None] = {}
        for side, scores in (("before", before), ("after", after)):
            own = scores[rows, answers]
            above, level = count_rivals(scores[rows], own[:, None])
            logs = self.model.log_probabilities(scores)
            columns |= {
                f"rank_{side}": above + 1,
                f"tied_{side}": level + 1,
                f"score_{side}": own.double(),
                f"probability_{side}": None if logs is None else logs[rows, answers].double().exp(),
            }
        rows, answers = rows.cpu(), answers.cpu()
        figures = {
            name: None if column is None else column.cpu().numpy()
            for name, column in columns.items()
        }
        was, remains = pl.col("rank_before") <= top, pl.col("rank_after") <= top
        came_in = pl.when(~was & remains).then(pl.lit("came in"))
        change = came_in.when(was & ~remains).then(pl.lit("dropped out")).otherwise(pl.lit(""))
        return pl.DataFrame(
            {
                "question": (start + rows).numpy(),
                "answer": self._names(answers),
                **figures,
                "known": self._when_known(rows, answers, queries),
            },
            schema_overrides={"probability_before": pl.Float64, "probability_after": pl.Float64},
        ).with_columns(change=change)

    def _names(self, answers: Tensor) -> list[str]:
        names = self.dataset.entities.names
        return [names[answer] for answer in answers.tolist()]

    def _holds(self, query: Queries, answer: int) -> bool:
        """Whether the context holds the fact that an answer makes of a query."""
        subject, relation, time = (int(column) for column in query.tensors())
        held = len(self.graph.positions_of(subject, relation, answer, time)) > 0
        return held and not self.graph.past_only

    def _when_known(self, rows: Tensor, answers: Tensor, queries: Queries) -> list[str]:
        """Whether each answer is known to be true: then, at another time, or not at all."""
        num_entities = self.graph.num_entities
        cells = rows * num_entities + answers
        is_known = {}
        for which in ("time-aware", "static"):
            rows, entities = self.known[which].look_up(queries)
            is_known[which] = torch.isin(cells, rows * num_entities + entities).tolist()
        pairs = zip(is_known["time-aware"], is_known["static"], strict=True)
        return ["then" if then else "at another time" if ever else "no" for then, ever in pairs]


def predict(
    run: Run | Predictor | Path | str,
    subject: str | None,
    relation: str,
    object: str | None,
    time: Time,
    *,
    top: int = 10,
    context: Context | None = None,
) -> "pl.DataFrame":
    """The entities that best fill the open place of a question, best first.

    Any date will do. The context is train+valid, or the past of each question if the run was
    trained with `past_only`, unless another is given. To ask a run more than once, make a Predictor
    of it; it can also use a GPU.

    `rank` is 1 plus the number of entities with a higher score, `tied` the number of those with
    this very score, shown or not, in an order that means nothing. `probability` is the softmax of
    the scores, not calibrated; models that are not trained with cross-entropy have none. `known` is
    "then" if some split holds the answer at this time, "at another time" if only at others.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> seat = "Illinois Senate seat, class 3"
    >>> targcn.predict(run, None, "holds Senate seat", seat, 2005, top=2)
    shape: (2, 6)
    ┌──────┬──────┬───────────────┬──────────┬─────────────┬─────────────────┐
    │ rank ┆ tied ┆ answer        ┆ score    ┆ probability ┆ known           │
    │ ---  ┆ ---  ┆ ---           ┆ ---      ┆ ---         ┆ ---             │
    │ i64  ┆ i64  ┆ str           ┆ f64      ┆ f64         ┆ str             │
    ╞══════╪══════╪═══════════════╪══════════╪═════════════╪═════════════════╡
    │ 1    ┆ 1    ┆ Roland Burris ┆ 1.363353 ┆ null        ┆ at another time │
    │ 2    ┆ 1    ┆ Mark Kirk     ┆ 0.83085  ┆ null        ┆ at another time │
    └──────┴──────┴───────────────┴──────────┴─────────────┴─────────────────┘
    """
    return _predictor_of(run, context).predict(subject, relation, object, time, top=top)


def predict_many(
    run: Run | Predictor | Path | str,
    questions: object,
    *,
    top: int = 10,
    context: Context | None = None,
    progress: Progress | None = None,
) -> "pl.DataFrame":
    """The answers to many questions, as `predict` gives them; `question` counts them from 0.

    Questions are a list of tuples (subject, relation, object, time) with None for what is asked, or
    of `Question`, or a frame or file with these columns.
    """
    predictor = _predictor_of(run, context)
    with count_progress("answering", "questions", progress) as told:
        return predictor.predict_many(questions, top=top, progress=told)


def explain(
    run: Run | Predictor | Path | str,
    subject: str,
    relation: str,
    object: str,
    time: Time,
    *,
    asked: Asked = "object",
    top: int = 10,
    context: Context | None = None,
) -> Explanation:
    """The facts behind the answer `object`, or `subject` if that is asked, strongest first.

    A run of evidence: the effect of a piece of evidence is its part of the answer's score; with
    what is not shown and the prior, in `others`, the effects add up to it. A run of targcn: the
    effect of a fact is the answer's probability with all facts, minus its probability without this
    one. If the context holds the explained fact itself, it is hidden.
    """
    predictor = _predictor_of(run, context)
    return predictor.explain(subject, relation, object, time, asked=asked, top=top)


def _predictor_of(run: Run | Predictor | Path | str, context: Context | None) -> Predictor:
    """The predictor itself, or one for a single call, for which a GPU would not pay."""
    if not isinstance(run, Predictor):
        return Predictor(run, context, "cpu")
    if context not in (None, run.context):
        raise InputError(
            f"this predictor has the context {run.context}, not {context}; make another one"
        )
    return run


def _in_batches(
    queries: Queries, most: int, progress: Progress | None
) -> Iterator[tuple[int, Queries]]:
    """At most so many queries at once, with the number of the first; progress is told of each."""
    size = min(most, MOST_QUESTIONS_AT_ONCE)
    for start in range(0, len(queries), size):
        yield start, queries[slice(start, start + size)]
        if progress is not None:
            progress(min(start + size, len(queries)), len(queries))


def _require_some(top: int, what: str) -> None:
    if top < 1:
        raise InputError(f"top is {top}; ask for at least 1 {what}")


def _count_ties(best: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """For the best scores of each row, descending: how many are above each, how many equal it."""
    ascending = -best
    above = torch.searchsorted(ascending, ascending)
    level = torch.searchsorted(ascending, ascending, right=True) - above
    # Only the last of the best can be level with scores that are not among them.
    last = best[:, -1:]
    return above, torch.where(best == last, (scores == last).sum(1, keepdim=True), level)
