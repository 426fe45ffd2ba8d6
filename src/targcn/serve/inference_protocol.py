"""The Open Inference Protocol (version 2): runs for programs that know other model servers.

A request has the columns of a table of questions as inputs: subject, relation, object and time,
each BYTES of shape [n]; what is asked for is empty or "?". The outputs have shape [n, m]: the m
best answers to each question, what each is worth, and whether it is known. Where a question has
fewer answers, the rest are empty.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from targcn import __version__
from targcn.errors import InputError
from targcn.inference.questions import PLACES, Question
from targcn.serve.answering import HowToAnswer
from targcn.serve.api import RESPONSES, answer_each, find_run, json_of
from targcn.serve.schema import MOST_ANSWERS, MOST_QUESTIONS, Body, Name
from targcn.serve.served_run import ServedRun

PLATFORM: Final = "targcn"


class Parameters(BaseModel):
    """How many answers, and which; parameters that other servers know are passed over."""

    top: Annotated[int, Field(ge=1, le=MOST_ANSWERS)] = 10
    hide_known: bool = False


class InputTensor(Body):
    name: Name
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=2)]
    datatype: Annotated[str, Field(pattern="^BYTES$")]
    data: Annotated[list[Name | list[Name]], Field(max_length=MOST_QUESTIONS)]
    parameters: dict[str, Any] = Field(default_factory=dict)


class WantedOutput(Body):
    name: Name
    parameters: dict[str, Any] = Field(default_factory=dict)


class InferBody(Body):
    id: Name | None = None
    inputs: Annotated[list[InputTensor], Field(min_length=1, max_length=len(PLACES))]
    outputs: list[WantedOutput] = Field(default_factory=list, max_length=10)
    parameters: Parameters = Parameters()


class Tensor(BaseModel):
    name: str
    datatype: str
    shape: list[int]


class OutputTensor(Tensor):
    data: list[str | float]


class Inferred(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    model_name: str
    # As the request gave it, if it did.
    id: str | None = None
    outputs: list[OutputTensor]


class ServerMetadata(BaseModel):
    name: str
    version: str
    extensions: list[str]


class ModelMetadata(BaseModel):
    name: str
    versions: list[str]
    platform: str
    inputs: list[Tensor]
    outputs: list[Tensor]


class Live(BaseModel):
    live: bool


class ServerReady(Live):
    ready: bool


class ModelReady(BaseModel):
    name: str
    ready: bool


RunName = Annotated[str, Path(max_length=10_000)]


def make_router(runs: Mapping[str, ServedRun]) -> APIRouter:
    router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"], responses=RESPONSES)

    @router.get("", response_model=ServerMetadata)
    async def describe_server() -> Response:
        """The server's name and version."""
        return json_of({"name": "targcn", "version": __version__, "extensions": []})

    @router.get("/health/live", response_model=Live)
    async def live() -> Response:
        """Whether the server runs."""
        return json_of({"live": True})

    @router.get("/health/ready", response_model=ServerReady)
    async def ready() -> Response:
        """Whether all runs are loaded; they are before the server starts."""
        return json_of({"live": True, "ready": True})

    @router.get("/models/{run}", response_model=ModelMetadata)
    async def describe_model(run: RunName) -> Response:
        """What a run takes and gives."""
        served = find_run(runs, run)
        return json_of(
            {
                "name": served.name,
                "versions": [],
                "platform": PLATFORM,
                "inputs": [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in PLACES],
                "outputs": [
                    {"name": name, "datatype": datatype, "shape": [-1, -1]}
                    for name, datatype in _outputs(served).items()
                ],
            }
        )

    @router.get("/models/{run}/ready", response_model=ModelReady)
    async def model_ready(run: RunName) -> Response:
        """Whether a run is loaded."""
        return json_of({"name": find_run(runs, run).name, "ready": True})

    @router.post("/models/{run}/infer", response_model=Inferred)
    async def infer(run: RunName, body: InferBody) -> Response:
        """The best answers to questions that are given as columns; one wrong question is an error.

        `parameters` may have `top` and `hide_known`.
        """
        served = find_run(runs, run)
        kinds = _outputs(served)
        wanted = [output.name for output in body.outputs] or list(kinds)
        if unknown := [name for name in wanted if name not in kinds]:
            raise InputError(f"there is no output {unknown[0]!r}; choose from {', '.join(kinds)}")
        how = HowToAnswer(body.parameters.top, body.parameters.hide_known)
        answers = await answer_each(served, read_questions(body.inputs), how)
        for number, answer in enumerate(answers, 1):
            if answer["error"] is not None:
                where = f"question {number}: " if len(answers) > 1 else ""
                raise InputError(f"{where}{answer['error']}", answer["suggestions"])
        outputs = [
            {"name": name, "datatype": kinds[name], **_column(answers, name, kinds[name])}
            for name in wanted
        ]
        given = {} if body.id is None else {"id": body.id}
        return json_of({"model_name": served.name, **given, "outputs": outputs})

    return router


def read_questions(inputs: Sequence[InputTensor]) -> list[Question]:
    """The rows of the given columns; a column that is not given is what is asked for."""
    columns: dict[str, list[str]] = {}
    for tensor in inputs:
        if tensor.name not in PLACES or tensor.name in columns:
            raise InputError(f"there is no other input {tensor.name!r} than {', '.join(PLACES)}")
        cells: list[str] = []
        for cell in tensor.data:
            cells += [cell] if isinstance(cell, str) else cell
        size = tensor.shape[0] * (tensor.shape[1] if len(tensor.shape) > 1 else 1)
        if len(cells) != size or tensor.shape[1:] not in ([], [1]):
            raise InputError(
                f"{tensor.name} has {len(cells):,} values and the shape {tensor.shape}; give a "
                "column of shape [n]"
            )
        columns[tensor.name] = cells
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or not 1 <= max(lengths) <= MOST_QUESTIONS:
        raise InputError(f"give columns of equal length, with 1 to {MOST_QUESTIONS:,} questions")
    (length,) = lengths
    filled = [columns.get(place, [""] * length) for place in PLACES]
    return [Question(*row) for row in zip(*filled, strict=True)]


def _outputs(served: ServedRun) -> dict[str, str]:
    value = "probability" if served.predictor.has_probabilities else "score"
    return {"answer": "BYTES", value: "FP64", "known": "BYTES"}


def _column(answers: list[dict[str, Any]], name: str, datatype: str) -> dict[str, Any]:
    """One value of every answer, row after row, filled up to the longest row."""
    width = max(len(answer["rows"]) for answer in answers)
    nothing: str | float = "" if datatype == "BYTES" else 0.0
    data: list[str | float] = []
    for answer in answers:
        cells = [row[name] for row in answer["rows"]]
        data += cells + [nothing] * (width - len(cells))
    return {"shape": [len(answers), width], "data": data}
