"""The addresses under /api: what the page asks, and scripts."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic_core import to_json

from targcn.errors import InputError
from targcn.inference.questions import Question
from targcn.inference.what_if import Fact
from targcn.serve import schema
from targcn.serve.answering import Asked, HowToAnswer, ask
from targcn.serve.problems import RESPONSES, ProblemError
from targcn.serve.served_run import ServedRun

# Questions of a request whose unknown names are compared with all known ones.
MOST_COMPARED: Final = 3
RunName = Annotated[str, Query(max_length=1_000, description="Its name, as /api/runs lists it.")]
Moment = Annotated[str | None, Query(max_length=100)]


def json_of(content: object, status: int = 200) -> Response:
    return Response(to_json(content, inf_nan_mode="null"), status, media_type="application/json")


def find_run(runs: Mapping[str, ServedRun], name: str) -> ServedRun:
    if name in runs:
        return runs[name]
    known = ", ".join(runs)
    raise ProblemError(404, f"there is no run {name!r}; there are: {known}", list(runs))


def make_router(runs: Mapping[str, ServedRun]) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["questions"], responses=RESPONSES)
    described = to_json({"runs": [run.description for run in runs.values()]})

    @router.get("/runs", response_model=schema.Runs)
    async def list_runs() -> Response:
        """The runs that are served, and what can be asked of each."""
        return Response(described, media_type="application/json")

    @router.get("/names", response_model=schema.Names)
    def find_names(
        run: RunName,
        q: Annotated[str, Query(max_length=1_000)] = "",
        kind: Literal["entity", "relation"] = "entity",
        top: Annotated[int, Query(ge=1, le=1_000)] = 12,
    ) -> Response:
        """Names that hold every word of a text, the commonest first; or the most similar ones."""
        served = find_run(runs, run)
        index = served.entities if kind == "entity" else served.relations
        found = index.find(q, top) or index.similar(q)[:top]
        return json_of({"names": [vars(one) for one in found]})

    @router.get("/entities/{name:path}", response_model=schema.Entity)
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
        return json_of(served.facts.find(name, first, last, page, size))

    @router.post("/predict", response_model=schema.Answers)
    async def predict(body: schema.PredictBody) -> Response:
        """The best answers to a question, or to up to 1,000.

        A single question that cannot be asked is an error; among several, its answer says why.
        """
        served = find_run(runs, body.run)
        how = HowToAnswer(body.top, body.hide_known, body.why)
        questions = [Question(**vars(question)) for question in body.questions]
        if len(questions) == 1:
            asked = await ask_one(served, questions[0])
            return json_of({"answers": await served.answer([asked], how)})
        return json_of({"answers": await answer_each(served, questions, how)})

    @router.post("/explain", response_model=schema.Explained)
    async def explain(body: schema.ExplainBody) -> Response:
        """The facts behind an answer."""
        served = find_run(runs, body.run)
        words = (body.subject, body.relation, body.object, body.time)
        await ask_one(served, Question(*words))
        return json_of(await served.explain(*words, body.asked, body.top))

    @router.post("/what-if", response_model=schema.Changes)
    async def what_if(body: schema.WhatIfBody) -> Response:
        """The answers before and after facts are taken from the context or put into it."""
        served = find_run(runs, body.run)
        question = Question(**vars(body.question))
        await ask_one(served, question)
        without, given = ([_fact_of(fact) for fact in some] for some in (body.without, body.given))
        rows = await served.what_if(question, without, given, body.top)
        return json_of({"rows": rows})

    return router


async def ask_one(served: ServedRun, question: Question) -> Asked:
    """A question with its ids; an InputError says what is wrong with it."""
    if served.knows_names_of(question):
        return ask(question, served.predictor)
    # To say which names are similar, a name is compared with all of them.
    return await asyncio.to_thread(ask, question, served.predictor)


def ask_each(served: ServedRun, questions: list[Question]) -> list[Asked | InputError]:
    """Each question with its ids, or what is wrong with it; takes a while."""
    tried: list[Asked | InputError] = []
    num_compared = 0
    for question in questions:
        try:
            known = served.knows_names_of(question)
            if not known and num_compared == MOST_COMPARED:
                raise InputError("a name of this question is not in this graph")
            num_compared += not known
            tried.append(ask(question, served.predictor))
        except InputError as error:
            tried.append(error)
    return tried


async def answer_each(
    served: ServedRun, questions: list[Question], how: HowToAnswer
) -> list[dict[str, Any]]:
    """The answers to several questions; of one that cannot be asked, why."""
    tried = await asyncio.to_thread(ask_each, served, questions)
    asked = [one for one in tried if isinstance(one, Asked)]
    found = iter(await served.answer(asked, how) if asked else [])
    return [_error(one) if isinstance(one, InputError) else next(found) for one in tried]


def _error(error: InputError) -> dict[str, Any]:
    return {
        "question": None,
        "asked": None,
        "forecast": False,
        "note": None,
        "error": str(error),
        "suggestions": error.suggestions,
        "rows": [],
    }


def _fact_of(fact: schema.FactBody) -> Fact:
    return fact.subject, fact.relation, fact.object, fact.time
