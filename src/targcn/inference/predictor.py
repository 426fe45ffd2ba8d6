"""Names in, names out: the best answers to questions, and the facts behind an answer."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor

from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.candidates import (
    Candidates,
    Kind,
    KnownCandidates,
    known_candidates,
    score_candidates,
)
from targcn.evaluation.filters import Filter, KnownAnswers, known_answers
from targcn.evaluation.ranking import (
    Progress,
    count_rivals,
    ranks_of,
    require_numbers,
    rows_at_once,
)
from targcn.facts.dataset import NO_FACTS, Context, Dataset, Facts
from targcn.graph.queries import FactColumns, Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.answers import (
    Cells,
    Scores,
    answer_frame,
    best_answers,
    best_of_shortlist,
    given_answers,
    when_known,
)
from targcn.inference.explanation import (
    ASKED,
    FILTER,
    TIES,
    Asked,
    Explanation,
    name_others,
    name_reasons,
)
from targcn.inference.missing import find_missing, what_to_ask
from targcn.inference.questions import (
    Ask,
    Encoded,
    OnError,
    Question,
    Time,
    encode,
    ids_of,
    list_questions,
)
from targcn.inference.what_if import Fact, change_context
from targcn.models.base import Model
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
        self.device: torch.device = choose_device(device)
        loaded = open_run(run)
        self.context: Context = context or loaded.default_context(None)
        self._take(replace(loaded, model=deepcopy(loaded.model)) if loaded is run else loaded)

    def _take(self, run: Run) -> None:
        self.run = run
        self.model: Model = run.model.to(self.device).eval()
        self.model_name: str = run.recipe.model
        self.dataset: Dataset = run.dataset
        graph = TemporalGraph.of_context(self.dataset, self.context)
        self.graph: TemporalGraph = graph.to(self.device)
        self.known: dict[Filter, KnownAnswers] = known_answers(self.dataset, self.device)
        self._candidates: dict[Kind, tuple[Candidates, dict[Filter, KnownCandidates]]] = {}

    def add(self, facts: object) -> None:
        """Let newer facts, of a file or a frame, join the context; they are known from now on.

        Entities and times may be new, relations may not. `dataset.additions` says what was added,
        and what the model can say about `dataset.new_entities`.
        """
        self._take(self.run.with_facts(facts, self.context))

    def predict(
        self,
        subject: str | None,
        relation: str | None,
        object: str | None,
        time: Time | None,
        *,
        top: int = 10,
        hide_known: bool = False,
    ) -> "pl.DataFrame":
        """The best answers to one question; see `targcn.predict`."""
        question = Question(subject, relation, object, time)
        return self.predict_many([question], top=top, hide_known=hide_known).drop("question")

    def predict_many(
        self,
        questions: object,
        *,
        top: int = 10,
        hide_known: bool = False,
        on_error: OnError = "stop",
        progress: Progress | None = None,
    ) -> "pl.DataFrame":
        """The best answers to each question; see `targcn.predict_many`."""
        import polars as pl

        questions = list_questions(questions)
        asked = self._encode(questions, top, on_error)
        frames, done = [_errors(asked)], len(asked.errors)
        for place, facts in asked.facts.items():
            # A fact that is asked about would be a reason for itself.
            graph = self._without(facts) if place == "fact" else self.graph
            for rows in _batches(len(facts), self.questions_at_once(place)):
                part, numbers = facts[rows].to(self.device), asked.numbers[place][rows]
                frames += self._answer(place, part, numbers, graph, top, hide_known)
                done += len(part)
                if progress is not None:
                    progress(done, len(questions))
        answers = pl.concat(frames, how="diagonal").sort("question", maintain_order=True)
        return _errors_last(answers, on_error)

    def what_if(
        self,
        questions: object,
        *,
        without: Sequence[Fact] = (),
        given: Sequence[Fact] = (),
        top: int = 10,
        on_error: OnError = "stop",
        progress: Progress | None = None,
    ) -> "pl.DataFrame":
        """The answers before and after facts are taken from the context and others put into it.

        A row is an answer that is among the best before, after, or both; `change` says which ones
        came in and which dropped out. What is known stays what the data say.
        """
        import polars as pl

        require_reader(self.model, self.model_name, "facts left out or put in")
        questions = list_questions(questions)
        encoded = self._encode(questions, top, on_error)
        if others := [place for place in encoded.facts if place not in ASKED]:
            raise InputError(f"what if is asked for a subject or an object, not for a {others[0]}")
        changed = change_context(self.graph, self.dataset, without, given)
        # A model of its own, since one that indexes its context keeps the index of one only.
        model = deepcopy(self.model)
        frames, done = [_errors(encoded)], len(encoded.errors)
        for place, facts in encoded.facts.items():
            # A row of scores is laid out for each of the best answers, before and after.
            for rows in _batches(len(facts), max(self.questions_at_once(place) // (2 * top), 1)):
                with torch.inference_mode():
                    queries = self._queries(place, facts[rows].to(self.device))
                    before, after = self.model(queries, self.graph), model(queries, changed)
                    numbers = encoded.numbers[place][rows]
                    frames.append(self._compare(before, after, queries, numbers, top))
                done += len(numbers)
                if progress is not None:
                    progress(done, len(questions))
        order = ["question", "rank_after", "rank_before"]
        answers = pl.concat(frames, how="diagonal").sort(order, maintain_order=True)
        return _errors_last(answers, on_error)

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
        question = Question(subject, relation, object, time)
        if question.asked != "fact":
            raise InputError("a complete fact is explained; leave no place of it open")
        ids = ids_of(question, self.dataset)
        fact = FactColumns(*torch.tensor(ids, device=self.device)[:, None])
        query, target = self._queries(asked, fact), ids[0 if asked == "subject" else 2]
        with torch.inference_mode():
            reasons = self.model.reasons(query, target, self.graph)
            if reasons is None:
                raise InputError(
                    f"{self.model_name} does not say what single facts do to an answer; explain a "
                    "run of evidence, t-gap or targcn"
                )
            scores = reasons.scores.to(self.device).view(1, -1)
            answer = torch.tensor([target], device=self.device)
            ranks = ranks_of(scores, answer, query, self.known, TIES)
            logs = self.log_probabilities(scores)
            reasons = reasons.to("cpu")
        probability = None if logs is None else float(logs[0, target].exp())
        entities, tick = self.dataset.entities.names, ids[3]
        return Explanation(
            subject=entities[ids[0]],
            relation=self.dataset.relations.names[ids[1]],
            object=entities[ids[2]],
            time=self.dataset.timeline.label(tick),
            asked=asked,
            context=self.context + self.dataset.addition,
            unit=self.dataset.timeline.unit,
            score=float(scores[0, target]),
            probability=probability,
            rank=float(ranks[FILTER]),
            fact_was_hidden=self._holds(*ids),
            num_pieces=len(reasons.effects) + reasons.left_out,
            reasons=name_reasons(reasons, self.dataset, tick, top, self.context),
            measure=reasons.measure,
            others=name_others(reasons, top),
            parts=reasons.parts,
            num_left_out=reasons.left_out,
        )

    def missing(
        self,
        *,
        time: Time | None = None,
        relation: str | None = None,
        entity: str | None = None,
        top: int = 100,
        progress: Progress | None = None,
    ) -> "pl.DataFrame":
        """The most probable facts that are not known, each with its best reason.

        Asked is every pair of an entity and a relation that the context holds together, at every
        time of the data; or at one time, of one relation, of one entity. The probability is the
        smaller of two: that of the object as the answer to the rest, and that of the subject. Facts
        that are at least as probable as 1 in 10 are all found. A model without probabilities gives
        scores.
        """
        _require_some(top, "fact")
        asking = what_to_ask(self, time, relation, entity)
        return find_missing(self, asking, top, progress)

    def log_probabilities(self, scores: Tensor) -> Tensor | None:
        """The logarithms of the probabilities that scores stand for, if they stand for any."""
        return self.run.log_probabilities(scores)

    @property
    def has_probabilities(self) -> bool:
        return self.log_probabilities(torch.zeros(1, 2)) is not None

    @property
    def gives_reasons(self) -> bool:
        """Whether the model says which facts are behind an answer."""
        return type(self.model).reasons is not Model.reasons

    def _encode(
        self, questions: Sequence[Question], top: int, on_error: OnError = "stop"
    ) -> Encoded:
        _require_some(top, "answer")
        if not questions:
            raise InputError("there are no questions to answer")
        encoded = encode(questions, self.dataset, on_error)
        if not encoded.facts:
            number, error = next(iter(encoded.errors.items()))
            raise InputError(f"no question can be asked; question {number}: {error}")
        return encoded

    def _answer(
        self,
        place: Ask,
        facts: FactColumns,
        numbers: Tensor,
        graph: TemporalGraph,
        top: int,
        hide_known: bool,
    ) -> list["pl.DataFrame"]:
        """The best answers to a batch of questions, as frames."""
        import polars as pl

        frames = [
            answer_frame(columns, numbers, asked, self.names_of(asked))
            for asked, columns in self._columns(place, facts, graph, top, hide_known)
        ]
        hides = hide_known and place != "fact"
        return [frame.filter(pl.col("known") != "then") if hides else frame for frame in frames]

    def answer_columns(
        self, place: Ask, facts: FactColumns, top: int, hide_known: bool
    ) -> list[tuple[Ask, dict[str, Any]]]:
        """What `predict_many` makes a frame of, for one batch of questions that ask the same.

        The columns say `row` by `row` which `candidate` stands in the place that is asked for;
        answers that are known then are among them, below all others, even if they are to be hidden.
        """
        _require_some(top, "answer")
        graph = self._without(facts) if place == "fact" else self.graph
        return self._columns(place, facts, graph, top, hide_known)

    def _columns(
        self, place: Ask, facts: FactColumns, graph: TemporalGraph, top: int, hide_known: bool
    ) -> list[tuple[Ask, dict[str, Any]]]:
        """The best answers to a batch of questions; of complete facts, both entities as answers."""
        with torch.inference_mode():
            if place in ("subject", "object"):
                queries = self._queries(place, facts)
                likely = self.model.shortlist(queries, graph, top)
                if likely is not None:
                    known = self._known(queries)
                    heat = self.run.temperature if self.has_probabilities else None
                    width = graph.num_entities
                    columns = best_of_shortlist(likely, heat, known, width, top, hide_known)
                    return [(place, columns)]
            if place != "fact":
                scores = self._scores(place, facts, graph)
                return [(place, best_answers(scores, top, hide_known))]
            both: dict[Ask, Tensor] = {"object": facts.objects, "subject": facts.subjects}
            return [
                (asked, given_answers(self._scores(asked, facts, graph), targets, hide_known))
                for asked, targets in both.items()
            ]

    def _scores(self, place: Ask, facts: FactColumns, graph: TemporalGraph) -> Scores:
        """The scores of all candidates for a place of each fact, and which of them are known."""
        if place == "relation" or place == "time":
            candidates, known = self._candidates_for(place)
            values = score_candidates(self.model, self.log_probabilities, facts, candidates, graph)
            logs = values.log_softmax(dim=1) if self.has_probabilities else None
            then = known["time-aware"].look_up(facts)
            ever = known["static"].look_up(facts) if "static" in known else then
            return Scores(values, logs, then, ever)
        queries = self._queries(place, facts)
        values = self.model(queries, graph)
        return Scores(values, self.log_probabilities(values), *self._known(queries))

    def _known(self, queries: Queries) -> tuple[Cells, Cells]:
        """The answers that are known to be true at the times of the queries, and at any time."""
        then, ever = (self.known[which].look_up(queries) for which in ("time-aware", "static"))
        return then, ever

    def _queries(self, place: Ask, facts: FactColumns) -> Queries:
        if place == "subject":
            return facts.ask_subjects(len(self.dataset.relations))
        return facts.ask_objects()

    def _candidates_for(self, kind: Kind) -> tuple[Candidates, dict[Filter, KnownCandidates]]:
        if kind not in self._candidates:
            candidates = Candidates.of(self.dataset, kind)
            known = known_candidates(self.dataset, candidates, self.device)
            self._candidates[kind] = candidates.to(self.device), known
        return self._candidates[kind]

    def names_of(self, place: Ask) -> Sequence[str]:
        """The names of all candidates for a place."""
        if place == "relation":
            return self.dataset.relations.names
        if place == "time":
            return [self.dataset.timeline.label(tick) for tick in self.dataset.timeline.ticks]
        return self.dataset.entities.names

    def questions_at_once(self, place: Ask) -> int:
        """How many questions are answered at once."""
        width = self.graph.num_entities
        if place == "relation" or place == "time":
            width = len(self._candidates_for(place)[0])
        return min(rows_at_once(width, self.device), MOST_QUESTIONS_AT_ONCE)

    def _without(self, facts: FactColumns) -> TemporalGraph:
        """The context without these facts."""
        rows = torch.stack(facts.tensors(), dim=1).tolist()
        held = [fact for fact in rows if self._holds(*fact)]
        if not held or not self.model.reads_context:
            return self.graph
        return self.graph.changed(Facts.of(*zip(*held, strict=True)), NO_FACTS)

    def _holds(self, subject: int, relation: int, object: int, time: int) -> bool:
        """Whether a query for one entity of a fact would see the fact itself."""
        held = len(self.graph.positions_of(subject, relation, object, time)) > 0
        return held and not self.graph.past_only

    def _compare(
        self, before: Tensor, after: Tensor, queries: Queries, numbers: Tensor, top: int
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
            logs = self.log_probabilities(scores)
            columns |= {
                f"rank_{side}": above + 1,
                f"tied_{side}": level + 1,
                f"score_{side}": own.double(),
                f"probability_{side}": None if logs is None else logs[rows, answers].double().exp(),
            }
        known = when_known(Scores(before, None, *self._known(queries)), rows, answers)
        rows, names = rows.cpu(), self.dataset.entities.names
        figures = {
            name: None if column is None else column.cpu().numpy()
            for name, column in columns.items()
        }
        was, remains = pl.col("rank_before") <= top, pl.col("rank_after") <= top
        came_in = pl.when(~was & remains).then(pl.lit("came in"))
        change = came_in.when(was & ~remains).then(pl.lit("dropped out")).otherwise(pl.lit(""))
        return pl.DataFrame(
            {
                "question": numbers[rows].numpy(),
                "answer": [names[answer] for answer in answers.tolist()],
                **figures,
                "known": known,
            },
            schema_overrides={"probability_before": pl.Float64, "probability_after": pl.Float64},
        ).with_columns(change=change)


def predict(
    run: Run | Predictor | Path | str,
    subject: str | None,
    relation: str | None,
    object: str | None,
    time: Time | None,
    *,
    top: int = 10,
    hide_known: bool = False,
    context: Context | None = None,
) -> "pl.DataFrame":
    """What best fills the open place of a question, best first; or how good a complete fact is.

    The open place may be the subject, the object, the relation or the time. A complete fact gives
    two rows: its object as the answer to its subject, and its subject as the answer to its object;
    the fact itself is hidden from the context. Any date will do. The context is every known fact,
    or the past of each question if the run was trained with `past_only`, unless another is given.
    To ask a run more than once, make a Predictor of it; it can also use a GPU.

    `rank` is 1 plus the number of candidates with a higher score, `tied` the number of those with
    this very score, shown or not, in an order that means nothing. `probability` is described in
    docs/questions.md; models that are not trained with cross-entropy have none. `known` is "then"
    if some split holds the answer at this time, "at another time" if only at others; `hide_known`
    leaves out those of the first kind, from ranks and probabilities too.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=2)
    >>> seat = "Illinois Senate seat, class 3"
    >>> targcn.predict(run, None, "holds Senate seat", seat, 2005, top=2, context="train+valid")
    shape: (2, 7)
    ┌─────────┬──────┬──────┬───────────────┬──────────┬─────────────┬─────────────────┐
    │ asked   ┆ rank ┆ tied ┆ answer        ┆ score    ┆ probability ┆ known           │
    │ ---     ┆ ---  ┆ ---  ┆ ---           ┆ ---      ┆ ---         ┆ ---             │
    │ str     ┆ i64  ┆ i64  ┆ str           ┆ f64      ┆ f64         ┆ str             │
    ╞═════════╪══════╪══════╪═══════════════╪══════════╪═════════════╪═════════════════╡
    │ subject ┆ 1    ┆ 1    ┆ Roland Burris ┆ 1.363353 ┆ null        ┆ at another time │
    │ subject ┆ 2    ┆ 1    ┆ Mark Kirk     ┆ 0.83085  ┆ null        ┆ at another time │
    └─────────┴──────┴──────┴───────────────┴──────────┴─────────────┴─────────────────┘
    """
    predictor = _predictor_of(run, context)
    return predictor.predict(subject, relation, object, time, top=top, hide_known=hide_known)


def predict_many(
    run: Run | Predictor | Path | str,
    questions: object,
    *,
    top: int = 10,
    hide_known: bool = False,
    on_error: OnError = "stop",
    context: Context | None = None,
    progress: Progress | None = None,
) -> "pl.DataFrame":
    """The answers to many questions, as `predict` gives them; `question` counts them from 1.

    Questions are a list of tuples (subject, relation, object, time) with None for what is asked, or
    of `Question`, or a frame or file with these columns. One that cannot be asked is an InputError;
    or it is skipped, and has one row with nothing but the reason, in the column `error`. Complete
    facts are hidden from the context together.
    """
    predictor = _predictor_of(run, context)
    with count_progress("answering", "questions", progress) as told:
        return predictor.predict_many(
            questions, top=top, hide_known=hide_known, on_error=on_error, progress=told
        )


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


def _errors(encoded: Encoded) -> "pl.DataFrame":
    """A row for each question that was skipped."""
    import polars as pl

    columns = {"question": list(encoded.errors), "error": list(encoded.errors.values())}
    return pl.DataFrame(columns, schema={"question": pl.Int64, "error": pl.String})


def _errors_last(answers: "pl.DataFrame", on_error: OnError) -> "pl.DataFrame":
    """The answers, with a column of errors only if questions may be skipped."""
    columns = [name for name in answers.columns if name != "error"]
    return answers.select(*columns, *(["error"] if on_error == "skip" else []))


def _batches(num_rows: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, num_rows, size))


def _require_some(top: int, what: str) -> None:
    if top < 1:
        raise InputError(f"top is {top}; ask for at least 1 {what}")
