"""A run as it is served: its predictor, what is found in its data, and its thread."""

from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from targcn.errors import InputError
from targcn.evaluation.ranking import Progress
from targcn.facts.dataset import Context
from targcn.facts.names import NameIndex
from targcn.files import free_name, read_json
from targcn.inference.missing import MissingFilter, describe_presumed, find_missing
from targcn.inference.predictor import Predictor
from targcn.inference.questions import OPEN, PLACES, Ask, Question
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import REPORTS, TRACE
from targcn.serve.answering import (
    COST_OF_FACT,
    COST_OF_REASON,
    Answer,
    HowToAnswer,
    answer,
    cost_of,
)
from targcn.serve.worker import Worker
from targcn.training.progress import read_trace

# Parts of the time line in which facts are counted.
MOST_BINS: Final = 200
# Questions that show what can be asked, each of another relation.
MOST_EXAMPLES: Final = 4
# Findings of missing facts that are kept, to be there when they are asked for again.
MOST_KEPT: Final = 16
# Work of one request, counted in answers for an entity: some seconds.
MOST_WORK: Final = 20_000


@dataclass(frozen=True)
class Histogram:
    """Facts in at most 200 equal parts of the time line: the first tick of each, and its label."""

    ticks: list[int]
    labels: list[str]
    facts: list[int]


@dataclass(frozen=True)
class RunDescription:
    """A run, and what can be asked of it."""

    name: str
    model: str
    data: str
    summary: str
    context: str
    unit: str
    first: str
    last: str
    num_entities: int
    num_facts: int
    relations: tuple[str, ...]
    asks: tuple[Ask, ...]
    has_probabilities: bool
    gives_reasons: bool
    reads_context: bool
    has_intervals: bool
    histogram: Histogram
    # Questions to begin with.
    examples: list[Question]


@dataclass(frozen=True)
class RunReport:
    """Metrics under all three filters with intervals, the training, and the calibration."""

    run: str
    reports: list[dict[str, Any]]
    trace: list[dict[str, Any]]
    calibration: dict[str, Any] | None


class ServedRun:
    """A run, loaded once. All that asks its model goes through its worker."""

    def __init__(
        self,
        name: str,
        run: Run,
        context: Context | None = None,
        device: str = "auto",
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.predictor = Predictor(run, context, device)
        self.dataset = self.predictor.dataset
        self.entities = NameIndex(self.dataset, "entity")
        self.relations = NameIndex(self.dataset, "relation")
        self.facts = self.dataset.facts
        self.description = self._describe()
        # What the run folder tells about its training.
        self.kept_reports: list[dict[str, Any]] = []
        self.trace = [] if folder is None else _read_trace(folder)
        if folder is not None and (folder / REPORTS).exists():
            self.kept_reports = read_json(folder / REPORTS).get("reports", [])
        self._test_report: dict[str, Any] | None = None
        self._searching: Predictor | None = None
        self._found: dict[MissingFilter, dict[str, Any]] = {}
        self._warm_up()
        self.worker = Worker(name, self._do)

    def knows_names_of(self, question: Question) -> bool:
        """Whether the data have all names of a question."""
        entities, relations = self.dataset.entities, self.dataset.relations
        given = (
            (question.subject, entities),
            (question.relation, relations),
            (question.object, entities),
        )
        return all(name in OPEN or names.knows(str(name)) for name, names in given)

    async def answer(self, questions: Sequence[Question], how: HowToAnswer) -> list[Answer]:
        """The answers to questions; others that are asked at the same moment join them."""
        cost = sum(cost_of(question, how, self.predictor) for question in questions)
        if len(questions) > 1 and cost > MOST_WORK:
            raise InputError(
                f"these questions are as much work as {cost:,} answers for an entity, "
                f"{MOST_WORK:,} are allowed; a time counts {len(self.dataset.timeline.ticks):,}, a "
                f"complete fact {COST_OF_FACT}, a reason {COST_OF_REASON}; ask fewer at once"
            )
        answers: list[Answer] = await self.worker.run(how, questions, len(questions))
        return answers

    def report(self, progress: Progress) -> RunReport:
        """The figures of the run; those of the test split are computed once, which takes long."""
        if self._test_report is None and len(self.dataset.test):
            report = evaluate(self._copy_run(), device=self.predictor.device, progress=progress)
            self._test_report = report.to_json()
        reports = [*self.kept_reports, *([self._test_report] if self._test_report else [])]
        measured = [report["calibration"] for report in reports if report.get("calibration")]
        return RunReport(self.name, reports, self.trace, measured[-1] if measured else None)

    def missing(self, wanted: MissingFilter, progress: Progress) -> dict[str, Any]:
        """The missing facts that are wanted, and what their probabilities presume.

        What was found last is kept: searching a large graph may take longer than a request waits.
        """
        predictor = self.predictor
        if self._searching is None:
            # With a model of its own, since another thread asks it.
            self._searching = Predictor(self._copy_run(), predictor.context, predictor.device)
            self._searching.truth = predictor.truth
        if wanted not in self._found:
            frame, truth = find_missing(self._searching, wanted, progress=progress)
            found = {"rows": frame.to_dicts(), "presumed": describe_presumed(truth)}
            self._found = dict(list(self._found.items())[1 - MOST_KEPT :]) | {wanted: found}
        return self._found[wanted]

    def _copy_run(self) -> Run:
        """The run with a model of its own, for another thread."""
        run = self.predictor.run
        return replace(run, model=deepcopy(run.model))

    def _do(self, kind: Hashable, contents: Sequence[Any]) -> Sequence[Any]:
        if not isinstance(kind, HowToAnswer):
            return [work() for work in contents]
        together = [question for questions in contents for question in questions]
        answers = iter(answer(self.predictor, together, kind))
        return [[next(answers) for _ in questions] for questions in contents]

    def _warm_up(self) -> None:
        """Answer a question, so that whoever asks first need not wait for what is built once."""
        entity, relation = self.dataset.entities.names[0], self.dataset.relations.names[0]
        question = Question(entity, relation, None, self.dataset.timeline.last)
        answer(self.predictor, [question], HowToAnswer())
        self.predictor.judge(entity, relation, entity, question.time or "")

    def _describe(self) -> RunDescription:
        dataset, predictor = self.dataset, self.predictor
        timeline = dataset.timeline
        return RunDescription(
            name=self.name,
            model=predictor.model_name,
            data=dataset.name,
            summary=dataset.summary,
            context=predictor.context,
            unit=timeline.unit,
            first=timeline.first,
            last=timeline.last,
            num_entities=len(dataset.entities),
            num_facts=len(self.facts),
            relations=tuple(dataset.relations.names),
            asks=(*PLACES, "fact"),
            has_probabilities=predictor.has_probabilities,
            gives_reasons=predictor.gives_reasons,
            reads_context=predictor.model.reads_context,
            has_intervals=self.facts.has_intervals,
            histogram=self._histogram(),
            examples=self._examples(),
        )

    def _examples(self) -> list[Question]:
        """The last facts of the commonest relations, each without its object."""
        dataset, facts = self.dataset, self.facts
        examples = []
        for relation in self.relations.ids[:MOST_EXAMPLES]:
            positions = np.flatnonzero(facts.relations == relation)
            if len(positions):
                last = positions[facts.times[positions].argmax()]
                subject = dataset.entities.names[facts.subjects[last]]
                time = dataset.timeline.label(int(facts.times[last]))
                examples.append(Question(subject, dataset.relations.names[relation], None, time))
        return examples

    def _histogram(self) -> Histogram:
        timeline = self.dataset.timeline
        first, last = int(timeline.ticks[0]), int(timeline.ticks[-1])
        width = -(-(last - first + 1) // MOST_BINS)
        ticks = list(range(first, last + 1, width))
        bins = np.maximum(self.facts.times - first, 0) // width
        counts = np.bincount(bins, minlength=len(ticks)).tolist()
        return Histogram(ticks, [timeline.label(tick) for tick in ticks], counts)


def name_runs(folders: Sequence[Path]) -> dict[str, Path]:
    """A name for each run: that of its folder, with a number where several are called alike."""
    named: dict[str, Path] = {}
    for folder in folders:
        named[free_name(folder.resolve().name or "run", named.__contains__)] = folder
    return named


def _read_trace(folder: Path) -> list[dict[str, Any]]:
    """The loss of every epoch, and the MRR of the valid split after those that were validated."""
    epochs: dict[int, dict[str, Any]] = {}
    for line in read_trace(folder / TRACE):
        number = line["epoch"]
        epoch = epochs.setdefault(number, {"epoch": number, "loss": None, "valid": None})
        epoch["loss"] = line.get("loss", epoch["loss"])
        if "valid" in line:
            epoch["valid"] = line["valid"]["time-aware"]["both"]["mrr"]
    return list(epochs.values())
