"""The addresses under /api: what the page asks, and scripts."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from targcn.errors import InputError
from targcn.facts.names import FoundName
from targcn.inference.explanation import End, Explanation
from targcn.inference.missing import MissingFilter
from targcn.inference.questions import Question, encode, ids_of
from targcn.inference.what_if import Fact, ask_what_if
from targcn.serve.answering import Answer, HowToAnswer
from targcn.serve.aside import Aside
from targcn.serve.entity_facts import EntityFacts, facts_of
from targcn.serve.problems import RESPONSES, ProblemError
from targcn.serve.served_run import RunDescription, RunReport, ServedRun
from targcn.serve.worker import ALONE
from targcn.truth.training import PRESUMED
from targcn.truth.truth import LEAST_PROBABILITY

# Wrong questions of a request whose names are compared with all known ones.
MOST_COMPARED: Final = 3
MOST_QUESTIONS: Final = 1_000
MOST_CHANGES: Final = 100
MOST_ANSWERS: Final = 1_000

Name = Annotated[str, Field(max_length=10_000)]
# A date in any form, or a whole number where times are plain numbers.
Time = Annotated[str, Field(max_length=100)] | Annotated[int, Field(ge=-(10**18), le=10**18)]
Top = Annotated[int, Field(ge=1, le=MOST_ANSWERS)]
Share = Annotated[float, Field(gt=0, lt=1)]
RunName = Annotated[str, Query(max_length=1_000, description="Its name, as /api/runs lists it.")]
Moment = Annotated[str | None, Query(max_length=100)]


class Body(BaseModel):
    """What a request holds, and nothing else: checked before anything is asked."""

    model_config = ConfigDict(extra="forbid", strict=True)


class QuestionBody(Body):
    """A fact with one place left open: null, absent, empty or "?"; or a complete fact."""

    subject: Name | None = None
    relation: Name | None = None
    object: Name | None = None
    time: Time | None = None


class FactBody(Body):
    """A complete fact."""

    subject: Name
    relation: Name
    object: Name
    time: Time

    @property
    def words(self) -> Fact:
        return self.subject, self.relation, self.object, self.time


class PredictBody(Body):
    run: Name
    questions: Annotated[list[QuestionBody], Field(min_length=1, max_length=MOST_QUESTIONS)]
    top: Top = 10
    hide_known: bool = False
    why: bool = False


class ExplainBody(FactBody):
    run: Name
    asked: End = "object"
    top: Top = 20


class JudgeBody(FactBody):
    run: Name


class WhatIfBody(Body):
    run: Name
    question: QuestionBody
    without: Annotated[list[FactBody], Field(max_length=MOST_CHANGES)] = []
    given: Annotated[list[FactBody], Field(max_length=MOST_CHANGES)] = []
    top: Top = 10


class MissingBody(Body):
    run: Name
    time: Time | None = None
    relation: Name | None = None
    entity: Name | None = None
    top: Top = 100
    at_least: Share = LEAST_PROBABILITY
    # For more a judge would have to learn anew.
    presume: Annotated[float, Field(gt=0, le=PRESUMED)] = PRESUMED
    with_mirrors: bool = True


def json_of(content: object, status: int = 200) -> Response:
    return Response(to_json(content, inf_nan_mode="null"), status, media_type="application/json")


def find_run(runs: Mapping[str, ServedRun], name: str) -> ServedRun:
    if name in runs:
        return runs[name]
    known = ", ".join(runs)
    raise ProblemError(404, f"there is no run {name!r}; there are: {known}", list(runs))


def make_router(runs: Mapping[str, ServedRun], aside: Aside) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["questions"], responses=RESPONSES)
    described = to_json({"runs": [run.description for run in runs.values()]})

    @router.get("/runs", response_model=dict[Literal["runs"], list[RunDescription]])
    async def list_runs() -> Response:
        """The runs that are served, and what can be asked of each."""
        return Response(described, media_type="application/json")

    @router.get("/names", response_model=dict[Literal["names"], list[FoundName]])
    def find_names(
        run: RunName,
        q: Annotated[str, Query(max_length=1_000)] = "",
        kind: Literal["entity", "relation"] = "entity",
        top: Annotated[int, Query(ge=1, le=1_000)] = 12,
    ) -> Response:
        """Names that hold every word of a text, the commonest first; or the most similar ones."""
        served = find_run(runs, run)
        names = served.entities if kind == "entity" else served.relations
        return json_of({"names": names.find(q, top) or names.similar(q)[:top]})

    @router.get("/entities/{name:path}", response_model=EntityFacts)
    def show_entity(
        name: Annotated[str, Path(max_length=2_000)],
        run: RunName,
        first: Annotated[Moment, Query(alias="from")] = None,
        last: Annotated[Moment, Query(alias="to")] = None,
        page: Annotated[int, Query(ge=1, le=10**9)] = 1,
        size: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    ) -> Response:
        """The facts of an entity by time, and how often it is with which relation and neighbour."""
        served = find_run(runs, run)
        try:
            served.dataset.entities.find(name)
        except InputError as error:
            raise ProblemError.of(error, 404) from None
        return json_of(facts_of(served.dataset, served.facts, name, first, last, page, size))

    @router.post("/predict", response_model=dict[Literal["answers"], list[Answer]])
    async def predict(body: PredictBody) -> Response:
        """The best answers to a question, or to up to 1,000.

        A single question that cannot be asked is an error; among several, its answer says why.
        """
        served = find_run(runs, body.run)
        questions = [Question(**vars(question)) for question in body.questions]
        errors = await asyncio.to_thread(check_questions, served, questions)
        if len(questions) == 1 and errors:
            raise errors[0]
        valid = [question for number, question in enumerate(questions) if number not in errors]
        how = HowToAnswer(body.top, body.hide_known, body.why)
        answers = await served.answer(valid, how) if valid else []
        for number, error in sorted(errors.items()):
            refused = Answer(None, None, error=str(error), suggestions=error.suggestions)
            answers.insert(number, refused)
        return json_of({"answers": answers})

    @router.post("/explain", response_model=Explanation)
    async def explain(body: ExplainBody) -> Response:
        """The facts behind an answer."""
        served = find_run(runs, body.run)
        await asyncio.to_thread(ids_of, Question(*body.words), served.dataset)
        explain = served.predictor.explain
        work = partial(explain, *body.words, asked=body.asked, top=body.top)
        return json_of(await served.worker.run(ALONE, work))

    @router.post("/judge")
    async def judge(body: JudgeBody) -> Response:
        """Whether a fact is so: a sentence, the probability of being true, and what says so."""
        served = find_run(runs, body.run)
        await asyncio.to_thread(ids_of, Question(*body.words), served.dataset)
        work = partial(served.predictor.judge, *body.words)
        verdict = await served.worker.run(ALONE, work)
        return json_of({"text": str(verdict), **asdict(verdict)})

    @router.post("/what-if")
    async def what_if(body: WhatIfBody) -> Response:
        """The answers before and after facts are taken from the context or put into it.

        `rows` are those of `targcn predict --with --without --json`.
        """
        served = find_run(runs, body.run)
        question = Question(**vars(body.question))
        asked = await asyncio.to_thread(encode, [question], served.dataset)
        without, given = ([fact.words for fact in some] for some in (body.without, body.given))
        work = partial(ask_what_if, served.predictor, asked, without, given, body.top)
        changes = await served.worker.run(ALONE, work)
        return json_of({"rows": changes.rows(served.dataset)})

    @router.post("/missing")
    async def find_missing(body: MissingBody) -> Response:
        """The facts that are probably true and not known, and what the probabilities presume."""
        served = find_run(runs, body.run)
        wanted = MissingFilter(**body.model_dump(exclude={"run"}))
        found = await aside.run("missing", lambda progress: served.missing(wanted, progress))
        return json_of(found)

    @router.get("/report/{run}", response_model=RunReport)
    async def report(run: Annotated[str, Path(max_length=2_000)]) -> Response:
        """The figures of a run under all three filters; those of test are computed once."""
        return json_of(await aside.run("report", find_run(runs, run).report))

    return router


def check_questions(served: ServedRun, questions: list[Question]) -> dict[int, InputError]:
    """What is wrong with which of the questions.

    To say which names are similar, a name is compared with all of them, which takes a while.
    """
    errors: dict[int, InputError] = {}
    for number, question in enumerate(questions):
        try:
            if len(errors) >= MOST_COMPARED and not served.knows_names_of(question):
                raise InputError("a name of this question is not in this graph")
            ids_of(question, served.dataset)
        except InputError as error:
            errors[number] = error
    return errors
