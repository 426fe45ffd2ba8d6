"""Names in, names out: a run that is loaded once and then asked again and again."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from targcn.config import require_at_least, require_choice
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.candidates import (
    KINDS,
    Candidates,
    Kind,
    score_candidates,
)
from targcn.evaluation.filters import Filter, KnownAnswers, known_answers
from targcn.evaluation.ranking import Progress, ranks_of, rows_at_once
from targcn.facts.dataset import Context, Dataset
from targcn.facts.holes import Gaps
from targcn.graph.hidden import without_facts
from targcn.graph.queries import FactColumns, Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference.answers import THEN, Answers, Scores, score_shortlist
from targcn.inference.explanation import (
    ENDS,
    RANK_FILTER,
    RANK_TIES,
    End,
    Explanation,
    name_others,
    name_reasons,
)
from targcn.inference.questions import (
    PLACES,
    Ask,
    OnError,
    Question,
    QuestionIds,
    Time,
    as_written,
    encode,
    ids_of,
    list_questions,
)
from targcn.inference.verdict import Verdict, judge_fact
from targcn.inference.what_if import Fact, ask_what_if
from targcn.models.base import Model
from targcn.runs.run import Run
from targcn.runs.store import open_run
from targcn.truth.judge import Judge
from targcn.truth.training import PRESUMED
from targcn.truth.truth import Truth, fit_judge

if TYPE_CHECKING:
    import polars as pl

# A model may need much more memory for a question than its scores take.
MOST_QUESTIONS_AT_ONCE: Final = 256


class Predictor:
    """A run that answers questions: its model, the facts it may see and the known answers.

    All of it is loaded once, so that further questions are fast. The model is the run's own: it is
    moved to the device, and not to be trained meanwhile.

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
        usual = loaded.default_context(None)
        self.context: Context = context or usual
        # That of a run has learned from all facts, so that it is of no use to other contexts.
        self.kept_judge: Judge | None = loaded.judge if self.context == usual else None
        self._load(loaded)

    def _load(self, run: Run) -> None:
        self.run = run
        self.model: Model = run.model.to(self.device).eval()
        self.model_name: str = run.recipe.model
        self.dataset: Dataset = run.dataset
        graph = TemporalGraph.of_context(self.dataset, self.context)
        self.graph: TemporalGraph = graph.to(self.device)
        # A graph of the past holds all facts, and shows a query the earlier ones.
        everything = graph if self.context in ("all", "past") else None
        self.known: dict[Filter, KnownAnswers] = known_answers(
            self.dataset, self.device, everything=everything
        )
        self.candidates: dict[Kind, Candidates] = {
            kind: Candidates.of(self.dataset, kind).to(self.device) for kind in KINDS
        }
        self.__dict__.pop("truth", None)

    def add(self, facts: object) -> None:
        """Let newer facts, of a file or a frame, join the context; they are known from now on.

        Entities and times may be new, relations may not. `dataset.additions` says what was added,
        and what the model can say about `dataset.new_entities`.
        """
        self._load(self.run.with_facts(facts, self.context))

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
        asked = encode(list_questions(questions), self.dataset, on_error)
        answers = self.answer(asked, top=top, hide_known=hide_known, progress=progress)
        return answers.to_frame(self.dataset, asked.errors)

    def answer(
        self,
        asked: QuestionIds,
        *,
        top: int = 10,
        hide_known: bool = False,
        progress: Progress | None = None,
    ) -> Answers:
        """The best answers to questions, as columns; `predict_many` puts them into words."""
        require_at_least(1, top=top)
        # A complete fact is not in the context that its two entities are asked about in.
        graph_without_facts = self.graph
        if "fact" in asked.facts and self.model.reads_context:
            complete = torch.stack(asked.facts["fact"].tensors(), dim=1)
            graph_without_facts = without_facts(self.graph, complete.tolist())
        parts = []
        for what, numbers, facts in asked.batches(self.questions_at_once, progress):
            graph = graph_without_facts if what == "fact" else self.graph
            facts, numbers = facts.to(self.device), numbers.to(self.device)
            with torch.inference_mode():
                parts.append(self._answer(what, facts, numbers, graph, top, hide_known))
        answers = Answers.of_all(parts)
        # Whether a complete fact is so is what the judge says, which learns it if need be.
        if self.knows_truth or "fact" in asked.facts:
            answers = self._judged(asked, answers)
        return answers

    def _judged(self, asked: QuestionIds, answers: Answers) -> Answers:
        """The answers, each with how probable the fact with it is to be true; 1 if it is known."""
        facts = asked.facts_of(answers.questions)
        facts[answers.places, torch.arange(len(answers))] = answers.ids
        probabilities = self.truth.judge_facts(FactColumns(*facts)).probabilities
        truths = torch.where(answers.known == THEN, 1.0, probabilities)
        return replace(answers, truths=truths)

    @cached_property
    def truth(self) -> Truth:
        """What is probably true in the context, which is learned first where no judge is kept."""
        if self.kept_judge is None:
            self.kept_judge = fit_judge(self.dataset, self.context, seed=self.run.seed)
        return Truth(self.graph, self.dataset, self.kept_judge)

    @property
    def knows_truth(self) -> bool:
        """Whether a judge for this context is at hand."""
        return self.kept_judge is not None

    def truth_presuming(self, presumed: float, gaps: Gaps | None = None) -> Truth:
        """The same, where at most this share is missing, in these ways; learned anew if need be."""
        if gaps is None and presumed <= PRESUMED:
            return self.truth.presuming(presumed)
        # A judge knows what is possible if less is missing than was presumed while it learned.
        most = max(presumed, PRESUMED)
        judge = fit_judge(self.dataset, self.context, gaps or "mixed", most, self.run.seed)
        return Truth(self.graph, self.dataset, judge, presumed)

    def judge(self, subject: str, relation: str, object: str, time: Time) -> Verdict:
        """Whether a fact is so: how probable it is that it is true, and what says so."""
        question = Question(subject, relation, object, time)
        if question.asked != "fact":
            raise InputError("a complete fact is judged; leave no place of it open")
        ids = ids_of(question, self.dataset)
        fact = FactColumns(*torch.tensor(ids, device=self.device)[:, None])
        is_known = bool(self.known["time-aware"].hold(fact))
        return judge_fact(self.truth, self.dataset, ids, is_known)

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
        asked = encode(list_questions(questions), self.dataset, on_error)
        changes = ask_what_if(self, asked, without, given, top, progress)
        return changes.to_frame(self.dataset, asked.errors)

    def explain(
        self,
        subject: str,
        relation: str,
        object: str,
        time: Time,
        *,
        asked: End = "object",
        top: int = 10,
    ) -> Explanation:
        """The facts behind one answer; see `targcn.explain`."""
        require_choice(ENDS, asked=asked)
        require_at_least(1, top=top)
        question = Question(subject, relation, object, time)
        if question.asked != "fact":
            raise InputError("a complete fact is explained; leave no place of it open")
        subject_id, _, object_id, tick = ids = ids_of(question, self.dataset)
        fact = FactColumns(*torch.tensor(ids, device=self.device)[:, None])
        query, target = self.queries(asked, fact), object_id if asked == "object" else subject_id
        with torch.inference_mode():
            reasons = self.model.reasons(query, target, self.graph)
            if reasons is None:
                raise InputError(
                    f"{self.model_name} does not say what single facts do to an answer; explain a "
                    "run of evidence, t-gap or targcn"
                )
            scores = reasons.scores.to(self.device).view(1, -1)
            targets = torch.tensor([target], device=self.device)
            known = {RANK_FILTER: self.known[RANK_FILTER].look_up(query)}
            ranks = ranks_of(scores, targets, known, RANK_TIES)
            logs = self.model.log_probabilities(scores)
            reasons = reasons.to("cpu")
        probability = None if logs is None else float(logs[0, target].exp())
        return Explanation(
            **vars(as_written(question, self.dataset)),
            tick=tick,
            asked=asked,
            context=self.context + self.dataset.addition,
            unit=self.dataset.timeline.unit,
            score=float(scores[0, target]),
            probability=probability,
            rank=float(ranks[RANK_FILTER]),
            # Models hide the fact that they explain, where the context shows it.
            fact_was_hidden=self.graph.shows(*ids),
            num_pieces=len(reasons.effects),
            reasons=name_reasons(reasons, self.dataset, tick, top, self.context),
            measure=reasons.measure,
            others=name_others(reasons, top),
            parts=reasons.parts,
        )

    @property
    def has_probabilities(self) -> bool:
        return self.model.has_probabilities

    @property
    def gives_reasons(self) -> bool:
        """Whether the model says which facts are behind an answer."""
        return type(self.model).reasons is not Model.reasons

    def _answer(
        self,
        what: Ask,
        facts: FactColumns,
        numbers: Tensor,
        graph: TemporalGraph,
        top: int,
        hide_known: bool,
    ) -> Answers:
        """The best answers to a batch of questions; of complete facts, both entities as answers."""
        if what == "relation" or what == "time":
            return self._score_candidates(what, facts, numbers, graph).best(top, hide_known)
        if what != "fact":
            scores = self.score_entities(self.model, what, facts, numbers, graph, top)
            return scores.best(top, hide_known)
        ends = [
            self.score_entities(self.model, end, facts, numbers, graph).among(targets, hide_known)
            for end, targets in zip(ENDS, (facts.objects, facts.subjects), strict=True)
        ]
        return Answers.of_all(ends)

    def _score_candidates(
        self, kind: Kind, facts: FactColumns, numbers: Tensor, graph: TemporalGraph
    ) -> Scores:
        """The scores of all relations or times of each fact, and which of them are known."""
        candidates = self.candidates[kind]
        known = candidates.known_of(facts, self.known)
        values = score_candidates(self.model, facts, candidates, graph)
        logs = values.log_softmax(dim=1) if self.has_probabilities else None
        known_then = known["time-aware"]
        # Times have no static filter.
        known_ever = known.get("static", known_then)
        places = torch.full_like(numbers, PLACES.index(kind))
        width = len(candidates)
        return Scores(numbers, places, width, values, logs, known_then, known_ever, candidates.ids)

    def score_entities(
        self,
        model: Model,
        end: Ask,
        facts: FactColumns,
        numbers: Tensor,
        graph: TemporalGraph,
        top: int | None = None,
    ) -> Scores:
        """The scores of all entities by a model, ours or what-if's copy, for an end of facts.

        Where only so many are wanted, a model may score the likely ones alone.
        """
        queries = self.queries(end, facts)
        likely = None if top is None else model.shortlist(queries, graph, top)
        if likely is None:
            values = model(queries, graph)
            logs = model.log_probabilities(values)
        else:
            values, logs = score_shortlist(likely, self.has_probabilities)
        places = torch.full_like(numbers, PLACES.index(end))
        known_then, known_ever = (
            self.known[which].look_up(queries) for which in ("time-aware", "static")
        )
        width = self.graph.num_entities
        return Scores(numbers, places, width, values, logs, known_then, known_ever, likely=likely)

    def queries(self, end: Ask, facts: FactColumns) -> Queries:
        """What asks for one end of facts."""
        if end == "object":
            return facts.ask_objects()
        return facts.ask_subjects(len(self.dataset.relations))

    def questions_at_once(self, what: Ask) -> int:
        """How many questions are answered at once."""
        width = self.graph.num_entities
        if what == "relation" or what == "time":
            width = len(self.candidates[what])
        return min(rows_at_once(width, self.device), MOST_QUESTIONS_AT_ONCE)
