"""The JSON of the API: what requests hold, and what answers do."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from targcn.inference.answers import Known

MOST_QUESTIONS: Final = 1_000
MOST_CHANGES: Final = 100
MOST_ANSWERS: Final = 1_000

Name = Annotated[str, Field(max_length=10_000)]
# A date in any form, or a whole number where times are plain numbers.
Time = Annotated[str, Field(max_length=100)] | Annotated[int, Field(ge=-(10**18), le=10**18)]
Top = Annotated[int, Field(ge=1, le=MOST_ANSWERS)]
Place = Literal["subject", "relation", "object", "time", "fact"]
End = Literal["subject", "object"]


class Body(BaseModel):
    """What a request holds, and nothing else."""

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


class Histogram(BaseModel):
    """Facts in at most 200 equal parts of the time line: the first tick of each, and its label."""

    ticks: list[int]
    labels: list[str]
    facts: list[int]


class UnderstoodQuestion(BaseModel):
    subject: str | None
    relation: str | None
    object: str | None
    time: str | None


class RunDescription(BaseModel):
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
    relations: list[str]
    asks: list[Place]
    has_probabilities: bool
    gives_reasons: bool
    reads_context: bool
    has_intervals: bool
    histogram: Histogram
    # Questions to begin with.
    examples: list[UnderstoodQuestion]


class Runs(BaseModel):
    runs: list[RunDescription]


class NameFound(BaseModel):
    name: str
    kind: Literal["entity", "relation"]
    num_facts: int
    first: str | None
    last: str | None


class Names(BaseModel):
    names: list[NameFound]


class FactLists(BaseModel):
    """The facts of an entity as columns, by time; `end` where facts hold over intervals."""

    relation: list[str]
    other: list[str]
    direction: list[Literal["out", "in"]]
    time: list[str | None]
    tick: list[int]
    end: list[str | None] | None


class RelationCount(BaseModel):
    name: str
    direction: Literal["out", "in"]
    num_facts: int


class NeighbourCount(BaseModel):
    name: str
    num_facts: int


class Entity(BaseModel):
    name: str
    total: int
    page: int
    facts: FactLists
    relations: list[RelationCount]
    neighbours: list[NeighbourCount]


class Row(BaseModel):
    """An answer; `asked` is the place it stands in, `tied` how many have its very score."""

    rank: int
    tied: int
    asked: Place
    answer: str
    score: float | None
    probability: float | None
    known: Known
    why: str | None


class Answer(BaseModel):
    """The answers to one question; or, in `error`, why it cannot be asked."""

    question: UnderstoodQuestion | None
    asked: Place | None
    forecast: bool
    note: str | None
    error: str | None
    suggestions: list[str] = []
    rows: list[Row]


class Answers(BaseModel):
    answers: list[Answer]


class ExplainedFact(BaseModel):
    subject: str
    relation: str
    object: str
    # A time at which it holds, the nearest to the question's; and its time or interval in words.
    time: str | None
    when: str | None
    lasts: bool
    delta: int | None
    tick: int | None


class ExplainedReason(BaseModel):
    kind: str
    facts: list[ExplainedFact]
    effect: float | None
    count: int
    weight: float | None
    share: float | None


class Explained(BaseModel):
    """An answer and the evidence for it, strongest first (targcn.Explanation)."""

    subject: str
    relation: str
    object: str
    time: str
    tick: int
    asked: End
    context: str
    unit: str
    score: float | None
    probability: float | None
    rank: float
    fact_was_hidden: bool
    num_pieces: int
    reasons: list[ExplainedReason]
    measure: str
    others: list[dict[str, Any]]
    parts: list[dict[str, Any]]
    filter: str
    ties: str
    num_left_out: int


class ChangedRow(BaseModel):
    answer: str
    rank_before: int
    tied_before: int
    score_before: float | None
    probability_before: float | None
    rank_after: int
    tied_after: int
    score_after: float | None
    probability_after: float | None
    known: Known
    change: str


class Changes(BaseModel):
    rows: list[ChangedRow]


class Job(BaseModel):
    job: str


class Report(BaseModel):
    """Metrics under all three filters with intervals, the training, and the calibration."""

    run: str
    reports: list[dict[str, Any]]
    trace: list[dict[str, Any]]
    calibration: dict[str, Any] | None
